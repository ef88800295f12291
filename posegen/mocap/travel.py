"""The path of a clip that travels or turns: rates at which a body moves along it, and the steps from standing into it and out.

The rates are what an action file gives as `travel`. Their curve is that of the engine, so the ground that follows from them is
where the engine has the body, and everything else of the clip is described relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posegen.evaluation.body import point
from posegen.foundations.arrays import Array
from posegen.mocap.key_poses import curve_through, thinned
from posegen.mocap.pose_channels import facing

SMOOTH_SECONDS = 0.25
"""Standard deviation of the window that removes the sway of the pelvis from its path."""
RATE, TURN_RATE = 0.06, 8.0
"""Largest differences between the rates of the action and of the clip: leg lengths, and degrees, per second."""
FITS = 4
"""Times that rates are corrected by how far they lead from the course."""
COARSER = 1.3
"""Factor on these differences until few enough rates are left."""
CLEAR = 0.3
"""Share of the hips' width that is level where they show a heading."""
BRAKING = 2.2
"""Leg lengths per second that a body starts or stops in a second."""
SHORTEST = 0.6
"""Seconds of a stage in which a foot lifts off."""
ROUGHLY = 60
"""Points at which a stage is followed."""


@dataclass(frozen=True)
class Course:
    """Where a body is on its path: place float64 [point, 2] (x, z in metres) and heading float64 [point] (radians)."""

    place: Array
    heading: Array
    leg: float

    def seen(self, where: Array, at: int) -> Array:
        """Return the place of a point on the floor ahead of the body and to the left of it, in leg lengths."""
        s, c = np.sin(self.heading[at]), np.cos(self.heading[at])
        x, z = (where - self.place[at]) / self.leg
        return np.array([x * s + z * c, x * c - z * s])

    def placed(self, away: Array, at: int) -> Array:
        """Return the point on the floor that is so far ahead of the body and to the left of it."""
        s, c = np.sin(self.heading[at]), np.cos(self.heading[at])
        ahead, left = away * self.leg
        return np.asarray(self.place[at] + (ahead * s + left * c, ahead * c - left * s))


def smooth_course(joints: Array, fps: float, leg: float) -> Course:
    """Return the path of a clip without the sway of its steps; `joints` is float64 [frame, 22, 3]."""
    hips = point(joints, "left_hip") - point(joints, "right_hip")
    level = np.sqrt(hips[:, 0] ** 2 + hips[:, 2] ** 2) / np.sqrt((hips**2).sum(-1))
    turn, clear = facing(joints), level > CLEAR
    if not clear.all() and clear.any():
        turn = np.interp(np.arange(len(turn)), np.flatnonzero(clear), np.unwrap(turn[clear]))
    place = point(joints, "pelvis")[:, [0, 2]]
    sigma = SMOOTH_SECONDS * fps
    return Course(_low_pass(place, sigma), _low_pass(turn, sigma), leg)


def _low_pass(values: Array, sigma: float) -> Array:
    """Return values averaged over a window; both ends are continued by their rotated image, so that they keep their slope."""
    reach = min(int(3 * sigma) + 1, len(values) - 1)
    window = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    before, after = 2 * values[0] - values[reach:0:-1], 2 * values[-1] - values[-2 : -reach - 2 : -1]
    padded = np.concatenate([before, values, after])
    return np.asarray(sum(w * padded[i : i + len(values)] for i, w in enumerate(window / window.sum())))


def rates_of(course: Course, fps: float) -> Array:
    """Return the rates along a course: leg lengths per second ahead and to the left, degrees per second: [frame, 3]."""
    away = np.gradient(course.place, axis=0) * fps / course.leg
    s, c = np.sin(course.heading), np.cos(course.heading)
    ahead, left = away[:, 0] * s + away[:, 1] * c, away[:, 0] * c - away[:, 1] * s
    return np.stack([ahead, left, np.degrees(np.gradient(course.heading)) * fps], axis=-1)


def rate_keys(rates: Array, most: int) -> Array:
    """Return the frames whose rates suffice, at most so many: int64 [key]."""
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
        lack = whole.heading - follow(keys, stages, start, fps)[1].heading
        keys[:, 3] += turns * np.degrees(np.gradient(lack[frames], at[frames]))
    for _ in range(FITS):
        course = follow(keys, stages, start, fps)[1]
        x, z = np.gradient((whole.place - course.place)[frames] / start.leg, at[frames], axis=0).T
        s, c = np.sin(course.heading[frames]), np.cos(course.heading[frames])
        keys[:, 1:3] += np.stack([x * s + z * c, x * c - z * s], axis=-1)
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
    s, c = np.sin(heading), np.cos(heading)
    x, z = rates[:, 0] * s + rates[:, 1] * c, rates[:, 0] * c - rates[:, 1] * s
    return Course(leg * np.stack([_sums(x, at), _sums(z, at)], -1), heading, leg)


def _sums(values: Array, at: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(at))])


def _moved(course: Course, at: int, other: Course, there: int) -> Course:
    """Return a course that is turned and moved so that one of its points is that of another course."""
    turn = other.heading[there] - course.heading[at]
    s, c = np.sin(turn), np.cos(turn)
    x, z = (course.place - course.place[at]).T
    place = other.place[there] + np.stack([x * c + z * s, z * c - x * s], -1)
    return Course(place, course.heading + turn, course.leg)


def stage_seconds(rate: float, behind: float) -> float:
    """Return the seconds of a stage from standing to a rate, or back, in leg lengths per second.

    `behind` is how far a foot that carries the body is from it, in leg lengths, on the side from which the body comes: it
    then need not step.
    """
    if rate < 0.25:
        return 0.0
    matched = 2 * behind / rate
    return matched if SHORTEST <= matched <= 1.3 else min(max(rate / BRAKING, 1.1), 1.8)


def as_entries(keys: Array, to_left: float) -> list[dict[str, Any]]:
    """Return rates as entries of an action file; `to_left` is -1 if the near side is the right one."""
    return [
        {
            "at": round(float(at), 4),
            "forward": _short(ahead),
            "aside": _short(to_left * left),
            "turn": _short(to_left * turn, 1),
        }
        for at, ahead, left, turn in keys
    ]


def _short(value: float, digits: int = 3) -> float:
    return round(float(value), digits) + 0.0
