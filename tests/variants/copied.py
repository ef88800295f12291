"""Copies of motion made with `posegen.variants.copies`, without an axis of variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.motion.engine import Motion, empty_motion
from posegen.variants.built_in import MIRROR, POSITION

__all__ = ["mirrored", "translated"]


def _copied(motion: Motion, copy: Callable[[Motion], None]) -> Motion:
    both = empty_motion(len(motion.joints), 2, *motion.joints.shape[1:3])
    for name in ("joints", "action", "contact"):
        getattr(both, name)[:, 0] = getattr(motion, name)
    copy(both)
    for name in ("joints", "action", "contact"):
        np.testing.assert_array_equal(getattr(both, name)[:, 0], getattr(motion, name), err_msg="the source has changed")
    return Motion(both.joints[:, 1], both.action[:, 1], both.contact[:, 1])


def mirrored(motion: Motion) -> Motion:
    return _copied(motion, lambda both: MIRROR.copy(both, 0, 1, {}))


def translated(motion: Motion, offset_x: NDArray[Any], offset_z: NDArray[Any]) -> Motion:
    return _copied(motion, lambda both: POSITION.copy(both, 0, 1, {"offset_x": offset_x, "offset_z": offset_z}))
