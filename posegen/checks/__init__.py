"""What joints show: each claim that a caption makes is measured on the very frames that it is made of."""
