"""Trunk, neck and shoulders stay within their ranges, whatever posture, habits and two neighbouring actions add up to.

Legs follow the feet; their ankles are limited in :mod:`posegen.motion.feet.legs`.
"""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel
from posegen.motion.library_tables import LIMITED, ActionTables
from posegen.motion.trigonometry import ease_towards
from posegen.motion.workspace import Role, Workspace, between

SOFT = 0.86
"""Share of a limit from which a joint gives way."""
BEYOND = 2.0 / 360
"""Turns beyond the limit that a joint never reaches: less than the tolerance of the check."""


@kernel
def ease_range(row: Array, low: Scalar, high: Scalar) -> None:
    """Ease the values of a channel into a range around 0; all are turns."""
    soft, beyond = np.float32(SOFT), np.float32(BEYOND)
    least, most = np.float32(low), np.float32(high)
    lowest, highest = row[0], row[0]
    for f in between(0, len(row)):
        lowest, highest = min(lowest, row[f]), max(highest, row[f])
    if highest > soft * most:
        for f in between(0, len(row)):
            row[f] = ease_towards(row[f], soft * most, most + beyond)
    if lowest < soft * least:
        for f in between(0, len(row)):
            row[f] = ease_towards(row[f], soft * least, least - beyond)


@kernel
def keep_ranges(work: Workspace, role: Role, actions: ActionTables) -> None:
    """Ease trunk, neck and shoulders into their ranges, or into the widest range of the actions of the scene."""
    for i in range(len(LIMITED)):
        low, high = np.inf, -np.inf
        for k in range(len(role.segments)):
            low = min(low, actions.limits[role.segments[k].kind, i, 0])
            high = max(high, actions.limits[role.segments[k].kind, i, 1])
        ease_range(work.channels[LIMITED[i]], low, high)
