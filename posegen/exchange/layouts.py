"""Other skeleton layouts, computed from SMPL's 22 joints; ``layouts.yaml`` defines them.

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
>>> list(LAYOUTS["body25"].joints)[8], LAYOUTS["body25"].quality("left_heel")
('mid_hip', 'approximate')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import TypeAdapter

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, sole_points
from posegen.foundations.yaml_files import read_yaml


@dataclass(frozen=True)
class Layout:
    """A skeleton layout.

    Attributes
    ----------
    joints : mapping of str to mapping of str to float
        Names in the layout's order, with the weights of the 22 joints and sole points, which sum to 1; none if absent.
    edges : tuple of (int, int)
        Bones, as pairs of joints.
    approximate : frozenset of str
        Joints that are computed from neighbouring points.
    flat : bool
        Whether :func:`convert` returns x and y of all points as one row instead of [joints, 3].
    """

    joints: Mapping[str, Mapping[str, float]]
    edges: tuple[tuple[int, int], ...]
    approximate: frozenset[str] = frozenset()
    flat: bool = False

    def quality(self, joint: str) -> Literal["exact", "approximate", "absent"]:
        """Return the quality of a joint."""
        if not self.joints[joint]:
            return "absent"
        return "approximate" if joint in self.approximate else "exact"


LAYOUTS = TypeAdapter(dict[str, Layout]).validate_python(read_yaml(Path(__file__).with_name("layouts.yaml")))
"""Layouts by name."""


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
        raise ValueError(f"unknown layout '{layout}': choose one of {', '.join(LAYOUTS)}")
    array = np.asarray(joints)
    if array.ndim < 2 or array.shape[-2:] != (len(JOINTS), 3):
        raise ValueError(f"joints must have the shape [..., {len(JOINTS)}, 3], not {list(array.shape)}")
    array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    target = LAYOUTS[layout]
    points = {name: array[..., i, :] for i, name in enumerate(JOINTS)}
    if any(name not in points for weights in target.joints.values() for name in weights):
        soles = sole_points(array)
        points |= {name: soles[..., i, :] for i, name in enumerate(CONTACTS[:4])}
    out = np.full((*array.shape[:-2], len(target.joints), 3), np.nan, array.dtype)
    for i, weights in enumerate(target.joints.values()):
        terms = [points[name] * array.dtype.type(weight) for name, weight in weights.items()]
        if terms:
            out[..., i, :] = sum(terms[1:], start=terms[0])
    return out[..., :2].reshape(*array.shape[:-2], -1) if target.flat else out
