"""Words for speed and turning and what they mean in numbers: one meaning for who plans, who tells and who checks."""

from __future__ import annotations

__all__ = ["AROUND", "DIRECTIONS", "PATHS", "SPEEDS", "SPEED_BOUNDS"]

SPEEDS = ("", "slow", "normal", "fast")
PATHS = ("", "straight", "left", "right")
DIRECTIONS = ("", "left", "right", "around")
"""Words by number; 0 where nothing can be said."""

SPEED_BOUNDS = {"walk": (0.95, 1.55), "run": (2.7, 3.3)}
"""Metres a second between slow and normal, and between normal and fast, for a hip at :data:`posegen.constants.AVERAGE_LEG`."""
AROUND = 150.0
"""Degrees from which a turn is no longer one to a side but around."""
