"""Poses as numbers that a model can generate, and the bodies and kinematics that turn them back into joints.

Each frame has 110 numbers. They do not depend on where a body stands and faces, nor on its size:

====== ============================================================================================================
0      height of the pelvis above the floor, in leg lengths
1, 2   displacement of the pelvis to the left and ahead since the frame before, in leg lengths per second
3      turn of the body to the left since the frame before, in radians per second
4-105  6D rotation of each of the 17 joints that have children; that of the pelvis relative to the heading
106-9  1 where left heel, left toe, right heel and right toe are in contact, else 0
====== ============================================================================================================

The heading is the direction of the pelvis's lateral axis in the ground plane, which is defined while bending, crawling and
lying too.

In scenes of several actors, each has :data:`SCENE_NUMBERS`: its pose, and its relation to the first actor
(:func:`posegen.training.data.features.relations`), in units of the mean leg length of the two. Motion features that models read
are in :mod:`posegen.training.data.features`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from posegen.fields.rotation import joint_rotations
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import HABITS, Persons
from posegen.foundations.skeleton import AVERAGE, JOINTS, PARENTS, PROPORTIONS, SHAPE
from posegen.training.data import features

BODY_MEASURES = ("stature", *SHAPE)
"""Measures of a body: metres, then factors relative to the average of that stature; see :class:`foundations.scene.Persons`."""

AVERAGE_BODY = (1.69, *(1.0 for _ in SHAPE))
"""The default body: between the average man and the average woman."""

ROTATED = tuple(joint for joint in range(len(JOINTS)) if joint in PARENTS)
"""Joints that have children. The rotation of other joints moves nothing."""

HEIGHT, TURN = 0, 3
ROTATIONS = slice(4, 4 + 6 * len(ROTATED))
CONTACTS = slice(ROTATIONS.stop, ROTATIONS.stop + 4)
"""Indices of the numbers of a pose."""
POSE_NUMBERS = CONTACTS.stop
"""Numbers per frame."""
SCENE_NUMBERS = POSE_NUMBERS + features.RELATION
"""Numbers per frame and actor of a scene."""

_PARENT = {name: JOINTS[parent] for name, parent in zip(JOINTS, PARENTS, strict=True) if parent >= 0}
_TRUNK = ("spine1", "spine2", "spine3", "neck", "head")
_IN_CONTACT = 1
_LEAST_LENGTH = 1e-9


def offsets_of(body: Array) -> Array:
    """Return the bone offsets of bodies.

    Parameters
    ----------
    body : float [..., BODY_MEASURES]

    Returns
    -------
    float32 [..., 22, 3]
        Offset of each joint from its parent in the rest pose, in metres.
    """
    measures = np.asarray(body, np.float32)
    none = np.zeros(measures.shape[:-1], np.int64)
    return body_offsets(
        Persons(
            index=none,
            age=none,
            male=none > 0,
            left_handed=none > 0,
            energy=none,
            style=none,
            habits=np.zeros((*none.shape, HABITS), np.float32),
            key=none,
            rest=AVERAGE,
            stature=measures[..., 0],
            shape=measures[..., 1:],
        )
    )


def leg_length(body: Array) -> Array:
    """Return the height of the hip joints in the rest pose, [...] metres: the unit of steps and heights."""
    stature = np.asarray(body, np.float64)[..., 0]
    leg = offsets_of(body)[..., [JOINTS.index("left_knee"), JOINTS.index("left_ankle")], 1]
    return np.asarray(stature * PROPORTIONS["ankle_height"] - leg.astype(np.float64).sum(-1))


def body_of(joints: Array) -> Array:
    """Estimate a body from its motion.

    Parameters
    ----------
    joints : float [..., frame, 22, 3]
        Metres; NaN in absent frames.

    Returns
    -------
    float64 [..., BODY_MEASURES]
        The average body where all frames are absent. Feet show the stature: they are a fixed share of it.
    """
    rest = offsets_of(np.ones(len(BODY_MEASURES)))
    present = ~np.isnan(joints[..., 0, 0])
    count = np.maximum(present.sum(-1), 1)

    def ratio(pairs: list[tuple[str, str]], rest_length: float) -> Array:
        """Return the sum of some distances, averaged over the frames, relative to that of a body of one metre."""
        total = np.zeros(present.shape)
        for one, other in pairs:
            apart = joints[..., JOINTS.index(one), :].astype(np.float64) - joints[..., JOINTS.index(other), :]
            x, y, z = np.moveaxis(apart * apart, -1, 0)
            total += np.sqrt(x + y + z)  # half the time of a sum along an axis
        return np.asarray(np.where(present, total, 0.0).sum(-1) / count / rest_length)

    def bones(*names: str) -> Array:
        length = sum(float(np.sqrt((rest[JOINTS.index(name)].astype(np.float64) ** 2).sum())) for name in names)
        return ratio([(name, _PARENT[name]) for name in names], length)

    def limb(joint: str) -> Array:
        return bones(f"left_{joint}", f"right_{joint}")

    def breadth(part: str) -> Array:
        return ratio([(f"left_{part}", f"right_{part}")], 2 * float(rest[JOINTS.index(f"left_{part}"), 0]))

    stature = limb("foot")
    lengths = [limb("knee"), limb("ankle"), bones(*_TRUNK), limb("elbow"), limb("wrist"), breadth("collar"), breadth("hip")]
    body = np.stack([stature, *(length / np.where(stature > 0, stature, 1.0) for length in lengths)], -1)
    return np.where((stature > 0)[..., None], body, np.array(AVERAGE_BODY))


def rotation_matrices(columns: Tensor) -> Tensor:
    """Return rotations from their first two columns, which need not be of unit length nor orthogonal.

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
    """Compute joints by forward kinematics.

    Parameters
    ----------
    local : Tensor [..., ROTATED, 3, 3]
        Axes of each joint in those of its parent; of the pelvis in those of the world.
    root : Tensor [..., 3]
        Position of the pelvis in metres.
    offsets : Tensor [..., 22, 3]
        Offset of each joint from its parent in the rest pose, in metres; broadcasts.

    Returns
    -------
    Tensor [..., 22, 3]
        Metres.
    """
    position, rotation = {0: root}, {0: local[..., 0, :, :]}
    for joint in range(1, len(JOINTS)):
        parent = PARENTS[joint]
        position[joint] = position[parent] + (rotation[parent] @ offsets[..., joint, :, None])[..., 0]
        if joint in ROTATED:
            rotation[joint] = rotation[parent] @ local[..., ROTATED.index(joint), :, :]
    return torch.stack([position[joint] for joint in range(len(JOINTS))], dim=-2)


def poses_of(joints: Array, contact: Array, fps: float) -> Array:
    """Convert motions to poses.

    Parameters
    ----------
    joints : float [clip, frame, 22, 3]
        Metres, y up; NaN in absent frames, which must be the last ones.
    contact : uint8 [clip, frame, point]
        1 where a point is in contact; the first four are those of the soles.
    fps : float
        Frames per second.

    Returns
    -------
    float32 [clip, frame, POSE_NUMBERS]
        0 in absent frames.
    """
    positions = joints.astype(np.float64)
    body = body_of(positions)
    local, pelvis_axes = joint_rotations(positions, offsets_of(body))
    heading = np.arctan2(-pelvis_axes[..., 0, 2, :], pelvis_axes[..., 0, 0, :])
    cos, sin = np.cos(heading), np.sin(heading)
    pelvis, leg = positions[..., 0, :], leg_length(body)[:, None]
    moved = np.diff(pelvis, axis=-2, prepend=pelvis[..., :1, :]) * fps / leg[..., None]
    change = np.diff(heading, axis=-1, prepend=heading[..., :1])
    out = np.empty((*joints.shape[:2], POSE_NUMBERS), np.float32)
    out[..., HEIGHT] = pelvis[..., 1] / leg
    out[..., 1] = cos * moved[..., 0] - sin * moved[..., 2]
    out[..., 2] = sin * moved[..., 0] + cos * moved[..., 2]
    out[..., TURN] = np.arctan2(np.sin(change), np.cos(change)) * fps
    # In the axes of the heading, whose columns are (cos, 0, sin), (0, 1, 0) and (-sin, 0, cos) in the world.
    x, y, z = np.moveaxis(pelvis_axes[..., :2, :, :], -2, 0)
    in_heading = np.stack([cos[:, None] * x - sin[:, None] * z, y, sin[:, None] * x + cos[:, None] * z], axis=-2)
    local[..., 0, :] = np.moveaxis(in_heading.reshape(len(joints), 6, -1), -1, -2)
    out[..., ROTATIONS] = np.take(local, ROTATED, axis=-2).reshape(*joints.shape[:2], -1)
    out[..., CONTACTS] = contact[..., :4] == _IN_CONTACT
    torch.from_numpy(out).nan_to_num_(0.0)  # a tenth of NumPy's time
    return out


def root_of(poses: Tensor, leg: Tensor, fps: float) -> tuple[Tensor, Tensor]:
    """Integrate the path of the pelvis.

    Parameters
    ----------
    poses : Tensor [..., frame, POSE_NUMBERS]
    leg : Tensor [...]
        Leg length in metres.
    fps : float

    Returns
    -------
    root : Tensor [..., frame, 3]
        Metres; above the origin of the plane in the first frame.
    heading : Tensor [..., frame]
        Radians; 0, facing +z, in the first frame.
    """
    after_first = torch.ones_like(poses[..., TURN])
    after_first[..., 0] = 0
    heading = torch.cumsum(poses[..., TURN] * after_first, dim=-1) / fps
    left, ahead = (poses[..., i] * after_first * leg[..., None] / fps for i in (1, 2))
    cos, sin = torch.cos(heading), torch.sin(heading)
    x, z = torch.cumsum(cos * left + sin * ahead, dim=-1), torch.cumsum(cos * ahead - sin * left, dim=-1)
    return torch.stack([x, poses[..., HEIGHT] * leg[..., None], z], dim=-1), heading


def local_rotations(poses: Tensor, heading: Tensor) -> Tensor:
    """Return the rotations of the rotated joints, as :func:`joints_of` takes them.

    Parameters
    ----------
    poses : Tensor [..., frame, POSE_NUMBERS]
    heading : Tensor [..., frame]

    Returns
    -------
    Tensor [..., frame, ROTATED, 3, 3]
    """
    local = rotation_matrices(poses[..., ROTATIONS].reshape(*heading.shape, len(ROTATED), 6))
    cos, sin, none = torch.cos(heading), torch.sin(heading), torch.zeros_like(heading)
    rows = [torch.stack(row, dim=-1) for row in ((cos, none, sin), (none, none + 1, none), (-sin, none, cos))]
    pelvis = torch.stack(rows, dim=-2) @ local[..., 0, :, :]
    return torch.cat([pelvis[..., None, :, :], local[..., 1:, :, :]], dim=-3)


def pose_body(poses: Tensor, root: Tensor, heading: Tensor, body: Array) -> Array:
    """Compute the joints of a body in poses.

    Parameters
    ----------
    poses : Tensor [..., frame, POSE_NUMBERS]
    root, heading : Tensor
        As :func:`root_of` returns them.
    body : float [BODY_MEASURES]
        See :data:`BODY_MEASURES`.

    Returns
    -------
    float [..., frame, 22, 3]
        Metres.
    """
    offsets = torch.from_numpy(offsets_of(body)).to(poses.dtype)
    return np.asarray(joints_of(local_rotations(poses, heading), root, offsets).numpy())


def retarget_to_average_body(joints: Array, fps: float) -> Array:
    """Transfer motions to the average body, so that only the style of an identity is left.

    Joint rotations are kept. Steps and the height of the pelvis are scaled by the leg length.

    Parameters
    ----------
    joints : float [clip, frame, 22, 3]
        Metres, y up; NaN in absent frames, which must be the last ones.
    fps : float
        Frames per second.

    Returns
    -------
    float32 [clip, frame, 22, 3]
        The first frame is above the origin and faces +z.
    """
    present = ~np.isnan(joints[..., 0, 0])
    # Contacts do not change the joints.
    no_contact = np.zeros((*present.shape, CONTACTS.stop - CONTACTS.start), np.uint8)
    poses = torch.from_numpy(poses_of(joints, no_contact, fps))
    leg = torch.full((len(joints),), float(leg_length(np.array(AVERAGE_BODY))))
    root, heading = root_of(poses, leg, fps)
    retargeted = pose_body(poses, root, heading, np.array(AVERAGE_BODY))
    return np.where(present[..., None, None], retargeted, np.float32(np.nan))


def _pose(fields: Mapping[str, Array], view: features.View) -> Array:
    shown = {name: fields[name][:, 0, :: view.stride] for name in ("joints", "contact")}
    return features.to_half(poses_of(shown["joints"], shown["contact"], view.fps))


def _scene_pose(fields: Mapping[str, Array], view: features.View) -> Array:
    joints, contact = features.scene_arrays(fields["joints"], view, np.nan), features.scene_arrays(fields["contact"], view, 0)
    poses = np.stack([poses_of(joints[:, i], contact[:, i], view.fps) for i in range(view.actors)], axis=1)
    leg = leg_length(body_of(joints))
    related = features.relations(joints, (leg + leg[:, :1]) / 2)
    return features.to_half(np.concatenate([poses, related], axis=-1).swapaxes(1, 2))


def place_beside(first: Array, other: Array, related: Array, unit: float) -> Array:
    """Rotate and move a motion as a whole, so that it stands to another one as their relation says.

    Each keeps its own path, so that feet do not slide. Frames in which the two are near each other count most.

    Parameters
    ----------
    first, other : float [frame, 22, 3]
        Joints in metres.
    related : float [frame, RELATION]
        Of `other` to `first`; see :func:`posegen.training.data.features.relations`.
    unit : float
        Its unit of length in metres.

    Returns
    -------
    float [frame, 22, 3]
    """
    place, heading = features.place_and_heading(first)
    own, own_heading = features.place_and_heading(other)
    compressed = related[:, 1] + 1j * related[:, 0]
    near = np.abs(compressed)
    distance = unit * features.NEAR * np.expm1(near)
    target = place + heading * compressed / np.maximum(near, _LEAST_LENGTH) * distance
    turned = heading * (related[:, 2] + 1j * related[:, 3])
    weight = np.exp(-2 * near) / np.exp(-2 * near).sum()
    centre, target_centre = (weight * own).sum(), (weight * target).sum()
    # The rotation with the least squared error of places and headings (Procrustes), as complex numbers.
    rotation = (weight * ((own - centre).conj() * (target - target_centre) + own_heading.conj() * turned)).sum()
    rotation = rotation / max(abs(rotation), _LEAST_LENGTH)
    moved = other.astype(np.float64)
    points = rotation * (moved[..., 2] + 1j * moved[..., 0] - centre) + target_centre
    moved[..., 2], moved[..., 0] = points.real, points.imag
    return moved


def _style_motion(fields: Mapping[str, Array], view: features.View) -> Array:
    shown = fields["joints"][:, 0, :: view.stride]
    return features.to_half(features.features_of(retarget_to_average_body(shown, view.fps), view.fps))


POSE = features.Recipe("pose", 1, ("joints", "contact"), "float16", ("frame", POSE_NUMBERS), _pose)
"""Poses of the first actor."""

SCENE_POSE = features.Recipe(
    "pose", 1, ("joints", "contact"), "float16", ("frame", features.ACTOR, SCENE_NUMBERS), _scene_pose, "pose-scene"
)
"""Poses of all actors, each with its relation to the first one."""

STYLE_MOTION = features.Recipe("style_motion", 2, ("joints",), "float16", ("frame", features.FEATURES), _style_motion)
"""Motion features of the first actor on the average body."""
