"""What a model sees of a motion: each frame as seen from the body, so that where somebody stands and faces does not matter.

Of each frame: the joints in the axes of the body (x to its left, y up, z ahead), with their height above the floor but from the
pelvis in the plane; how fast the pelvis moves in these axes; how fast the body turns. Nothing of it needs the rest of the
clip, but for the frame before, so that a clip may be cut anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.skeleton import JOINTS

__all__ = ["FEATURES", "VERSION", "features_of"]

Array = NDArray[Any]

VERSION = 1
"""Rises whenever the same joints give other features: what was cached by an older one is then made anew."""

_PLANE = 3
FEATURES = len(JOINTS) * 3 + _PLANE
"""Numbers in a frame; two of them, the pelvis's own place in the plane, are always 0."""

_LEFT = tuple(JOINTS.index(name) for name in ("left_hip", "left_shoulder"))
_RIGHT = tuple(JOINTS.index(name) for name in ("right_hip", "right_shoulder"))
_LEAST = 1e-6


def features_of(joints: Array, fps: float) -> Array:
    """Compute the features of clips.

    Parameters
    ----------
    joints : float32 [..., frame, 22, 3]
        Metres, y up; NaN in frames that are not there, which must be the last ones.
    fps : float
        Frames a second.

    Returns
    -------
    float32 [..., frame, FEATURES]
        Metres, m/s, rad/s; 0 in frames that are not there.
    """
    across = (joints[..., _LEFT, :] - joints[..., _RIGHT, :]).sum(axis=-2)
    length = np.maximum(np.hypot(across[..., 0], across[..., 2]), _LEAST)
    # The way to the left in the plane is (cos, -sin) of the heading, which is 0 where the body faces +z.
    cos, sin = across[..., 0] / length, -across[..., 2] / length
    pelvis = joints[..., 0, :]
    moved = np.diff(pelvis, axis=-2, prepend=pelvis[..., :1, :]) * np.float32(fps)
    turned = np.arctan2(_before(cos) * sin - _before(sin) * cos, _before(cos) * cos + _before(sin) * sin) * np.float32(fps)
    out = np.empty((*joints.shape[:-2], FEATURES), np.float32)
    body = out[..., :-_PLANE].reshape(joints.shape)
    x, z = joints[..., 0] - pelvis[..., None, 0], joints[..., 2] - pelvis[..., None, 2]
    body[..., 0] = cos[..., None] * x - sin[..., None] * z
    body[..., 1] = joints[..., 1]
    body[..., 2] = sin[..., None] * x + cos[..., None] * z
    out[..., -3] = cos * moved[..., 0] - sin * moved[..., 2]
    out[..., -2] = sin * moved[..., 0] + cos * moved[..., 2]
    out[..., -1] = turned
    np.nan_to_num(out, copy=False, nan=0.0)
    return out


def _before(values: Array) -> Array:
    return np.concatenate([values[..., :1], values[..., :-1]], axis=-1)
