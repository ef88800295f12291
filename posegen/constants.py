"""Physical constants and sentinel values that several packages share; what only one module needs is defined there."""

from __future__ import annotations

__all__ = ["ABSENT_ACTION", "ABSENT_CONTACT", "AVERAGE_LEG", "DEGREES", "GRAVITY", "GRID", "RADIANS"]

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
