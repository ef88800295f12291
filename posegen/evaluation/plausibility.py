"""Measure from joint positions whether motion is physically plausible: bones, floor, skating, overlap, flight, balance.

The measures do not depend on how the motion was made, so they apply to mocap as well. Absent frames (NaN) are ignored.
:func:`measure_clip` combines them for one clip.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.checks.capsules import DEEPEST, PAIR_ENDS, PAIRS, people_overlap
from posegen.checks.ranges import TOLERANCE
from posegen.evaluation.body import centre_of_body, frames_last, joint_angles, range_excess, soles_of_body, true_intervals
from posegen.evaluation.recording import Recording
from posegen.fields.keypoints import stature
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.skeleton import CAPSULES, JOINTS, PARENTS
from posegen.foundations.yaml_files import read_yaml

CUT_OFF = 5.0
"""Hertz at which half of the power is left."""
REACH = 4
"""Frames that the filter removes at each end."""


def low_pass(values: ArrayLike, fps: float) -> Array:
    """Filter a series over time with a zero-phase Gaussian that halves the power at 5 Hz, truncated at 4 frames.

    Mocap contains noise that differentiation amplifies. Speed, acceleration and jerk of generated motion and of mocap are
    comparable only after the same filter.

    Parameters
    ----------
    values : float [frame, ...]
    fps : float
        Frames per second.

    Returns
    -------
    float64 [frame - 8, ...]
        The frames for which the filter needs no frame beyond an end; empty for shorter series.
    """
    rows = np.moveaxis(np.asarray(values, np.float64), 0, -1)
    spread = np.sqrt(np.log(2)) / (2 * np.pi * CUT_OFF) * fps
    weights = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / spread) ** 2)
    weights /= weights.sum()
    frames = max(rows.shape[-1] - 2 * REACH, 0)
    filtered = np.zeros((*rows.shape[:-1], frames))
    for first, weight in enumerate(weights.tolist()):
        filtered += weight * rows[..., first : first + frames]
    return np.moveaxis(filtered, -1, 0)


def power_spectrum(series: ArrayLike) -> Array:
    """Return the power of each feature at each frequency: float64 [frequency, feature] of [frame, feature]."""
    return np.asarray(np.abs(np.fft.rfft(np.asarray(series, np.float64), axis=0)) ** 2)


TABLES: Mapping[str, Any] = read_yaml(Path(__file__).with_name("measures.yaml"))
MEASURES: dict[str, str] = {name: measure["meaning"] for name, measure in TABLES["clips"].items()}
"""Names and meanings of the measures. Higher values are worse."""

OFF_BALANCE = 0.05
"""Metres outside the base of support."""
LONGEST_FLIGHT = 1.0
"""Seconds. A body that is off the ground for longer hangs, swims or climbs."""

TOUCHING = 1

TOES = (JOINTS.index("left_foot"), JOINTS.index("right_foot"))
LOW = 0.05
"""Height in metres below which a toe or a sole is expected to stand."""
FAST, STRICT = 0.5, 0.2
"""Horizontal speeds in m/s above which a low toe skates, by two published definitions."""

CLEARANCE = 0.03
"""Height in metres that every joint and sole point exceeds while a body is in flight."""
MIN_FLIGHT = 6
"""Least frames of a flight; a parabola through fewer frames is unreliable."""

DIRECTIONS = 72
_TURNS = np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS
_WAYS = np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=-1)
SLOW = 0.15
"""Speed in m/s of feet or centre of mass above which a body is stepping and need not balance."""
UPRIGHT = 0.45
"""Height of the centre of mass as a share of the greatest head height. A lower body may sit, kneel or lie."""
HEAD = JOINTS.index("head")
_PARENTS = list(PARENTS[1:])
_PAIR_RADII = np.array([CAPSULES[one][2] + CAPSULES[other][2] for one, other in PAIRS])
_TINY = 1e-12


def depth_of(points: Array) -> float:
    """Return the depth of the lowest of points [point, 3, frame] below the floor, in metres; NaN are ignored."""
    return float(np.maximum(-np.fmin.reduce(points[:, 1], axis=None), 0.0))


def _lengths(vectors: Array) -> Array:
    """Return the lengths of vectors: [..., frame] of [..., axis, frame]."""
    return np.asarray(np.sqrt((vectors * vectors).sum(-2)))


def contact_speeds(soles: Array, touching: Array, fps: float) -> Array:
    """Return the speeds of sole points while they are in contact.

    Parameters
    ----------
    soles : float64 [point, 3, frame]
        Metres.
    touching : bool [frame, at least point]
        Which points are in contact; the first ones are those of the soles.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [n]
        Metres per second from each frame to the next, for every sole point that is in contact in both.
    """
    held = touching[:, : len(soles)].T
    return np.asarray(_lengths(np.diff(soles))[held[:, 1:] & held[:, :-1]] * fps)


def foot_skate(joints: ArrayLike, fps: float) -> dict[str, float]:
    """Measure foot skating without contact labels.

    Parameters
    ----------
    joints : float [frame, joint, axis]
        Metres, floor at height 0; NaN where absent.
    fps : float
        Frames per second.

    Returns
    -------
    dict of str to float
        NaN where no toe is ever low. ``skate, GMD`` is the share of all steps between frames in which a toe is below 5 cm
        before and after and moves horizontally at over .5 m/s (Karunratanakul et al. 2023), ``skate, strict`` the share of the
        steps of low toes in which the toe moves at over .2 m/s (the definition of Kimodo), ``speed of low toes`` the mean
        horizontal speed of low toes, m/s.
    """
    toes = frames_last(np.asarray(joints))[list(TOES)]
    speeds, low = _lengths(np.diff(toes[:, ::2])) * fps, toes[:, 1] < LOW
    low = low[:, 1:] & low[:, :-1]
    seen, standing = np.isfinite(speeds).any(0), speeds[low]
    return {
        "skate, GMD": _share(np.asarray((low & (speeds > FAST)).any(0))[seen]),
        "skate, strict": _share(standing > STRICT),
        "speed of low toes": _mean(standing),
    }


def flights(body: Array, soles: Array, touching: Array | None = None, longest: int | None = None) -> list[slice]:
    """Return the intervals in which a body touches nothing, by heights and, where given, by contact labels.

    Parameters
    ----------
    body, soles : float64 [22, 3, frame], [4, 3, frame]
        Metres, floor at height 0.
    touching : bool [frame, point], optional
        Which points are in contact.
    longest : int, optional
        Most frames of a flight. A longer interval means that something unseen, such as a rope or water, supports the body.
        With a limit, intervals that the start or the end of the clip cuts are omitted too: their length is unknown.
    """
    in_air = np.minimum(body[:, 1].min(0), soles[:, 1].min(0)) > CLEARANCE
    if touching is not None:
        in_air &= ~touching.any(1)
    found = [flight for flight in true_intervals(in_air) if flight.stop - flight.start >= MIN_FLIGHT]
    if longest is None:
        return found
    end = len(in_air)
    return [flight for flight in found if flight.stop - flight.start <= longest and flight.start > 0 and flight.stop < end]


def flight_errors(body: Array, soles: Array, fps: float, touching: Array | None = None, longest: int | None = None) -> Array:
    """Return the relative error of the vertical acceleration in each flight.

    Parameters
    ----------
    body, soles, touching, longest : see :func:`flights`
    fps : float
        Frames per second.

    Returns
    -------
    float64 [flight]
        ``|a + 9.81| / 9.81``, where `a` is that of the parabola fitted to the height of the centre of mass.
    """
    errors, intervals = [], flights(body, soles, touching, longest)
    height = centre_of_body(body)[1] if intervals else np.zeros(0)
    for flight in intervals:
        times = np.arange(flight.stop - flight.start) / fps
        errors.append(abs(2 * np.polyfit(times, height[flight], 2)[0] + GRAVITY) / GRAVITY)
    return np.array(errors)


def balance_margin(filtered: Array, fps: float) -> Array:
    """Return how far the extrapolated centre of mass is outside the base of support in quiet standing (Hof et al. 2005).

    Parameters
    ----------
    filtered : float64 [22, 3, frame]
        Joints after :func:`low_pass`, metres, floor at height 0.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [n]
        Metres, for each frame of quiet standing on both feet: distance of ``x + v / sqrt(g / l)``, with `l` the height of
        the centre of mass, from the hull of heels and toes; negative inside. The hull ignores the width of the feet, so values
        up to some 4 cm sideways are within a real foot. It is sampled in 72 directions: values are up to .1 % too small.
    """
    if filtered.shape[-1] <= REACH:
        return np.zeros(0)
    centre, soles = centre_of_body(filtered), soles_of_body(filtered)
    velocity = np.gradient(centre, 1 / fps, axis=-1)
    speeds = [_lengths(velocity), *_lengths(np.gradient(soles, 1 / fps, axis=-1))]
    standing = (centre[1] > UPRIGHT * filtered[HEAD, 1].max()) & (soles[:, 1].max(0) < LOW)
    quiet = standing & (np.max(speeds, axis=0) < SLOW)
    flat = centre[::2] + velocity[::2] * np.sqrt(np.maximum(centre[1], 0.1) / GRAVITY)
    reach = (_WAYS @ soles[:, ::2, quiet]).max(0)
    return np.asarray((_WAYS @ flat[:, quiet] - reach).max(0))


def body_overlap(joints: ArrayLike) -> Array:
    """Return the depth of the overlap of parts of one body.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [...]
        Depth of the deepest of 12 pairs of capsules in metres; 0 where none overlap, NaN where the body is absent.
    """
    positions = np.asarray(joints)
    gaps = _rod_gaps(*frames_last(positions)[PAIR_ENDS.T])
    depths = _PAIR_RADII[:, None] * stature(positions).reshape(-1) - gaps
    return np.asarray(np.maximum(depths.max(0), 0.0).reshape(positions.shape[:-2]))


def _rod_gaps(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distances of the line segments from a to b and from c to d (Ericson, Real-Time Collision Detection, 5.1.9).

    float64 [pair, frame] of [pair, 3, frame]. Where the nearest point of the second line lies beyond its end, the nearest point
    of the first line to that end is taken. A segment may be a point.
    """
    rod, other, apart = b - a, d - c, a - c
    size, size_other, both = ((one * two).sum(1) for one, two in ((rod, rod), (other, other), (rod, other)))
    along, along_other = (rod * apart).sum(1), (other * apart).sum(1)
    crossing = size * size_other - both * both
    s = np.where(crossing > _TINY, (both * along_other - along * size_other) / np.maximum(crossing, _TINY), 0.0).clip(0, 1)
    t = ((both * s + along_other) / np.maximum(size_other, _TINY)).clip(0, 1)
    s = ((both * t - along) / np.maximum(size, _TINY)).clip(0, 1)
    return _lengths(apart + s[:, None] * rod - t[:, None] * other)


def measure_clip(recording: Recording) -> dict[str, float]:
    """Measure one clip.

    Returns
    -------
    dict of str to float
        By the names of :data:`MEASURES`; NaN where the clip lacks the event or the labels (no flight, no standing, no labels).
    """
    joints, fps = recording.joints, recording.fps
    body = frames_last(joints)
    soles, filtered = soles_of_body(body), frames_last(low_pass(joints, fps))
    lengths = _lengths(body[1:] - body[_PARENTS])
    angles = joint_angles(joints, recording.skeleton)
    excess = np.fmax.reduce([*range_excess(angles, recording.ranges).values()])  # of the angles that are known
    overlap = body_overlap(joints)
    touching = None if recording.contact is None else recording.contact == TOUCHING
    flight = flight_errors(body, soles, fps, touching, round(LONGEST_FLIGHT * fps))
    margin, jerk = balance_margin(filtered, fps), np.diff(filtered, 3)
    contact = np.zeros(0) if touching is None else contact_speeds(soles, touching, fps)
    return foot_skate(joints, fps) | {
        "skate of contacts": _share(contact > STRICT),
        "penetration": 1000 * max(depth_of(soles), depth_of(body)),
        "bone length": 1000 * float(np.abs(lengths - lengths.mean(-1, keepdims=True)).max()),
        "limits": _share(excess > TOLERANCE),
        "limits, farthest": float(excess.max()),
        "overlap": _share(overlap > DEEPEST),
        "overlap, deepest": 1000 * float(overlap.max()),
        "people": 1000 * max((float(people_overlap(joints, other).max()) for other in recording.others), default=np.nan),
        "flight": float(flight.max()) if len(flight) else np.nan,
        "balance": _share(margin > OFF_BALANCE),
        "jerk": float(np.sqrt(_mean((jerk * jerk).sum(1).ravel()))) * fps**3,
    }


def _share(flags: Array) -> float:
    return int(np.count_nonzero(flags)) / len(flags) if len(flags) else float("nan")


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")
