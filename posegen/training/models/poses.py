"""Bodies by five numbers, which say how long every bone is, and how they are read off a motion.

Forward kinematics of many poses at once, in torch: from rotations and bones to joints, so that bones never change length.

A motion in numbers that a model can make: how the root goes, how each joint is turned, which points of the soles touch.

Each frame has 110 of them, none of which depends on where somebody stands and faces, nor on how large they are:

====== ============================================================================================================
0      height of the pelvis above the floor, in lengths of the legs
1, 2   how far the pelvis goes to the left and ahead since the frame before, in lengths of the legs a second
3      how far the body turns to the left since the frame before, in radians a second
4-105  6D rotation of each of the 17 joints that carry others, the pelvis's in the axes of the heading
106-9  1 where left heel, left toe, right heel and right toe touch, else 0
====== ============================================================================================================

The heading is that of the pelvis's lateral axis in the plane, which somebody who bends, crawls or lies has as well.


Motions as if everybody had the same body: what is left of a person is how they move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from posegen.fields.rotation import rotations
from posegen.fields.vectors import Rotation, inverse, product, stacked
from posegen.scene import Persons
from posegen.skeleton import JOINTS, PARENTS, PROPORTIONS, body_offsets
from posegen.training.data.features import FEATURES, Recipe, View, features_of

__all__ = [
    "AVERAGE",
    "BODY_MEASURES",
    "CONTACTS",
    "HEIGHT",
    "POSE",
    "POSE_NUMBERS",
    "RATE",
    "ROTATIONS",
    "STYLE_MOTION",
    "TURNED",
    "VELOCITY",
    "body_of",
    "joints_of",
    "leg_length",
    "matrices_of",
    "offsets_of",
    "poses_of",
    "retarget_to_average_body",
    "root_of",
    "turned_of",
]

Array = NDArray[Any]

BODY_MEASURES = ("stature", "legs", "arms", "shoulders", "hips")
"""Of a body: metres, and the others relative to the average of that stature, as :class:`posegen.scene.Persons` has them."""

AVERAGE = (1.69, 1.0, 1.0, 1.0, 1.0)
"""The body that motion is made for unless another is asked for: between the average man and the average woman."""

_PARENT = {name: JOINTS[parent] for name, parent in zip(JOINTS, PARENTS, strict=True) if parent >= 0}
_TRUNK = ("spine1", "spine2", "spine3", "neck", "head")
_LEGS = ("left_knee", "right_knee", "left_ankle", "right_ankle")
_ARMS = ("left_elbow", "right_elbow", "left_wrist", "right_wrist")


def offsets_of(body: Array) -> Array:
    """Bone offsets of bodies.

    Parameters
    ----------
    body : float [..., 5]
        See :data:`BODY_MEASURES`.

    Returns
    -------
    float32 [..., 22, 3]
        Of each joint from its parent in the rest pose, in metres.
    """
    measures = np.asarray(body, np.float32)
    none = np.zeros(measures.shape[:-1], np.int64)
    named = {name: measures[..., i] for i, name in enumerate(BODY_MEASURES)}
    return body_offsets(
        Persons(
            index=none, age=none, male=none > 0, left_handed=none > 0, energy=none, style=none, **named
        )
    )  # fmt: skip


def leg_length(body: Array) -> Array:
    """Height of the hip joints in the rest pose, [...] metres: what steps and heights are measured by."""
    measures = np.asarray(body, np.float64)
    limb = (PROPORTIONS["thigh"] + PROPORTIONS["shank"]) * measures[..., 1] + PROPORTIONS["ankle_height"]
    return np.asarray(measures[..., 0] * limb)


def body_of(joints: Array) -> Array:
    """Read a body off its motion.

    Parameters
    ----------
    joints : float [..., frame, 22, 3]
        Metres; NaN in frames in which nobody is there.

    Returns
    -------
    float64 [..., 5]
        See :data:`BODY_MEASURES`; the average body where nobody ever is there.
    """
    rest = offsets_of(np.ones(len(BODY_MEASURES)))
    there = ~np.isnan(joints[..., 0, 0])
    count = np.maximum(there.sum(-1), 1)

    def share(pairs: list[tuple[str, str]], own: float) -> Array:
        """How long some distances are together, on the mean of the frames, beside the same of a body of one metre."""
        total = np.zeros(there.shape)
        for one, other in pairs:
            apart = joints[..., JOINTS.index(one), :].astype(np.float64) - joints[..., JOINTS.index(other), :]
            total += np.sqrt((apart * apart).sum(-1))
        return np.asarray(np.where(there, total, 0.0).sum(-1) / count / own)

    def bones(names: tuple[str, ...]) -> Array:
        length = sum(float(np.sqrt((rest[JOINTS.index(name)].astype(np.float64) ** 2).sum())) for name in names)
        return share([(name, _PARENT[name]) for name in names], length)

    def breadth(part: str) -> Array:
        return share([(f"left_{part}", f"right_{part}")], 2 * float(rest[JOINTS.index(f"left_{part}"), 0]))

    stature = bones(_TRUNK)
    safe = np.where(stature > 0, stature, 1.0)
    body = np.stack([stature, bones(_LEGS) / safe, bones(_ARMS) / safe, breadth("collar") / safe, breadth("hip") / safe], -1)
    return np.where((stature > 0)[..., None], body, np.array(AVERAGE))


TURNED = tuple(joint for joint in range(len(JOINTS)) if joint in PARENTS)
"""Joints that carry others; how the rest is turned moves nothing."""


def _levels() -> tuple[tuple[int, ...], ...]:
    """Joints by how many bones are between them and the pelvis."""
    depth = [0]
    for parent in PARENTS[1:]:
        depth.append(depth[parent] + 1)
    return tuple(tuple(j for j, own in enumerate(depth) if own == level) for level in range(max(depth) + 1))


_LEVELS = _levels()


def matrices_of(columns: Tensor) -> Tensor:
    """Rotations from their first two columns, which need not be of unit length nor square to each other.

    Zhou et al., On the Continuity of Rotation Representations in Neural Networks, CVPR 2019.

    Parameters
    ----------
    columns : Tensor [..., 6]

    Returns
    -------
    Tensor [..., 3, 3]
    """
    x = functional.normalize(columns[..., :3], dim=-1)
    y = columns[..., 3:] - (x * columns[..., 3:]).sum(-1, keepdim=True) * x
    y = functional.normalize(y, dim=-1)
    return torch.stack([x, y, torch.linalg.cross(x, y)], dim=-1)


def joints_of(local: Tensor, root: Tensor, offsets: Tensor) -> Tensor:
    """Joints of poses.

    Parameters
    ----------
    local : Tensor [..., TURNED, 3, 3]
        Each joint's axes in those of its parent; the pelvis's in those of the world.
    root : Tensor [..., 3]
        Where the pelvis is, in metres.
    offsets : Tensor [..., 22, 3]
        Of each joint from its parent in the rest pose, in metres; broadcasts.

    Returns
    -------
    Tensor [..., 22, 3]
        Metres.
    """
    place = {0: root}
    turned = {0: local[..., 0, :, :]}
    for level in _LEVELS[1:]:
        parents = torch.stack([turned[PARENTS[joint]] for joint in level], dim=-3)
        bones = torch.stack([offsets[..., joint, :] for joint in level], dim=-2)
        moved = (parents @ bones[..., None].expand(*parents.shape[:-1], 1))[..., 0]
        for i, joint in enumerate(level):
            place[joint] = place[PARENTS[joint]] + moved[..., i, :]
        carrying = [joint for joint in level if joint in TURNED]
        if carrying:
            own = torch.stack([local[..., TURNED.index(joint), :, :] for joint in carrying], dim=-3)
            whole = torch.stack([turned[PARENTS[joint]] for joint in carrying], dim=-3) @ own
            turned |= {joint: whole[..., i, :, :] for i, joint in enumerate(carrying)}
    return torch.stack([place[joint] for joint in range(len(JOINTS))], dim=-2)


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


def retarget_to_average_body(joints: Array, fps: float) -> Array:
    """Have the average body move as others do.

    Joints turn as they did; steps are as long, and the pelvis is as high, in lengths of the legs.

    Parameters
    ----------
    joints : float [clip, frame, 22, 3]
        Metres, y up; NaN in frames that are not there, which must be the last ones.
    fps : float
        Frames a second.

    Returns
    -------
    float32 [clip, frame, 22, 3]
        The same times, from above the origin on and facing +z at first.
    """
    there = ~np.isnan(joints[..., 0, 0])
    # Which points touch is not needed for where joints are.
    untold = np.zeros((*there.shape, CONTACTS.stop - CONTACTS.start), np.uint8)
    poses = torch.from_numpy(poses_of(joints, untold, fps))
    leg = torch.full((len(joints),), float(leg_length(np.array(AVERAGE))))
    root, heading = root_of(poses, leg, fps)
    placed = joints_of(turned_of(poses, heading), root, torch.from_numpy(offsets_of(np.array(AVERAGE)))).numpy()
    return np.where(there[..., None, None], placed, np.float32(np.nan))


def _manner(fields: Mapping[str, Array], view: View) -> Array:
    shown = fields["joints"][:, 0, :: view.stride]
    return features_of(retarget_to_average_body(shown, view.fps), view.fps).astype(np.float16)


STYLE_MOTION = Recipe("manner", 1, ("joints",), "float16", ("frame", FEATURES), _manner)
"""The features of the first actor's motion on the average body."""
