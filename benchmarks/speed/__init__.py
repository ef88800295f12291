"""Benchmarks of speed, compared with other libraries and with posegen's own estimates."""

from benchmarks.speed import kernels, kinematics, packing, profile_accuracy, reading, startup, wheel, whole

TITLE = "Speed"
MEASURES = [whole, startup, wheel, kernels, kinematics, packing, reading, profile_accuracy]
