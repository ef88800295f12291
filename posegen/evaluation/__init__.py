"""How good motion is: measures over plain arrays, whoever made them."""
