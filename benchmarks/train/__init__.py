"""Training: whether it learns in the time that it says, waits for data, and goes on after kills as if nothing had been."""

from benchmarks.train import against_published, balanced, fast, kills, learning, memory, presets, retrieval

TITLE = "Training"
MEASURES = [learning, retrieval, fast, balanced, kills, memory, presets, against_published]
PAGES = ["benchmarks.train.page"]
