"""Estimates of time, memory and disk for a dataset, from measurements of small ones."""
