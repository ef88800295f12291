"""The skeleton: SMPL's 22 body joints, body proportions, and the sign convention of angles.

World and body axes: x to the left of a figure that faces +z, y up, metres. In the *rest pose* (the anatomical position)
the figure stands upright with legs straight, feet flat and arms hanging, the axes of every joint are parallel to the world's,
and every anatomical angle is 0; see `docs/skeleton.md`.

A joint's rotation maps its children's rest offsets to its parent's axes. Angles are in degrees in files and radians
in code; their signs are the clinical ones:

==================== ============== ===========================================================
angle                positive is    rotation (left side; the right side mirrors y and z)
==================== ============== ===========================================================
hip, shoulder flex.  limb forward   -x
knee flexion         heel back      +x
elbow flexion        hand forward   -x
ankle dorsiflexion   toes up        -x
abduction            limb outward   +z
external rotation    limb outward   +y
trunk, neck flexion  forward        +x
lateral flexion      to the left    -z
trunk, neck rotation to the left    +y
pelvis tilt          forward        +x
pelvis obliquity     left side up   +z
==================== ============== ===========================================================

Limbs combine as flexion . abduction . rotation, the trunk as rotation . flexion . lateral flexion (leftmost outermost).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from posegen.foundations.arrays import Array

JOINTS = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle", "spine3",
    "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder", "right_shoulder",
    "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
"""SMPL's body joints in the order of AMASS and HumanML3D."""

PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
"""Parent of each joint; a parent always comes before its children."""

PARTS = ("legs", "trunk", "left_arm", "right_arm", "head")
"""Body parts with action labels."""

CONTACTS = ("left_heel", "left_toe", "right_heel", "right_toe", "left_hand", "right_hand", "left_knee", "right_knee", "seat")
"""Points that may touch a surface. The toe point lies under the ball of the foot (the joint ``left_foot``)."""


def mirror_name(name: str) -> str:
    """Exchange left and right in a name or word.

    Examples
    --------
    >>> mirror_name("left_knee"), mirror_name("right"), mirror_name("head")
    ('right_knee', 'left', 'head')
    """
    side, separator, rest = name.partition("_")
    return f"{_OTHER_SIDE.get(side, side)}{separator}{rest}"


def mirror_order(names: Sequence[str]) -> tuple[int, ...]:
    """Return, for each name, the index of the name that replaces it in the mirror."""
    return tuple(names.index(mirror_name(name)) for name in names)


_OTHER_SIDE = {"left": "right", "right": "left"}
MIRROR_JOINTS = mirror_order(JOINTS)
"""The joint that replaces each joint in the mirror."""
MIRROR_PARTS = mirror_order(PARTS)
MIRROR_CONTACTS = mirror_order(CONTACTS)

PROPORTIONS = {
    "thigh": 0.245,
    "shank": 0.246,
    "ankle_height": 0.039,
    "foot": 0.152,
    "upper_arm": 0.186,
    "forearm": 0.146,
    "hip_spacing": 0.096,
    "shoulder_spacing": 0.220,
    "hip_height": 0.530,
    "shoulder_height": 0.810,
}
"""Lengths as fractions of stature (Drillis and Contini 1966, in Winter, Biomechanics and Motor Control of Human Movement).
The shoulder joint lies slightly below the acromion (.818)."""

HEEL_BEHIND_ANKLE = 0.24 * PROPORTIONS["foot"]
BALL_BEFORE_ANKLE = 0.72 * PROPORTIONS["foot"] - HEEL_BEHIND_ANKLE
BALL_JOINT_HEIGHT = 0.012

# x, y, z of each joint from its parent in the rest pose, as fractions of stature; left side only where there are two.
_ANATOMICAL = {
    "left_hip": (PROPORTIONS["hip_spacing"] / 2, -0.047, 0.0),
    "left_knee": (0.0, -PROPORTIONS["thigh"], 0.0),
    "left_ankle": (0.0, -PROPORTIONS["shank"], 0.0),
    "left_foot": (0.0, BALL_JOINT_HEIGHT - PROPORTIONS["ankle_height"], BALL_BEFORE_ANKLE),
    "spine1": (0.0, 0.066, -0.008),
    "spine2": (0.0, 0.080, 0.004),
    "spine3": (0.0, 0.034, 0.002),
    "neck": (0.0, 0.125, -0.010),
    "head": (0.0, 0.050, 0.014),
    "left_collar": (0.042, 0.053, -0.006),
    "left_shoulder": (PROPORTIONS["shoulder_spacing"] / 2 - 0.042, 0.0, -0.004),
    "left_elbow": (0.0, -PROPORTIONS["upper_arm"], 0.0),
    "left_wrist": (0.0, -PROPORTIONS["forearm"], 0.0),
}

T_POSE = {
    "left_hip": (0.0686, -0.0910, -0.0056), "left_knee": (0.0363, -0.3789, -0.0067), "left_ankle": (-0.0147, -0.3982, -0.0430),
    "left_foot": (0.0259, -0.0520, 0.1213), "spine1": (0.0, 0.1090, -0.0267), "spine2": (0.0, 0.1352, 0.0011),
    "spine3": (0.0, 0.0529, 0.0254), "neck": (0.0, 0.2139, -0.0429), "head": (0.0, 0.0650, 0.0513),
    "left_collar": (0.0803, 0.1203, -0.0364), "left_shoulder": (0.0935, 0.0316, -0.0090),
    "left_elbow": (0.2596, -0.0128, -0.0275), "left_wrist": (0.2492, 0.0090, -0.0012),
}  # fmt: skip
"""Offsets of SMPL's joints from their parents in its T-pose, metres: the regressed joints of the neutral body (Loper et al.
2015) as in ProtoMotions' ``smpl_humanoid.xml``, means of left and right."""
AVERAGE_STATURE = 1.70
"""Metres; that of SMPL's neutral body, of the skeleton of Human3.6M and of the humanoid of CMU's mocap."""

_H36M = {
    "left_hip": (0.1329, 0.0, 0.0), "left_knee": (0.0, -0.4429, 0.0), "left_ankle": (0.0, -0.4542, 0.0),
    "spine1": (0.0, 0.1167, 0.0), "spine2": (0.0, 0.1167, 0.0), "spine3": (0.0, 0.0600, 0.0), "neck": (0.0, 0.1971, 0.0),
    "head": (0.0, 0.1211, 0.0), "left_collar": (0.0500, 0.1971, 0.0), "left_shoulder": (0.1010, 0.0, 0.0),
    "left_elbow": (0.0, -0.2789, 0.0), "left_wrist": (0.0, -0.2517, 0.0),
}  # fmt: skip
"""The offsets of Human3.6M that published models of motion prediction use (Martinez et al. 2017), metres. Its spine, thorax and
nose are `spine2`, `neck` and `head`. `spine1`, `spine3` and the collars, which it lacks, are put between its joints."""

_CMU = {
    "left_hip": (0.102, -0.092, 0.050), "left_knee": (0.0, -0.4049, 0.0), "left_ankle": (0.0, -0.4057, 0.0),
    "spine1": (0.0, 0.1, -0.01), "spine2": (0.0, 0.0568, 0.0005), "spine3": (0.0, 0.0568, 0.0005),
    "neck": (0.0, 0.2039, 0.0147), "head": (0.0, 0.09, 0.0), "left_collar": (0.05, 0.1347, 0.0074),
    "left_shoulder": (0.133, 0.0552, 0.0073), "left_elbow": (0.0, -0.277, 0.0), "left_wrist": (0.0, -0.25, 0.0),
}  # fmt: skip
"""The offsets of the humanoid of DeepMind's Control Suite (Tassa et al. 2018, ``humanoid_CMU.xml``), whose joints are those of
CMU's mocap database, metres. Its upper back, thorax, upper neck and hand are `spine1`, `spine3`, `neck` and the wrist. `spine2`
and the collars, which begin at the neck, are put between its joints."""


def rest_offsets(left: Mapping[str, tuple[float, float, float]]) -> Array:
    """Return offsets of all joints, float64 [22, 3], zeros for the pelvis.

    Parameters
    ----------
    left : mapping of str to (float, float, float)
        Offsets x, y, z of the joints in the middle and on the left side.
    """
    rest = np.zeros((len(JOINTS), 3))
    for joint, name in enumerate(JOINTS):
        rest[joint] = left.get(name.replace("right_", "left_"), (0.0, 0.0, 0.0))
        rest[joint, 0] *= -1 if name.startswith("right_") else 1
    return rest


def _standing(metres: Mapping[str, tuple[float, float, float]]) -> Array:
    """Return fractions of stature: limbs hang straight down with their lengths, and feet are the anatomical ones."""
    rest = rest_offsets(metres) / AVERAGE_STATURE
    for limb in ("knee", "ankle", "elbow", "wrist"):
        for side in ("left_", "right_"):
            x, y, z = rest[JOINTS.index(side + limb)]
            rest[JOINTS.index(side + limb)] = 0.0, -np.sqrt(x * x + y * y + z * z), 0.0
    for foot in ("left_foot", "right_foot"):
        rest[JOINTS.index(foot)] = rest_offsets(_ANATOMICAL)[JOINTS.index(foot)]
    return rest


SKELETONS = {
    "anatomical": rest_offsets(_ANATOMICAL),
    "smpl": _standing(T_POSE),
    "cmu": _standing(_CMU),
    "h36m": _standing(_H36M),
}
"""Joint placement: offset of each joint of an average adult from its parent in the rest pose, fractions of stature [22, 3]."""
ANATOMICAL = SKELETONS["anatomical"]
DEFAULT_SKELETON: Final = "smpl"
LIBRARY_SKELETON: Final = "library"
"""Joint placement of the clips from which a library was imported, instead of one of :data:`SKELETONS`."""
AVERAGE = SKELETONS[DEFAULT_SKELETON]

SHAPE = ("thigh", "shank", "trunk", "upper_arm", "forearm", "shoulders", "hips")
"""Lengths by which bodies of one stature differ. The trunk reaches from hips to head; shoulders and hips are breadths."""

CAPSULES = {
    "trunk": ("spine1", "spine3", 0.055),
    "head": ("head", "head", 0.045),
    "left_forearm": ("left_elbow", "left_wrist", 0.018),
    "right_forearm": ("right_elbow", "right_wrist", 0.018),
    "left_thigh": ("left_hip", "left_knee", 0.034),
    "right_thigh": ("right_hip", "right_knee", 0.034),
    "left_shank": ("left_knee", "left_ankle", 0.024),
    "right_shank": ("right_knee", "right_ankle", 0.024),
}
"""Capsules around bones: the end joints, and the radius as a fraction of stature. The radius is about half the smallest depth
of the body part, so that contact without penetration is not detected."""

JOINT_LIMITS = {
    "hip_flexion": (-30.0, 134.0),
    "hip_abduction": (-20.0, 40.0),
    "hip_rotation": (-40.0, 50.0),
    "knee_flexion": (0.0, 150.0),
    "ankle_dorsiflexion": (-62.0, 20.0),
    "shoulder_flexion": (-62.0, 180.0),
    "shoulder_abduction": (-30.0, 184.0),
    "shoulder_rotation": (-70.0, 104.0),
    "elbow_flexion": (0.0, 150.0),
    "trunk_flexion": (-30.0, 90.0),
    "trunk_lateral": (-30.0, 30.0),
    "trunk_rotation": (-30.0, 30.0),
    "neck_flexion": (-45.0, 45.0),
    "neck_lateral": (-45.0, 45.0),
    "neck_rotation": (-80.0, 80.0),
}
"""Range of motion of each anatomical angle in degrees: the wider of the AAOS' and a second published source's."""


def sole_points(joints: Array) -> Array:
    """Return the heel and toe points of both soles, computed from joint positions.

    SMPL's 22 joints have no heel, so the points are defined here: in the plane of knee, ankle and ball of the foot.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float [..., 4, 3]
        Left heel, left toe, right heel, right toe, in the order of :data:`CONTACTS`.
    """
    ball_drop = PROPORTIONS["ankle_height"] - BALL_JOINT_HEIGHT
    ball_length = float(np.sqrt(BALL_BEFORE_ANKLE * BALL_BEFORE_ANKLE + ball_drop * ball_drop))
    points = []
    for side in ("left_", "right_"):
        knee, ankle, ball = (joints[..., JOINTS.index(side + name), :] for name in ("knee", "ankle", "foot"))
        along = ball - ankle
        length = np.sqrt((along * along).sum(-1, keepdims=True))
        along = along / length
        shank = knee - ankle
        across = shank - (shank * along).sum(-1, keepdims=True) * along
        across = across / np.sqrt((across * across).sum(-1, keepdims=True))
        # `along` points from ankle to ball, which is lower; rotate both vectors into the axes of the sole.
        forward = (along * BALL_BEFORE_ANKLE + across * ball_drop) / ball_length
        up = (across * BALL_BEFORE_ANKLE - along * ball_drop) / ball_length
        stature = length / ball_length
        sole = ankle - up * (PROPORTIONS["ankle_height"] * stature)
        points += [sole - forward * (HEEL_BEHIND_ANKLE * stature), sole + forward * (BALL_BEFORE_ANKLE * stature)]
    return np.stack(points, axis=-2)
