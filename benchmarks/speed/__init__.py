"""How fast posegen is, beside others and beside what it says of itself."""

from benchmarks.speed import profile_accuracy

TITLE = "Speed"
MEASURES = [profile_accuracy]
