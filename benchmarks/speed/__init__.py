"""How fast posegen is, beside others and beside what it says of itself."""

from benchmarks.speed import profile_accuracy, reading

TITLE = "Speed"
MEASURES = [reading, profile_accuracy]
