"""The field `rotation`: rotations of the joints, recovered from joint positions, and the transform of the root.

The rotation of a joint is relative to the axes of its parent; in the rest pose of :mod:`posegen.skeleton` all rotations are the
identity. It is stored as the first two columns of its matrix (6D: Zhou et al., On the Continuity of Rotation Representations in
Neural Networks, CVPR 2019), the root's in world axes. Forward kinematics from the pelvis with the person's bone offsets returns
the joints: each bone is aimed at its joint from the position that forward kinematics gives its parent, so that the rounding of
the positions does not accumulate along a limb.

Positions determine the direction of a bone, not its twist. The twist is defined by the bones that it carries:

- Pelvis and chest (``spine3``) are rigid and known from three joints each.
- ``spine1`` and ``spine2`` share the twist of the chest against the pelvis, a third each.
- A hip is twisted so that knee and ankle are hinges: by the plane of thigh and shank for a bent knee, by the foot for a
  straight one. The knee is twisted so that the foot lies in its plane, and the ankle has no twist.
- A shoulder is twisted so that the elbow is a hinge. A straight arm has no twist against the arm held out sideways.
- Collar bones and neck take the shortest rotation. SMPL's 22 joints do not determine the twist of head, forearms and hands:
  elbows have no twist; wrists, feet and head, which carry nothing, have the identity.
"""

from __future__ import annotations

import numpy as np

from posegen.arrays import Array
from posegen.bodies import body_offsets
from posegen.fields.field import DerivedField, FieldArray, Sequences
from posegen.fields.vectors import (
    Rotation,
    Vector,
    across,
    angle,
    applied,
    between,
    cross,
    frame,
    inverse,
    product,
    stacked,
    unit,
    vector,
)
from posegen.planning.population import persons
from posegen.scene import Persons
from posegen.skeleton import JOINTS, PARENTS

Places = dict[str, Vector]

_WEAK = 0.08
"""Weight of the reference direction of a straight limb, relative to a limb bent by a right angle."""

_LIMBS = {
    "left_hip": "left_knee", "right_hip": "right_knee", "left_knee": "left_ankle", "right_knee": "right_ankle",
    "left_ankle": "left_foot", "right_ankle": "right_foot", "left_shoulder": "left_elbow", "right_shoulder": "right_elbow",
    "left_elbow": "left_wrist", "right_elbow": "right_wrist", "spine1": "spine2", "spine2": "spine3", "neck": "head",
    "left_collar": "left_shoulder", "right_collar": "right_shoulder",
}  # fmt: skip
"""Child joint at which each bone is aimed."""


def bone_offsets(sequences: Sequences) -> Array:
    """Return the bone offsets of each actor, float64 [n, variant, actor, 22, 3] in metres."""
    scale = sequences.parameter("scale")[..., None].astype(np.float32)
    return body_offsets(actor_identities(sequences), scale).astype(np.float64)


def actor_identities(sequences: Sequences) -> Persons:
    """Return the person of each actor, [n, variant, actor]; the first person of the population for absent actors."""
    return persons(sequences.config, sequences.library, sequences.actor_values("person").astype(np.int64))


def rotations(joints: Array, offsets: Array) -> dict[str, Rotation]:
    """Return the world axes of every joint.

    Parameters
    ----------
    joints : float64 [..., frame, 22, 3]
        Metres.
    offsets : float64 [..., 22, 3]
        Offset of each joint from its parent in the rest pose.

    Returns
    -------
    dict of str to Rotation
        By joint name.
    """
    places = {name: vector(joints[..., i, :]) for i, name in enumerate(JOINTS)}
    rest = {name: vector(offsets[..., None, i, :]) for i, name in enumerate(JOINTS)}
    turned: dict[str, Rotation] = {}
    # Positions by forward kinematics.
    reached: Places = {"pelvis": places["pelvis"]}
    for name, parent in zip(JOINTS, PARENTS, strict=True):
        if parent >= 0:
            above = JOINTS[parent]
            reached[name] = reached[above] + applied(turned[above], rest[name])
        if name == "pelvis":
            turned[name] = _rigid(places, rest, "left_hip", "right_hip", "spine1")
        elif name == "spine3":
            turned[name] = _rigid(places, rest, "left_collar", "right_collar", "neck")
        elif name in _LIMBS:
            child = _LIMBS[name]
            bone = unit(places[child] - reached[name])
            turned[name] = _aimed(name, bone, unit(rest[child]), turned[JOINTS[parent]], places)
        else:
            turned[name] = turned[JOINTS[parent]]
    return turned


def _rigid(places: Places, rest: Places, left: str, right: str, top: str) -> Rotation:
    """Axes of a body of which three joints are known."""

    def axes(points: Places) -> Rotation:
        middle = (points[left] + points[right]) * 0.5
        return frame(points[left] - points[right], points[top] - middle)

    return product(axes(places), inverse(axes(rest)))


def _aimed(name: str, bone: Vector, rest_bone: Vector, parent: Rotation, places: Places) -> Rotation:
    """Return the axes of a joint whose bone points along `bone`, with the twist that the module docstring defines."""
    lateral = _lateral(name, bone, parent, places)
    if lateral is None:
        return product(between(applied(parent, rest_bone), bone), parent)
    side = np.zeros_like(rest_bone)
    side[0] = 1.0
    return product(frame(bone, lateral), inverse(frame(rest_bone, side)))


def _lateral(name: str, bone: Vector, parent: Rotation, places: Places) -> Vector | None:
    """Return the direction of a joint's x axis, before it is made orthogonal to the bone; None for the shortest rotation."""
    side, _, part = name.partition("_")
    if part in ("hip", "knee"):
        foot = unit(places[f"{side}_foot"] - places[f"{side}_ankle"])
        shank = unit(places[f"{side}_ankle"] - places[f"{side}_knee"])
        plane = cross(foot, shank)
        return plane if part == "knee" else cross(bone, shank) + across(plane, bone) * _WEAK
    if part == "shoulder":
        forearm = unit(places[f"{side}_wrist"] - places[f"{side}_elbow"])
        return cross(forearm, bone) + _straight_arm_axis(side, bone, parent) * _WEAK
    if part in ("ankle", "elbow"):
        return np.asarray(parent[0])
    if name in ("spine1", "spine2"):
        chest = places["left_collar"] - places["right_collar"]
        share = 1 / 3 if name == "spine1" else 1 / 2
        return np.asarray(parent[0] * (1 - share) + unit(chest) * share)
    return None


def _straight_arm_axis(side: str, bone: Vector, parent: Rotation) -> Vector:
    """Return the x axis of an arm that moves from sideways to its direction by the shortest rotation."""
    sign = 1.0 if side == "left" else -1.0
    swing = between(parent[0] * sign, bone)
    # Held out, the arm's x axis points up on the left and down on the right.
    return applied(swing, parent[1] * sign)


def _compute(sequences: Sequences) -> dict[str, Array]:
    turned = rotations(sequences.joints.astype(np.float64), bone_offsets(sequences))
    local = np.empty((*sequences.joints.shape[:5], 6), np.float32)
    for i, (name, parent) in enumerate(zip(JOINTS, PARENTS, strict=True)):
        own = turned[name] if parent < 0 else product(inverse(turned[JOINTS[parent]]), turned[name])
        local[..., i, :3], local[..., i, 3:] = stacked(own[0]), stacked(own[1])
    x, _, z = turned["pelvis"][2]
    root = np.concatenate([sequences.joints[..., 0, :].astype(np.float64), angle(x, z)[..., None]], axis=-1)
    return {"rotation": local, "root": root}


FIELD = DerivedField(
    "rotation",
    1,
    "6D rotation of every joint relative to its parent, and position and heading of the root",
    (
        FieldArray(
            "rotation",
            {"joint": JOINTS, "component": ("xx", "xy", "xz", "yx", "yy", "yz")},
            attributes={"units": "1", "columns": "the first two of the matrix, x and y axis", "parents": list(PARENTS)},
        ),
        FieldArray(
            "root",
            {"root_component": ("x", "y", "z", "heading")},
            attributes={"units": ["m", "m", "m", "rad"], "heading": "0 faces +z, positive to the left (towards +x)"},
        ),
    ),
    _compute,
    sources=("joints", "rows"),
)
