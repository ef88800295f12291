"""Training: time and quality of the presets, waiting for data, memory, and resuming after kills."""

from benchmarks.train import balanced, fast, kills, learning, memory, presets, retrieval

TITLE = "Training"
MEASURES = [learning, retrieval, fast, balanced, kills, memory, presets]
