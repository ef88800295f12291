"""How long near-duplicates and hard negatives take to be mined among 100,000 texts, and how many neighbours are missed."""

from __future__ import annotations

TEXTS = 100_000
SECONDS = 60.0
"""From vectors in memory to a pair table on the disk, at most, on two cores."""
RECALL = 0.95
"""Share of the nearest neighbours of exact search that are found, at least."""
