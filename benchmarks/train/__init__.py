"""Training: time and quality of the presets, waiting for data, memory, and resuming after kills."""

from benchmarks.train import kills, learning, memory

TITLE = "Training"
MEASURES = [learning, kills, memory]
