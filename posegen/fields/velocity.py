"""The field `velocity`: velocity and acceleration of every joint, by central differences of the stored positions.

With f frames a second, v[t] = (p[t+1] - p[t-1]) f / 2 and a[t] = (p[t+1] - 2 p[t] + p[t-1]) f f. At the ends of a sequence the
velocity is the one-sided difference and the acceleration that of the neighbouring frame. The grid of the positions, 2^-13 m,
causes steps of .08 m/s^2 in accelerations at 25 frames a second.
"""

from __future__ import annotations

import numpy as np

from posegen.fields.field import AXES, DerivedField, FieldArray, Sequences
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS


def differences(values: Array, fps: float, axis: int) -> Array:
    """Return the change per second along an axis of frames.

    Parameters
    ----------
    values : float64 [..., frame, ...]
        NaN where absent. Present frames have no gap.
    fps : float
        Frames a second.
    axis : int
        Axis of the frames, not negative.

    Returns
    -------
    float64, the same shape
        NaN where absent, and in a sequence of one frame.
    """
    before, after = _shifted(values, 1, axis), _shifted(values, -1, axis)
    central = (after - before) * (fps / 2)
    one_sided = np.where(np.isnan(before), (after - values) * fps, (values - before) * fps)
    return np.where(np.isnan(values), np.nan, np.where(np.isnan(central), one_sided, central))


def second_differences(values: Array, fps: float, axis: int) -> Array:
    """Return the second derivative along an axis of frames; see :func:`differences`."""
    before, after = _shifted(values, 1, axis), _shifted(values, -1, axis)
    central = ((after - values) - (values - before)) * (fps * fps)
    neighbour = np.where(np.isnan(before), _shifted(central, -1, axis), _shifted(central, 1, axis))
    return np.where(np.isnan(values), np.nan, np.where(np.isnan(central), neighbour, central))


def _shifted(values: Array, by: int, axis: int) -> Array:
    """Shift values along an axis, filling with NaN."""
    moved = np.roll(values, by, axis)
    moved[(*(slice(None),) * axis, slice(0, by) if by > 0 else slice(by, None))] = np.nan
    return moved


def _compute(sequences: Sequences) -> dict[str, Array]:
    joints, fps = sequences.joints.astype(np.float64), float(sequences.config.fps)
    return {"velocity": differences(joints, fps, 3), "acceleration": second_differences(joints, fps, 3)}


_AXES = {"joint": JOINTS, "axis": AXES}

FIELD = DerivedField(
    "velocity",
    1,
    "velocity and acceleration of every joint",
    (
        FieldArray("velocity", _AXES, attributes={"units": "m/s"}),
        FieldArray("acceleration", _AXES, attributes={"units": "m/s^2"}),
    ),
    _compute,
)
