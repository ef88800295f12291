"""Benchmarks of speed, compared with other libraries and with posegen's own estimates."""

from benchmarks.speed import exporting, kernels, kinematics, profile_accuracy, published, reading, startup, whole

TITLE = "Speed"
MEASURES = [whole, published, startup, exporting, kernels, kinematics, reading, profile_accuracy]
