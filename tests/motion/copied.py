"""Copies of motion made with `posegen.motion.copies`, without an axis of variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.motion.copies import mirror, shift
from posegen.motion.engine import Motion, empty_motion

__all__ = ["mirrored", "shifted"]


def _copied(motion: Motion, copy: Callable[[Motion], None]) -> Motion:
    room = empty_motion(len(motion.joints), 2, *motion.joints.shape[1:3])
    for name in ("joints", "action", "contact"):
        getattr(room, name)[:, 0] = getattr(motion, name)
    copy(room)
    for name in ("joints", "action", "contact"):
        np.testing.assert_array_equal(getattr(room, name)[:, 0], getattr(motion, name), err_msg="the source has changed")
    return Motion(room.joints[:, 1], room.action[:, 1], room.contact[:, 1])


def mirrored(motion: Motion) -> Motion:
    return _copied(motion, lambda room: mirror(room, 0, 1))


def shifted(motion: Motion, offset_x: NDArray[Any], offset_z: NDArray[Any]) -> Motion:
    return _copied(motion, lambda room: shift(room, 0, 1, offset_x, offset_z))
