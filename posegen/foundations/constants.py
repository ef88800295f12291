"""Physical constants, sentinel values and classes of speed and direction that several packages share.

A constant of a single module is defined there.
"""

from __future__ import annotations

FRAME_SLACK = 1e-3
"""Share of a frame by which a segment may begin later than its first frame, since times in float32 are not exact."""

MAX_SEED = 2**63 - 1
"""The largest seed: every format stores seeds in 64 bits."""

GRAVITY = 9.81
"""Gravitational acceleration, metres per second squared."""

GRID = 2.0**-13
"""Stored positions are multiples of this, in metres (0.12 mm), so that translating and mirroring them is exact."""

ABSENT_ACTION = 65535
"""Value of the array `action` (uint16) where an actor or a frame is absent."""

ABSENT_CONTACT = 255
"""Value of the array `contact` (uint8) where an actor or a frame is absent."""

AVERAGE_LEG = 0.9
"""Hip height of an average adult in metres. Speeds of other bodies scale with its square root (equal Froude number)."""

RADIANS = 3.141592653589793 / 180.0
"""Radians per degree."""

DEGREES = 180.0 / 3.141592653589793
"""Degrees per radian."""

STANDING = "stand"
"""The action of an actor who does nothing else, or who performs an arm action while standing."""

SPEEDS = ("", "slow", "normal", "fast")
SHAPES = ("left_circle", "right_circle", "figure_eight", "zigzag", "back_and_forth", "left_diagonal", "right_diagonal")
PATHS = ("", "straight", "left", "right", *SHAPES)
DIRECTIONS = ("", "left", "right", "around")
RETURNS = ("", "back", "there")
"""Words of captions by class; class 0 is not described."""

ANGLES = (45, 90, 135, 180)
"""Degrees of turns in captions."""

SPEED_BOUNDS = {"walk": (0.95, 1.55), "run": (2.7, 3.3)}
"""Metres per second between slow and normal, and between normal and fast, for a hip height of :data:`AVERAGE_LEG`."""

AROUND = 150.0
"""Degrees from which a turn is described as around rather than to one side."""
