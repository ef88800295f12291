"""What tells how well a model does."""
