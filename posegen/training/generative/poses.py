"""A motion in numbers that a model can make: how the root goes, how each joint is turned, which points of the soles touch.

Each frame has 110 of them, none of which depends on where somebody stands and faces, nor on how large they are:

====== ============================================================================================================
0      height of the pelvis above the floor, in lengths of the legs
1, 2   how far the pelvis goes to the left and ahead since the frame before, in lengths of the legs a second
3      how far the body turns to the left since the frame before, in radians a second
4-105  6D rotation of each of the 17 joints that carry others, the pelvis's in the axes of the heading
106-9  1 where left heel, left toe, right heel and right toe touch, else 0
====== ============================================================================================================

The heading is that of the pelvis's lateral axis in the plane, which somebody who bends, crawls or lies has as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posegen.fields.rotation import rotations
from posegen.fields.vectors import Rotation, inverse, product, stacked
from posegen.skeleton import JOINTS, PARENTS
from posegen.training.clips.recipes import Recipe, View
from posegen.training.generative.bodies import body_of, leg_length, offsets_of
from posegen.training.generative.kinematics import TURNED, matrices_of

__all__ = ["CONTACTS", "HEIGHT", "POSE", "POSE_NUMBERS", "RATE", "ROTATIONS", "VELOCITY", "poses_of", "root_of", "turned_of"]

Array = NDArray[Any]

HEIGHT, VELOCITY, RATE = 0, slice(1, 3), 3
ROTATIONS = slice(4, 4 + 6 * len(TURNED))
CONTACTS = slice(ROTATIONS.stop, ROTATIONS.stop + 4)
"""Which numbers tell what."""
POSE_NUMBERS = CONTACTS.stop
"""Numbers in a frame."""

_TOUCHING = 1
_TINY = 1e-9


def poses_of(joints: Array, contact: Array, fps: float) -> Array:
    """Tell motions in numbers.

    Parameters
    ----------
    joints : float [clip, frame, 22, 3]
        Metres, y up; NaN in frames that are not there, which must be the last ones.
    contact : uint8 [clip, frame, point]
        1 where a point touches; the first four are those of the soles.
    fps : float
        Frames a second.

    Returns
    -------
    float32 [clip, frame, POSE_NUMBERS]
        0 in frames that are not there.
    """
    places = joints.astype(np.float64)
    body = body_of(places)
    turned = rotations(places, offsets_of(body).astype(np.float64))
    x, _, z = turned["pelvis"][0]
    heading = np.arctan2(-z, x)
    cos, sin = np.cos(heading), np.sin(heading)
    pelvis, leg = places[..., 0, :], leg_length(body)[:, None]
    moved = np.diff(pelvis, axis=-2, prepend=pelvis[..., :1, :]) * fps / leg[..., None]
    change = np.diff(heading, axis=-1, prepend=heading[..., :1])
    out = np.empty((*joints.shape[:2], POSE_NUMBERS), np.float32)
    out[..., HEIGHT] = pelvis[..., 1] / leg
    out[..., 1] = cos * moved[..., 0] - sin * moved[..., 2]
    out[..., 2] = sin * moved[..., 0] + cos * moved[..., 2]
    out[..., RATE] = np.arctan2(np.sin(change), np.cos(change)) * fps
    out[..., ROTATIONS] = np.concatenate(list(_columns(turned, cos, sin)), axis=-1)
    out[..., CONTACTS] = contact[..., :4] == _TOUCHING
    return np.nan_to_num(out, copy=False, nan=0.0)


def _columns(turned: dict[str, Rotation], cos: Array, sin: Array) -> Any:
    """Give the first two columns of each joint that carries others, one joint after another: [clip, frame, 6]."""
    none, one = np.zeros_like(cos), np.ones_like(cos)
    # Takes the axes of the world to those of the heading.
    back = (cos, none, sin), (none, one, none), (-sin, none, cos)
    for joint in TURNED:
        above = back if joint == 0 else inverse(turned[JOINTS[PARENTS[joint]]])
        own = product(above, turned[JOINTS[joint]])
        yield np.concatenate([stacked(own[0]), stacked(own[1])], axis=-1)


def root_of(poses: Tensor, leg: Tensor, fps: float) -> tuple[Tensor, Tensor]:
    """Where the pelvis goes: what the numbers tell of each step, added up.

    Parameters
    ----------
    poses : Tensor [..., frame, POSE_NUMBERS]
    leg : Tensor [...]
        Length of the legs in metres.
    fps : float

    Returns
    -------
    root : Tensor [..., frame, 3]
        Metres; above the origin of the plane in the first frame.
    heading : Tensor [..., frame]
        Radians, 0 facing +z in the first frame.
    """
    begun = torch.ones_like(poses[..., RATE])
    begun[..., 0] = 0
    heading = torch.cumsum(poses[..., RATE] * begun, dim=-1) / fps
    left, ahead = (poses[..., i] * begun * leg[..., None] / fps for i in (1, 2))
    cos, sin = torch.cos(heading), torch.sin(heading)
    x, z = torch.cumsum(cos * left + sin * ahead, dim=-1), torch.cumsum(cos * ahead - sin * left, dim=-1)
    return torch.stack([x, poses[..., HEIGHT] * leg[..., None], z], dim=-1), heading


def turned_of(poses: Tensor, heading: Tensor) -> Tensor:
    """Rotations of the joints that carry others, as :func:`posegen.training.generative.kinematics.joints_of` takes them.

    Parameters
    ----------
    poses : Tensor [..., frame, POSE_NUMBERS]
    heading : Tensor [..., frame]

    Returns
    -------
    Tensor [..., frame, TURNED, 3, 3]
    """
    local = matrices_of(poses[..., ROTATIONS].reshape(*heading.shape, len(TURNED), 6))
    cos, sin, none = torch.cos(heading), torch.sin(heading), torch.zeros_like(heading)
    rows = [torch.stack(row, dim=-1) for row in ((cos, none, sin), (none, none + 1, none), (-sin, none, cos))]
    pelvis = torch.stack(rows, dim=-2) @ local[..., 0, :, :]
    return torch.cat([pelvis[..., None, :, :], local[..., 1:, :, :]], dim=-3)


def _pose(fields: Mapping[str, Array], view: View) -> Array:
    shown = {name: fields[name][:, 0, :: view.stride] for name in ("joints", "contact")}
    return poses_of(shown["joints"], shown["contact"], view.fps).astype(np.float16)


POSE = Recipe("pose", 1, ("joints", "contact"), "float16", ("frame", POSE_NUMBERS), _pose)
"""The first actor's motion in numbers."""
