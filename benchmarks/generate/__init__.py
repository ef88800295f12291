"""Benchmarks of generation: equality, kills, speed, plausibility."""

from benchmarks.generate import equality, kills, realism, speed

TITLE = "Generating a dataset"
MEASURES = [equality, kills, speed, realism]
