"""How speed is judged."""

from benchmarks.speed import reading

TITLE = "Speed"
MEASURES = [reading]
