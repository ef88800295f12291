"""Show generated motion on the skeleton of real clips: its proportions, and how the bones of pelvis and chest lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from posegen.config.identity import digest
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.mocap.pose_channels import axes
from posegen.training.data.features import Recipe, View

_RIGID = {
    JOINTS.index(parent): tuple(map(JOINTS.index, names))
    for parent, names in {
        "pelvis": ("left_hip", "right_hip", "spine1"),
        "spine3": ("left_collar", "right_collar", "neck"),
    }.items()
}
"""Joints with three bones that keep their angles: to the left, to the right and upwards."""
_LEGS = tuple(JOINTS.index(f"{side}_{name}") for side in ("left", "right") for name in ("knee", "ankle"))
_MOST_MEASURED = 200
_LEAST_LENGTH = 1e-6


def shape_of(clips: Sequence[Array]) -> Array:
    """Return the shape of the bodies of clips: medians over the frames of each, then over at most 200 clips.

    Parameters
    ----------
    clips : sequence of float [frame, 22, 3]
        Metres.

    Returns
    -------
    float64 [22, 3]
        Offset of each joint from its parent, in lengths of a leg: in the axes left, up and forward of pelvis or chest for their
        bones, else (0, length, 0).
    """
    shown = clips[:: -(-len(clips) // _MOST_MEASURED)]
    return np.median([_shape(np.asarray(clip, np.float64)) for clip in shown], axis=0)


def _shape(joints: Array) -> Array:
    shape = np.zeros((len(JOINTS), 3))
    shape[1:, 1] = np.median(_lengths(joints)[:, 1:], axis=0)
    for parent, children in _RIGID.items():
        away = joints[:, children] - joints[:, [parent]]
        shape[list(children)] = np.median(away @ _axes(away), axis=0)
    return shape / _leg(joints)


def on_shape(joints: Array, shape: Array) -> Array:
    """Return motion on a body of another shape, with the same length of the legs, directions of bones, and root.

    Parameters
    ----------
    joints : float [..., frame, 22, 3]
        Metres; NaN in absent frames.
    shape : float64 [22, 3]
        See :func:`shape_of`.

    Returns
    -------
    float32, the same shape
    """
    given = np.asarray(joints, np.float32)
    target = (shape * _leg(given)[..., None, None]).astype(np.float32)[..., None, :, :]
    factor = target[..., 1] / np.maximum(_lengths(given), np.float32(_LEAST_LENGTH))
    shown = np.empty_like(given)
    shown[..., 0, :] = given[..., 0, :]
    for joint, parent in enumerate(PARENTS[1:], 1):
        shown[..., joint, :] = shown[..., parent, :] + factor[..., joint, None] * (given[..., joint, :] - given[..., parent, :])
        if joint in _RIGID.get(parent, ()):
            own = _axes(given[..., _RIGID[parent], :] - given[..., [parent], :])
            shown[..., joint, :] = shown[..., parent, :] + (own * target[..., joint, None, :]).sum(axis=-1)
    return shown


def recipe_on_shape(recipe: Recipe, shape: Array) -> Recipe:
    """Return the recipe that computes from motion on another body what a recipe of joints alone computes."""
    cache = f"{recipe.cache or recipe.name}-{digest(shape.tolist())[:16]}"
    return replace(recipe, compute=partial(_compute, recipe, shape), cache=cache)


def _compute(recipe: Recipe, shape: Array, fields: Mapping[str, Array], view: View) -> Array:
    joints = fields["joints"][:, :1, :: view.stride]
    return recipe.compute({"joints": on_shape(joints, shape)}, replace(view, stride=1))


def _axes(away: Array) -> Array:
    """Return the axes of three bones [..., 3, 3] as columns."""
    return axes(away[..., 0, :] - away[..., 1, :], away[..., 2, :] - (away[..., 0, :] + away[..., 1, :]) / 2)


def _lengths(joints: Array) -> Array:
    """Return the length of the bone to each joint [..., 22]; that of the pelvis is 0."""
    bones = joints - joints[..., (0, *PARENTS[1:]), :]
    return np.asarray(np.sqrt((bones * bones).sum(axis=-1)))


def _leg(joints: Array) -> Array:
    """Return the mean length of the legs [...] of clips [..., frame, 22, 3]; NaN of clips without frames."""
    legs = _lengths(joints)[..., _LEGS]
    present = ~np.isnan(legs[..., 0])
    total = np.where(present[..., None], legs, 0).sum(axis=(-1, -2))
    return np.asarray(total / 2 / np.where(present.any(axis=-1), present.sum(axis=-1), np.nan))
