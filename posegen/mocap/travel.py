"""The path of a clip that travels or turns: rates at which a body moves along it, and the steps from standing into it and out.

The rates are what an action file gives as `travel`. Their curve is that of the engine, so the ground that follows from them is
where the engine has the body, and everything else of the clip is described relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from posegen.evaluation.body import point
from posegen.foundations.arrays import Array
from posegen.mocap.pose_channels import facing

SMOOTH_SECONDS = 0.25
"""Standard deviation of the window that removes the sway of the pelvis from its path."""
RATE, TURN_RATE = 0.06, 8.0
"""Largest differences between the rates of the action and of the clip: leg lengths, and degrees, per second."""
FITS = 8
"""Times that rates are corrected by how far they lead from the course."""
COARSER = 1.3
"""Factor on these differences until few enough rates are left."""
CLEAR = 0.3
"""Share of the hips' width that is level where they show a heading."""
BRAKING = 2.2
"""Leg lengths per second that a body starts or stops in a second."""
SHORTEST = 0.6
"""Minimum seconds of a stage with a lift-off."""
_DIGITS = {"at": 4, "forward": 3, "aside": 3, "turn": 1}
"""Decimals of rates in an action file."""
ROUGHLY = 60
"""Points at which a stage is followed."""


def curve_through(at: Array, values: Array, where: Array) -> Array:
    """Return the curve of the engine through moving key poses, at rest in the first and the last one.

    The rule is that of :func:`posegen.motion.key_poses.knot_speeds` and :func:`~posegen.motion.key_poses.fill_track`.

    Parameters
    ----------
    at, values : float64 [key]
    where : float64 [sample]
        Ascending, between the first and the last key.

    Examples
    --------
    >>> curve_through(np.array([0.0, 1.0]), np.array([0.0, 2.0]), np.array([0.0, 0.5, 1.0]))
    array([0., 1., 2.])
    """
    span = np.diff(at)
    slope = np.diff(values) / np.maximum(span, 1e-3)
    speed = np.zeros(len(at))
    before, after = slope[:-1], slope[1:]
    same = before * after > 0
    speed[1:-1][same] = 2 * before[same] * after[same] / (before[same] + after[same])
    k = np.clip(np.searchsorted(at, where, side="right") - 1, 0, len(span) - 1)
    x = (where - at[k]) / span[k]
    rise, v0, v1 = values[k + 1] - values[k], speed[k] * span[k], speed[k + 1] * span[k]
    a3, a4, a5 = 10 * rise - 6 * v0 - 4 * v1, -15 * rise + 8 * v0 + 7 * v1, 6 * rise - 3 * v0 - 3 * v1
    return np.asarray(values[k] + x * (v0 + x * x * (a3 + x * (a4 + x * a5))))


def thinned(at: Array, values: Array, tolerance: float, forced: Array) -> Array:
    """Return the indices of the samples that suffice as key poses.

    Samples are added where the curve differs most, until it differs nowhere by more than `tolerance`.

    Parameters
    ----------
    at, values : float64 [sample]
    tolerance : float
    forced : int [k]
        Samples that are key poses in any case; the first and the last one are.
    """
    chosen = sorted({0, len(at) - 1, *(int(i) for i in forced)})
    while True:
        error = np.abs(curve_through(at[chosen], values[chosen], at) - values)
        error[chosen] = 0.0
        worst = int(error.argmax())
        if error[worst] <= tolerance:
            return np.array(chosen)
        # One sample in each gap that is too far off, so that few passes suffice.
        for first, last in list(pairwise(chosen)):
            if last - first > 1 and error[first:last].max() > tolerance:
                chosen.append(first + int(error[first:last].argmax()))
        chosen.sort()


@dataclass(frozen=True)
class Course:
    """Where a body is on its path.

    Attributes
    ----------
    place : complex128 [point]
        On the floor: z + i x in metres, so that a direction is the exponential of i times its heading.
    heading : float64 [point]
        Radians from +z to the left.
    leg : float
    """

    place: Array
    heading: Array
    leg: float

    def seen(self, where: Any, at: int) -> Any:
        """Return how far points on the floor are ahead of the body, + i times how far to its left, in leg lengths."""
        return (where - self.place[at]) * np.exp(-1j * self.heading[at]) / self.leg

    def placed(self, away: Any, at: int) -> Any:
        """Return the points on the floor that are so far ahead of the body and to the left of it."""
        return self.place[at] + away * self.leg * np.exp(1j * self.heading[at])


def smooth_course(joints: Array, fps: float, leg: float) -> Course:
    """Return the path of a clip without the sway of its steps; `joints` is float64 [frame, 22, 3]."""
    hips = point(joints, "left_hip") - point(joints, "right_hip")
    level = np.sqrt(hips[:, 0] ** 2 + hips[:, 2] ** 2) / np.sqrt((hips**2).sum(-1))
    turn, clear = facing(joints), level > CLEAR
    if not clear.all() and clear.any():
        turn = np.interp(np.arange(len(turn)), np.flatnonzero(clear), np.unwrap(turn[clear]))
    x, _, z = point(joints, "pelvis").T
    sigma = SMOOTH_SECONDS * fps
    return Course(low_pass(z + 1j * x, sigma), low_pass(turn, sigma), leg)


def low_pass(values: Array, sigma: float) -> Array:
    """Return values averaged over a window; both ends are continued by their rotated image, so that they keep their slope."""
    reach = min(int(3 * sigma) + 1, len(values) - 1)
    window = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    padded = np.pad(values, [(reach, reach)] + [(0, 0)] * (values.ndim - 1), mode="reflect", reflect_type="odd")
    return np.asarray(sum(w * padded[i : i + len(values)] for i, w in enumerate(window / window.sum())))


def rates_of(course: Course, fps: float) -> Array:
    """Return the rates along a course: leg lengths per second ahead and to the left, degrees per second: [frame, 3]."""
    away = np.gradient(course.place) * np.exp(-1j * course.heading) * fps / course.leg
    return np.stack([away.real, away.imag, np.degrees(np.gradient(course.heading)) * fps], axis=-1)


def rate_keys(rates: Array, most: int) -> Array:
    """Return at most `most` frames with rates that describe all others: int64 [key]."""
    at, coarser = np.arange(len(rates)) / (len(rates) - 1), 1.0
    while True:
        limits = (RATE * coarser, RATE * coarser, TURN_RATE * coarser)
        chosen = [thinned(at, rates[:, i], limit, np.zeros(0, np.int64)) for i, limit in enumerate(limits)]
        found = np.unique(np.concatenate(chosen))
        if len(found) <= most:
            return found
        coarser *= COARSER


def fit_rates(keys: Array, rates: Array, stages: tuple[float, float, float], start: Course, fps: float) -> Array:
    """Return rates at the same shares of a cycle that lead along the course of all rates.

    Between few keys small errors of rates add up: a body would end beside its course, and return to it in the last stage.

    Parameters
    ----------
    keys : float64 [key, 4]
        Share of the cycle, and rates.
    rates : float64 [frame, 3]
    stages, start, fps
        See :func:`follow`.
    """
    keys, at = keys.copy(), np.arange(len(rates)) / fps
    frames = np.rint(keys[:, 0] * (len(rates) - 1)).astype(np.int64)
    whole = _moved(_integrated(rates, at, start.leg), 0, start, 0)
    turns = keys[:, 3] != 0  # a body that comes or goes without turning does so still
    for _ in range(FITS):
        course = follow(keys, stages, start, fps)[1]
        lack = np.gradient((whole.place - course.place)[frames] / start.leg, at[frames])
        lack = lack * np.exp(-1j * course.heading[frames])
        turned = np.gradient((whole.heading - course.heading)[frames], at[frames])
        keys[:, 1:] += np.stack([lack.real, lack.imag, turns * np.degrees(turned)], axis=-1)
    return keys


def follow(keys: Array, stages: tuple[float, float, float], start: Course, fps: float) -> tuple[Course, Course, Course]:
    """Return the courses of the first stage, the cycle and the last stage of an action, as the engine follows its rates.

    Parameters
    ----------
    keys : float64 [key, 4]
        Share of the cycle, and rates.
    stages : tuple of float
        Seconds of the first stage, the cycle and the last one.
    start : Course
        Its first point is that of the cycle.
    fps : float
        Of the points of the cycle; the others have `ROUGHLY` points.
    """
    enter, cycle, leave = stages
    times = np.concatenate([[0.0], enter + keys[:, 0] * cycle, [enter + cycle + leave]])
    grids = (
        np.linspace(0, enter, ROUGHLY + 1),
        enter + np.linspace(0, cycle, round(cycle * fps) + 1),
        enter + cycle + np.linspace(0, leave, ROUGHLY + 1),
    )
    courses: list[Course] = []
    for grid in grids:
        rates = np.stack([curve_through(times, np.concatenate([[0.0], keys[:, i], [0.0]]), grid) for i in (1, 2, 3)], -1)
        courses.append(_integrated(rates, grid, start.leg))
    first, middle, last = courses
    middle = _moved(middle, 0, start, 0)
    return _moved(first, -1, middle, 0), middle, _moved(last, 0, middle, -1)


def _integrated(rates: Array, at: Array, leg: float) -> Course:
    heading = _sums(np.radians(rates[:, 2]), at)
    return Course(leg * _sums((rates[:, 0] + 1j * rates[:, 1]) * np.exp(1j * heading), at), heading, leg)


def _sums(values: Array, at: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(at))])


def _moved(course: Course, at: int, other: Course, there: int) -> Course:
    """Return a course that is turned and moved so that one of its points is that of another course."""
    turn = other.heading[there] - course.heading[at]
    place = other.place[there] + (course.place - course.place[at]) * np.exp(1j * turn)
    return Course(place, course.heading + turn, course.leg)


def stage_seconds(rate: float, behind: float) -> float:
    """Return the seconds of a stage from standing to a rate, or back, in leg lengths per second.

    `behind` is how far the foot that carries the body is from it towards the place of standing, in leg lengths: this foot
    need not step.
    """
    if rate < 0.25:
        return 0.0
    matched = 2 * behind / rate
    return matched if SHORTEST <= matched <= 1.3 else min(max(rate / BRAKING, 1.1), 1.8)


def as_entries(keys: Array, to_left: float) -> list[dict[str, Any]]:
    """Return rates as entries of an action file; `to_left` is -1 if the near side is the right one."""
    signed = keys * (1, 1, to_left, to_left)
    return [{name: round(float(v), _DIGITS[name]) + 0.0 for name, v in zip(_DIGITS, row, strict=True)} for row in signed]
