"""Batches of samples in memory: planned, animated, checked and captioned."""
