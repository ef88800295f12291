"""Benchmarks of speed, compared with other libraries and with posegen's own estimates."""

from benchmarks.speed import kernels, kinematics, packing, profile_accuracy, reading, startup, whole

TITLE = "Speed"
MEASURES = [whole, startup, kernels, kinematics, packing, reading, profile_accuracy]
