"""Training: time and quality of the presets, waiting for data, memory, and resuming after kills."""

from benchmarks.train import against_published, balanced, fast, kills, learning, memory, presets, retrieval

TITLE = "Training"
MEASURES = [learning, retrieval, fast, balanced, kills, memory, presets, against_published]
PAGES = ["benchmarks.train.page"]
