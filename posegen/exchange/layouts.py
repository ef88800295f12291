"""Other skeleton layouts, computed from SMPL's 22 joints.

Every target joint is a weighted sum of the 22 joints and the sole points, with a quality:

exact
    the same anatomical point, or the layout's own definition (data sets may still place it a few centimetres apart);
approximate
    computed from neighbouring points;
absent
    not determined by 22 joint positions, and NaN: nose, eyes and ears (the rotation of the head is unknown) and small toes
    (the width of the foot is unknown).

Examples
--------
>>> import numpy as np
>>> convert(np.zeros((250, 22, 3)), "coco17").shape
(250, 17, 3)
>>> LAYOUTS["body25"].joints[8], LAYOUTS["body25"].quality("left_heel")
('mid_hip', 'approximate')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.skeleton import CONTACTS, JOINTS, sole_points

Quality = Literal["exact", "approximate", "absent"]

_SOLES = CONTACTS[:4]

# The toe point lies under the ball of the foot, at this share of the foot's length from the heel (Winter).
_BALL_SHARE = 0.72
# The crown lies this many times the distance from neck to head above the head joint in the rest pose: 0.068 of stature.
_CROWN = 1.36


@dataclass(frozen=True)
class Source:
    """A target joint: name, quality, and weights of the 22 joints and sole points, which sum to 1."""

    name: str
    quality: Quality
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Layout:
    """A skeleton layout.

    Attributes
    ----------
    name : str
    sources : tuple of Source
        One for each joint, in the layout's order.
    edges : tuple of (int, int)
        Bones, as pairs of joints.
    flat : bool
        Whether :func:`convert` returns x and y of all points as one row instead of [joints, 3].
    """

    name: str
    sources: tuple[Source, ...]
    edges: tuple[tuple[int, int], ...]
    flat: bool = False

    @property
    def joints(self) -> tuple[str, ...]:
        """Return the names of the joints, in order."""
        return tuple(source.name for source in self.sources)

    def quality(self, joint: str) -> Quality:
        """Return the quality of a joint: ``exact``, ``approximate`` or ``absent``."""
        return self.sources[self.joints.index(joint)].quality


def convert(joints: ArrayLike, layout: str) -> Array:
    """Convert joints to another layout.

    Parameters
    ----------
    joints : float [..., 22, 3]
        SMPL's 22 joints; NaN stays NaN.
    layout : str
        A key of :data:`LAYOUTS`: ``stick_lines``, ``coco17``, ``h36m17`` or ``body25``.

    Returns
    -------
    float [..., joints of the layout, 3], or [..., 20] for ``stick_lines``
        Metres, in the same world axes. Absent joints are NaN.

    Raises
    ------
    ValueError
        If the layout is unknown or the array is not of 22 joints.
    """
    if layout not in LAYOUTS:
        msg = f"unknown layout '{layout}': choose one of {', '.join(LAYOUTS)}"
        raise ValueError(msg)
    array = np.asarray(joints)
    if array.ndim < 2 or array.shape[-2:] != (len(JOINTS), 3):
        msg = f"joints must have the shape [..., {len(JOINTS)}, 3], not {list(array.shape)}"
        raise ValueError(msg)
    array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    target = LAYOUTS[layout]
    points = {name: array[..., i, :] for i, name in enumerate(JOINTS)}
    if any(name in _SOLES for source in target.sources for name in source.weights):
        soles = sole_points(array)
        points |= {name: soles[..., i, :] for i, name in enumerate(_SOLES)}
    out = np.full((*array.shape[:-2], len(target.sources), 3), np.nan, array.dtype)
    for i, source in enumerate(target.sources):
        terms = [points[name] * array.dtype.type(weight) for name, weight in source.weights.items()]
        if terms:
            out[..., i, :] = sum(terms[1:], start=terms[0])
    return out[..., :2].reshape(*array.shape[:-2], -1) if target.flat else out


def _same(name: str, ours: str | None = None) -> Source:
    return Source(name, "exact", {ours or name: 1.0})


def _absent(name: str) -> Source:
    return Source(name, "absent", {})


def _middle(name: str, of: str) -> Source:
    return Source(name, "exact", {f"left_{of}": 0.5, f"right_{of}": 0.5})


def _sides(*names: str) -> tuple[Source, ...]:
    """Return both sides of each joint, joint by joint."""
    return tuple(_same(f"{side}_{name}") for name in names for side in ("left", "right"))


def _limb(side: str, *names: str) -> tuple[Source, ...]:
    return tuple(_same(f"{side}_{name}") for name in names)


def _foot(side: str) -> tuple[Source, ...]:
    tip = {f"{side}_toe": 1 / _BALL_SHARE, f"{side}_heel": 1 - 1 / _BALL_SHARE}
    return (
        Source(f"{side}_big_toe", "approximate", tip),
        _absent(f"{side}_small_toe"),
        Source(f"{side}_heel", "approximate", {f"{side}_heel": 1.0}),
    )


_STICK_LINES = Layout(
    "stick_lines",
    sources=(
        _same("neck"),
        _same("pelvis"),
        *(_same(f"{side}_{joint}") for side in ("left", "right") for joint in ("shoulder", "wrist")),
        *(_same(f"{side}_{joint}") for side in ("left", "right") for joint in ("hip", "ankle")),
    ),
    edges=((0, 1), (2, 3), (4, 5), (6, 7), (8, 9)),
    flat=True,
)
"""Five lines as x1, y1, x2, y2: the torso from neck to pelvis, left arm, right arm (shoulder to wrist), left leg, right leg
(hip to ankle), seen from the front, along -z: x to the viewer's right, y up, metres."""

_COCO = Layout(
    "coco17",
    sources=(
        *(_absent(name) for name in ("nose", "left_eye", "right_eye", "left_ear", "right_ear")),
        *_sides("shoulder", "elbow", "wrist", "hip", "knee", "ankle"),
    ),
    edges=(
        *((15, 13), (13, 11), (16, 14), (14, 12), (11, 12), (5, 11), (6, 12), (5, 6), (5, 7), (6, 8)),
        *((7, 9), (8, 10), (1, 2), (0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)),
    ),
)
"""COCO's keypoints and skeleton (its 19 pairs, counted from 0)."""

_H36M = Layout(
    "h36m17",
    sources=(
        _same("pelvis"),
        *_limb("right", "hip", "knee", "ankle"),
        *_limb("left", "hip", "knee", "ankle"),
        Source("spine", "approximate", {"spine2": 1.0}),
        Source("thorax", "approximate", {"neck": 1.0}),
        Source("neck_nose", "approximate", {"head": 1.0}),
        Source("head_top", "approximate", {"head": 1 + _CROWN, "neck": -_CROWN}),
        *_limb("left", "shoulder", "elbow", "wrist"),
        *_limb("right", "shoulder", "elbow", "wrist"),
    ),
    edges=(
        *((0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (0, 7), (7, 8), (8, 9), (9, 10)),
        *((8, 11), (11, 12), (12, 13), (8, 14), (14, 15), (15, 16)),
    ),
)
"""Human3.6M's 17 joints in the order of the lifting literature. `neck_nose` is its joint 9 ("neck/nose"), at the upper end of
the neck; `head_top` continues the direction from neck to head."""

_BODY25 = Layout(
    "body25",
    sources=(
        _absent("nose"),
        _middle("neck", "shoulder"),
        *_limb("right", "shoulder", "elbow", "wrist"),
        *_limb("left", "shoulder", "elbow", "wrist"),
        _middle("mid_hip", "hip"),
        *_limb("right", "hip", "knee", "ankle"),
        *_limb("left", "hip", "knee", "ankle"),
        *(_absent(name) for name in ("right_eye", "left_eye", "right_ear", "left_ear")),
        *_foot("left"),
        *_foot("right"),
    ),
    edges=(
        *((1, 8), (1, 2), (1, 5), (2, 3), (3, 4), (5, 6), (6, 7), (8, 9), (9, 10), (10, 11), (8, 12), (12, 13)),
        *((13, 14), (1, 0), (0, 15), (15, 17), (0, 16), (16, 18), (14, 19), (19, 20), (14, 21), (11, 22)),
        *((22, 23), (11, 24)),
    ),
)
"""OpenPose's BODY_25. Its neck and mid hip are defined as the middles of the shoulders and of the hips; the big toes continue
the sole from heel to ball by the foot's length."""

LAYOUTS: Mapping[str, Layout] = {layout.name: layout for layout in (_STICK_LINES, _COCO, _H36M, _BODY25)}
"""Layouts by name."""
