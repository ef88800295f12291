"""The field `rotation`: rotations of the joints, recovered from joint positions, and the transform of the root.

The rotation of a joint is relative to the axes of its parent; in the rest pose of `skeleton` all rotations are the
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

from posegen.fields.field import DerivedField, FieldArray, Sequences
from posegen.fields.kernels.rotation import STATE, WORK, fill_rotations
from posegen.fields.vectors import angle
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import Persons
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.planning.population import persons


def bone_offsets(sequences: Sequences) -> Array:
    """Return the bone offsets of each actor, float64 [n, variant, actor, 22, 3] in metres."""
    scale = sequences.parameter("scale")[..., None].astype(np.float32)
    return body_offsets(actor_identities(sequences), scale).astype(np.float64)


def actor_identities(sequences: Sequences) -> Persons:
    """Return the person of each actor, [n, variant, actor]; the first person of the population for absent actors."""
    return persons(sequences.config, sequences.library, sequences.actor_values("person").astype(np.int64))


def joint_rotations(joints: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the rotation of every joint.

    Parameters
    ----------
    joints : float [..., frame, 22, 3]
        Metres; NaN in absent frames.
    offsets : float [..., 22, 3]
        Offset of each joint from its parent in the rest pose, metres.

    Returns
    -------
    local : float32 [..., frame, 22, 6]
        First two columns of the matrix relative to the parent's axes, or the world's for the pelvis. NaN in absent frames.
    pelvis : float64 [..., 3, 3, frame]
        Columns of the matrix of the pelvis, by column and component.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if joints.shape[-2:] != (len(JOINTS), 3) or offsets.shape != (*joints.shape[:-3], len(JOINTS), 3):
        msg = f"joints {joints.shape} and offsets {offsets.shape} do not fit [..., frame, 22, 3] and [..., 22, 3]"
        raise ValueError(msg)
    clips, frames = joints.shape[:-3], joints.shape[-3]
    local = np.empty((*clips, frames, len(JOINTS), 6), np.float32)
    pelvis = np.empty((*clips, 3, 3, frames))
    # Zeros, because a block that is not full computes with what its rows held before.
    state, work = np.zeros((len(JOINTS), STATE)), np.zeros(WORK)
    for clip in np.ndindex(clips):
        places, bones = (values[clip].astype(np.float64, order="C") for values in (joints, offsets))
        fill_rotations(places, bones, state, work, pelvis[clip], local[clip])
    return local, pelvis


def _compute(sequences: Sequences) -> dict[str, Array]:
    local, pelvis = joint_rotations(sequences.joints, bone_offsets(sequences))
    x, z = pelvis[..., 2, 0, :], pelvis[..., 2, 2, :]
    root = np.concatenate([sequences.joints[..., 0, :].astype(np.float64), angle(x, z)[..., None]], axis=-1)
    return {"rotation": local, "root": root}


_COMPONENTS = ("xx", "xy", "xz", "yx", "yy", "yz")
_ROTATION = {"units": "1", "columns": "the first two of the matrix, x and y axis", "parents": list(PARENTS)}
_ROOT = {"units": ["m", "m", "m", "rad"], "heading": "0 faces +z, positive to the left (towards +x)"}
FIELD = DerivedField(
    "rotation",
    1,
    "6D rotation of every joint relative to its parent, and position and heading of the root",
    (
        FieldArray("rotation", {"joint": JOINTS, "component": _COMPONENTS}, attributes=_ROTATION),
        FieldArray("root", {"root_component": ("x", "y", "z", "heading")}, attributes=_ROOT),
    ),
    _compute,
    sources=("joints", "rows"),
)
