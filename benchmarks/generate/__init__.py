"""How generating a dataset is judged."""

from benchmarks.generate import equality, kills, realism, speed

TITLE = "Generating a dataset"
MEASURES = [equality, kills, speed, realism]
