"""Benchmarks of speed, compared with other libraries and with posegen's own estimates."""

from benchmarks.speed import (
    exporting,
    kernels,
    kinematics,
    packing,
    profile_accuracy,
    published,
    reading,
    startup,
    wheel,
    whole,
)

TITLE = "Speed"
MEASURES = [whole, published, startup, wheel, exporting, kernels, kinematics, packing, reading, profile_accuracy]
