"""Compute the plausibility measures of one clip, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.capsules import DEEPEST
from posegen.evaluation.body import point
from posegen.evaluation.joint_angles import TOLERANCE, joint_angles, range_excess
from posegen.evaluation.overlap import body_overlap
from posegen.evaluation.plausibility import (
    STRICT,
    balance_margin,
    bone_length_error,
    contact_speeds,
    flight_errors,
    floor_depth,
    foot_skate,
)
from posegen.evaluation.recording import Recording
from posegen.evaluation.signals import log_dimensionless_jerk, low_pass, sparc

__all__ = ["LOWER_IS_WORSE", "MEASURES", "measure_clip"]

MEASURES = {
    "skate, GMD": "share of steps with a toe below 5 cm faster than .5 m/s",
    "skate, strict": "share of steps of toes below 5 cm faster than .2 m/s",
    "speed of low toes": "m/s, mean while below 5 cm",
    "skate of contacts": "share of labelled sole contacts faster than .2 m/s",
    "penetration": "mm, greatest depth of a sole or a joint below the floor",
    "bone length": "mm, greatest deviation of a bone from its mean length",
    "limits": f"share of frames with any angle more than {TOLERANCE:.0f} degrees outside its range for the action",
    "limits, farthest": "degrees outside the range, the farthest angle",
    "overlap": "share of frames with capsules overlapping by more than 2 cm",
    "overlap, deepest": "mm",
    "flight": "relative error of the acceleration in the air against 9.81 m/s^2, the worst flight of up to 1 s",
    "balance": "share of quiet standing with the extrapolated centre of mass over 5 cm outside the feet",
    "SPARC, wrists": "spectral arc length of their speed, 5 Hz low pass, mean of windows of 1.6 s",
    "log jerk, wrists": "log dimensionless jerk of their speed, 5 Hz low pass, mean of windows of 1.6 s",
    "jerk": "m/s^3, root mean square over joints, 5 Hz low pass",
}
"""Names of the measures and what they mean. For most of them 0 is best."""

LOWER_IS_WORSE = frozenset({"SPARC, wrists", "log jerk, wrists"})
OFF_BALANCE = 0.05
"""Metres outside the base of support."""
WINDOW = 1.6
"""Seconds over which smoothness is measured."""
LONGEST_FLIGHT = 1.0
"""Seconds. A body that is off the ground for longer hangs, swims or climbs."""


def measure_clip(recording: Recording) -> dict[str, float]:
    """Measure one clip.

    Returns
    -------
    dict of str to float
        By the names of :data:`MEASURES`; NaN for what does not occur in the clip (no flight, no standing, no labels).
    """
    joints, fps = recording.joints, recording.fps
    skate = foot_skate(joints, fps)
    angles = range_excess(joint_angles(joints), recording.ranges)
    excess = np.stack([np.nan_to_num(values) for values in angles.values()]).max(0)
    overlap = body_overlap(joints)
    flight = flight_errors(joints, fps, recording.contact, round(LONGEST_FLIGHT * fps))
    margin = balance_margin(joints, fps)
    contact = np.zeros(0) if recording.contact is None else contact_speeds(joints, recording.contact, fps)
    measured = {
        "skate, GMD": skate.gmd,
        "skate, strict": skate.strict,
        "speed of low toes": skate.speed,
        "skate of contacts": _mean(contact > STRICT),
        "penetration": 1000 * float(floor_depth(joints)),
        "bone length": 1000 * float(bone_length_error(joints)),
        "limits": _mean(excess > TOLERANCE),
        "limits, farthest": float(excess.max()),
        "overlap": _mean(overlap > DEEPEST),
        "overlap, deepest": 1000 * float(overlap.max()),
        "flight": float(flight.max()) if len(flight) else np.nan,
        "balance": _mean(margin > OFF_BALANCE),
    }
    return measured | _smoothness(recording)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _smoothness(recording: Recording) -> dict[str, float]:
    fps = recording.fps
    filtered = low_pass(recording.joints, fps)
    names = ("SPARC, wrists", "log jerk, wrists", "jerk")
    length = round(WINDOW * fps)
    if len(filtered) < 4:
        return dict.fromkeys(names, float("nan"))
    jerk = np.diff(filtered, 3, axis=0) * fps**3
    arcs, logs = [], []
    for wrist in ("left_wrist", "right_wrist"):
        speed = np.sqrt((np.diff(point(filtered, wrist), axis=0) ** 2).sum(-1)) * fps
        for start in range(0, len(speed) - length + 1, length):
            arcs.append(sparc(speed[start : start + length], fps))
            logs.append(log_dimensionless_jerk(speed[start : start + length], fps))
    means = [_mean(values[np.isfinite(values)]) for values in (np.array(arcs), np.array(logs))]
    return dict(zip(names, [*means, float(np.sqrt((jerk * jerk).sum(-1).mean()))], strict=True))
