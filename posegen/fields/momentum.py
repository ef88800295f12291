"""Centre of mass, and linear and angular momentum of each body, from the masses of its segments.

Shares of mass, places of centres and radii of gyration are Winter's (Biomechanics and Motor Control of Human Movement, table
4.1, after Dempster): fractions of body mass and of the segment's length from its proximal end. The trunk, of which the table
has no radius, counts as an even rod, and hands, which SMPL's 22 joints do not have, as points at the wrists. A body weighs 21.7
kg for each square metre of its stature, the middle of the range that the WHO calls normal.

Linear momentum is M v of the centre of mass c; angular momentum about it is the sum over segments of
m (r - c) x (v - v_c) + m k^2 (d x d'), with r the segment's centre, k its radius of gyration and d its direction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.fields.family import AXES, Description, Family, Sequences
from posegen.fields.rotation import population_of
from posegen.fields.vectors import Vector, cross, length, minus, plus, stacked, times, unit, vector
from posegen.fields.velocity import differences
from posegen.skeleton import JOINTS

__all__ = ["BODY_MASS_INDEX", "MOMENTUM", "SEGMENTS", "Segment"]

Array = NDArray[Any]

BODY_MASS_INDEX = 21.7
"""Kilograms a square metre."""


class Segment(NamedTuple):
    """Its ends, its share of the body's mass, its centre of mass and its radius of gyration as shares of its length."""

    near: str
    far: str
    mass: float
    centre: float
    gyration: float


_LIMBS = (
    Segment("shoulder", "elbow", 0.028, 0.436, 0.322),
    Segment("elbow", "wrist", 0.016, 0.430, 0.303),
    Segment("wrist", "wrist", 0.006, 0.0, 0.0),
    Segment("hip", "knee", 0.100, 0.433, 0.323),
    Segment("knee", "ankle", 0.0465, 0.433, 0.302),
    Segment("ankle", "foot", 0.0145, 0.5, 0.475),
)
SEGMENTS = (
    Segment("hips", "shoulders", 0.497, 0.5, 0.2887),
    Segment("neck", "head", 0.081, 1.0, 0.495),
    *(limb._replace(near=f"{side}_{limb.near}", far=f"{side}_{limb.far}") for side in ("left", "right") for limb in _LIMBS),
)
"""All segments of a body; their masses add up to 1."""


def _ends(joints: Array) -> dict[str, Vector]:
    places = {name: vector(joints[..., i, :]) for i, name in enumerate(JOINTS)}
    for name in ("hip", "shoulder"):
        places[f"{name}s"] = times(plus(places[f"left_{name}"], places[f"right_{name}"]), 0.5)
    return places


def _changes(values: Vector, fps: float) -> Vector:
    """Change a second of a vector of arrays [n, variant, actor, frame]."""
    x, y, z = (differences(part, fps, 3) for part in values)
    return x, y, z


def _compute(sequences: Sequences) -> dict[str, Array]:
    fps, ends = float(sequences.config.fps), _ends(sequences.joints)
    stature = population_of(sequences).stature.astype(np.float64) * sequences.parameter("scale")[..., None]
    mass = (BODY_MASS_INDEX * stature * stature).astype(np.float64)
    centres = [plus(ends[part.near], times(minus(ends[part.far], ends[part.near]), part.centre)) for part in SEGMENTS]
    whole = times(centres[0], SEGMENTS[0].mass)
    for part, centre in zip(SEGMENTS[1:], centres[1:], strict=True):
        whole = plus(whole, times(centre, part.mass))
    angular: Vector = times(whole, 0.0)
    for part, centre in zip(SEGMENTS, centres, strict=True):
        arm = minus(centre, whole)
        angular = plus(angular, times(cross(arm, _changes(arm, fps)), part.mass))
        if part.gyration:
            bone = minus(ends[part.far], ends[part.near])
            along, size = unit(bone), length(bone) * part.gyration
            angular = plus(angular, times(cross(along, _changes(along, fps)), part.mass * size * size))
    absent = ~sequences.present
    weight = np.where(absent.all(axis=-1), np.nan, mass)
    arrays = {
        "mass": weight,
        "mass_centre": stacked(whole),
        "linear_momentum": stacked(times(_changes(whole, fps), mass[..., None])),
        "angular_momentum": stacked(times(angular, mass[..., None])),
    }
    return {name: values.astype(np.float32) for name, values in arrays.items()}


MOMENTUM = Family(
    "momentum",
    1,
    "centre of mass, and linear and angular momentum of each body",
    (
        Description("mass", {}, attributes={"units": "kg"}, of=("actor",)),
        Description("mass_centre", {"axis": AXES}, attributes={"units": "m"}),
        Description("linear_momentum", {"axis": AXES}, attributes={"units": "kg m/s"}),
        Description("angular_momentum", {"axis": AXES}, attributes={"units": "kg m^2/s", "about": "the centre of mass"}),
    ),
    _compute,
    sources=("joints", "rows"),
)
