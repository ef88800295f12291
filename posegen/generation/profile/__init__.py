"""What making a dataset will cost, measured by making a small part of it."""
