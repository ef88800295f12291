"""How fast posegen is, beside others and beside what it says of itself."""

from benchmarks.speed import kinematics, packing, profile_accuracy, reading, startup, whole

TITLE = "Speed"
MEASURES = [whole, startup, kinematics, packing, reading, profile_accuracy]
