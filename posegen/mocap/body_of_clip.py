"""What writers need of the body in a clip and joints do not state: offsets in the rest pose, stature, contacts.

Also resamples a body at constant bone lengths. Not responsible for calibration in standing; see :mod:`posegen.mocap.rest_pose`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, PROPORTIONS, sole_points

_RIGID = {
    "pelvis": ("left_hip", "right_hip", "spine1"),
    "spine3": ("left_collar", "right_collar", "neck"),
}
"""Joints with three rigid bones: to the left, to the right and upwards."""
_CONTACT_HEIGHT, _CONTACT_SPEED = 0.05, 0.3
"""Metres above the floor and metres per second below which a point of the sole is in contact."""


def rest_offsets_of(joints: Array) -> Array:
    """Return the offset of each joint from its parent in the rest pose of :mod:`posegen.foundations.skeleton`.

    Lengths are the medians of the clip. Bones of pelvis and chest have the angles between them that they have in the clip;
    others have the directions of a body of mean proportions.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres.

    Returns
    -------
    float64 [22, 3]
    """
    bones = joints[:, 1:] - joints[:, PARENTS[1:]]
    mean = _mean_offsets()
    offsets = np.zeros_like(mean)
    offsets[1:] = _units(mean[1:]) * np.median(_lengths(bones), axis=0)
    for parent, names in _RIGID.items():
        children = [JOINTS.index(name) for name in names]
        away = joints[:, children] - joints[:, [JOINTS.index(parent)]]
        seen = np.median(away @ _axes(*np.moveaxis(away, 1, 0)), axis=0)
        offsets[children] = seen @ _axes(*mean[children]).T
    return offsets


def stature_of(offsets: Array) -> float:
    """Return the stature of a body of mean proportions that has the legs of these offsets [22, 3], metres."""
    legs = [JOINTS.index(f"{side}_{part}") for side in ("left", "right") for part in ("knee", "ankle")]
    return float(_lengths(offsets[legs]).sum()) / 2 / (PROPORTIONS["thigh"] + PROPORTIONS["shank"])


def contacts_of(joints: Array, fps: float) -> Array:
    """Return uint8 [frame, point]: 1 for heels and toes near the floor that hardly move; 0 for other points.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, the floor at height 0; at least two frames.
    fps : float
    """
    soles = sole_points(joints)
    speed = _lengths(np.gradient(soles, axis=0))[..., 0] * fps
    contact = np.zeros((len(joints), len(CONTACTS)), np.uint8)
    contact[:, : soles.shape[1]] = (soles[..., 1] < _CONTACT_HEIGHT) & (speed < _CONTACT_SPEED)
    return contact


def resample_body(joints: Array, fps: float, target_fps: float) -> Array:
    """Resample joints [frame, 22, 3] to another frame rate; bones keep their lengths, which lines between joints would not."""
    if fps == target_fps:
        return joints
    bones = joints[:, 1:] - joints[:, PARENTS[1:]]
    directions, lengths = (resample(values, fps, target_fps) for values in (bones, _lengths(bones)))
    bones = _units(directions) * lengths
    out = np.empty((len(bones), len(JOINTS), 3))
    out[:, 0] = resample(joints[:, 0], fps, target_fps)
    for joint, parent in enumerate(PARENTS[1:], 1):
        out[:, joint] = out[:, parent] + bones[:, joint - 1]
    return out


@cache
def _mean_offsets() -> Array:
    people = empty_scenes(1, 1, 1).persons
    people.stature[:] = 1.7
    return np.asarray(body_offsets(people)[0, 0].astype(np.float64))


def _axes(left: Array, right: Array, up: Array) -> Array:
    """Return the axes of three bones [..., 3] as columns [..., 3, 3]: to the left, up, and forward."""
    x = _units(left - right)
    y = up - (left + right) / 2
    y = _units(y - (y * x).sum(-1, keepdims=True) * x)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors * vectors).sum(-1, keepdims=True)))


def _units(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(_lengths(vectors), 1e-12))
