"""How fast posegen is, beside others and beside what it says of itself."""

from benchmarks.speed import kinematics, profile_accuracy, reading, startup, whole

TITLE = "Speed"
MEASURES = [whole, startup, kinematics, reading, profile_accuracy]
