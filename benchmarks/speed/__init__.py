"""Benchmarks of speed, compared with other libraries and with posegen's own estimates."""

from benchmarks.speed import exporting, kernels, kinematics, packing, profile_accuracy, reading, startup, wheel, whole

TITLE = "Speed"
MEASURES = [whole, startup, wheel, exporting, kernels, kinematics, packing, reading, profile_accuracy]
