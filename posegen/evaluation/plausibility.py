"""Measure from joint positions whether motion is physically plausible: bones, floor, skating, overlap, flight, balance.

The measures do not depend on how the motion was made, so they apply to mocap as well. Absent frames (NaN) are ignored.
:func:`measure_clip` combines them for one clip. Overlap between people is measured in :mod:`posegen.checks`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from posegen.checks.capsules import DEEPEST, PAIRS
from posegen.checks.ranges import TOLERANCE
from posegen.evaluation.body import (
    angles_of_body,
    body_excess,
    centre_of_body,
    frames_last,
    soles_of_body,
    true_intervals,
)
from posegen.evaluation.kernels.balance import fill_hull_distances, fill_standing
from posegen.evaluation.kernels.bodies import WORK, fill_filtered, fill_jerk, fill_overlap
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.skeleton import CAPSULES, JOINTS, PARENTS

CUT_OFF = 5.0
"""Hertz at which half of the power is left."""
REACH = 4
"""Frames that the filter removes at each end."""
_SPARC_CUT_OFF = 10.0
_SPARC_PADDING = 4
_SPARC_THRESHOLD = 0.05


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
    series = np.asarray(values, np.float64)
    rows = np.ascontiguousarray(np.moveaxis(series, 0, -1))
    return np.moveaxis(_filtered(rows, fps), -1, 0)


def _filtered(rows: Array, fps: float) -> Array:
    """Return :func:`low_pass` of float64 [..., frame]: [..., frame - 2 REACH]."""
    filtered = np.empty((*rows.shape[:-1], max(rows.shape[-1] - 2 * REACH, 0)))
    count = math.prod(rows.shape[:-1])
    fill_filtered(rows.reshape(count, -1), _low_pass_weights(fps), filtered.reshape(count, filtered.shape[-1]))
    return filtered


@lru_cache(maxsize=8)
def _low_pass_weights(fps: float) -> Array:
    spread = np.sqrt(np.log(2)) / (2 * np.pi * CUT_OFF) * fps
    weights = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / spread) ** 2)
    return np.asarray(weights / weights.sum())


def sparc(speeds: Array, fps: float) -> Array:
    """Return the spectral arc lengths of speed profiles up to 10 Hz (Balasubramanian et al. 2015).

    Parameters
    ----------
    speeds : float64 [n, frame]
        In any unit.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [n]
        Negative; lower values are less smooth. NaN where nothing moves.
    """
    arcs, known = np.full(len(speeds), np.nan), _are_profiles(speeds, 2)
    if not known.any():
        return arcs
    length = 2 ** (int(np.ceil(np.log2(speeds.shape[1]))) + _SPARC_PADDING)
    spectra = np.abs(np.fft.rfft(speeds[known], length)[:, : int(_SPARC_CUT_OFF * length / fps) + 1])
    spectra /= spectra[:, :1]  # a speed is nowhere negative, so that no frequency is stronger than 0
    steps = np.arange(spectra.shape[1] - 1)
    last = len(steps) - (spectra >= _SPARC_THRESHOLD)[:, ::-1].argmax(1)[:, None]
    across = 1 / np.where(last > 0, last, np.nan)
    arcs[known] = -(np.sqrt(across * across + np.diff(spectra) ** 2) * (steps < last)).sum(1)
    return arcs


def log_dimensionless_jerk(speeds: Array, fps: float) -> Array:
    """Return the log dimensionless jerk ``-ln(T^3 / peak^2 * integral of (d2v/dt2)^2)`` of speed profiles.

    Parameters
    ----------
    speeds : float64 [n, frame]
        In any unit. The value depends on the duration, so compare profiles of the same length only.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [n]
        Lower values are less smooth. NaN where nothing moves or the speed changes linearly.
    """
    logs, known = np.full(len(speeds), np.nan), _are_profiles(speeds, 3)
    moving = speeds[known]
    jerk = np.diff(moving, 2) * fps**2
    totals = (jerk * jerk).sum(-1) / fps
    duration = (speeds.shape[1] - 1) / fps
    with np.errstate(divide="ignore"):
        found = -np.log(duration**3 / moving.max(-1, initial=0) ** 2 * totals)
    logs[known] = np.where(totals > 0, found, np.nan)
    return logs


def _are_profiles(profiles: Array, frames: int) -> Array:
    """Return which speed profiles, [n, frame], have enough frames, are finite, and are above 0 somewhere."""
    if profiles.shape[1] < frames:
        return np.zeros(len(profiles), bool)
    return np.asarray(np.isfinite(profiles).all(1) & (profiles > 0).any(1))


def power_spectrum(series: ArrayLike) -> Array:
    """Return the power of each feature at each frequency: float64 [frequency, feature] of [frame, feature]."""
    return np.asarray(np.abs(np.fft.rfft(np.asarray(series, np.float64), axis=0)) ** 2)


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
WRISTS = (JOINTS.index("left_wrist"), JOINTS.index("right_wrist"))
_PARENTS = list(PARENTS[1:])
_PAIR_ENDS = np.array([[JOINTS.index(joint) for part in pair for joint in CAPSULES[part][:2]] for pair in PAIRS])
_PAIR_RADII = np.array([CAPSULES[one][2] + CAPSULES[other][2] for one, other in PAIRS])


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
    return _foot_skate(frames_last(np.asarray(joints)), fps)


def _foot_skate(body: Array, fps: float) -> dict[str, float]:
    """Return :func:`foot_skate` of joints [22, 3, frame]."""
    toes = body[list(TOES)]
    speeds, low = _lengths(np.diff(toes[:, ::2])) * fps, toes[:, 1] < LOW
    low = low[:, 1:] & low[:, :-1]
    seen, standing = np.count_nonzero(np.isfinite(speeds).any(0)), speeds[low]
    return {
        "skate, GMD": np.count_nonzero((low & (speeds > FAST)).any(0)) / seen if seen else np.nan,
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
    limits = UPRIGHT * float(filtered[HEAD, 1].max()), LOW, SLOW
    points, ahead = np.empty((len(soles), 2, soles.shape[-1])), np.empty((2, soles.shape[-1]))
    distances = np.empty(fill_standing(centre, soles, 1 / fps, GRAVITY, limits, points, ahead))
    fill_hull_distances(points, ahead, _WAYS, distances)
    return distances


def body_overlap(joints: ArrayLike) -> Array:
    """Return the depth to which parts of one body penetrate each other.

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
    return _overlaps(frames_last(positions)).reshape(positions.shape[:-2])


def _overlaps(body: Array) -> Array:
    """Return :func:`body_overlap` of joints [22, 3, frame]."""
    deepest, statures = np.empty((2, body.shape[-1]))
    fill_overlap(body, _PAIR_ENDS, _PAIR_RADII, statures, np.empty(WORK), deepest)
    return np.asarray(deepest)


def measure_clip(recording: Recording) -> dict[str, float]:
    """Measure one clip.

    Returns
    -------
    dict of str to float
        By the names of :data:`MEASURES`; NaN for what does not occur in the clip (no flight, no standing, no labels).
    """
    joints, fps = recording.joints, recording.fps
    body = frames_last(joints)
    soles, filtered = soles_of_body(body), _filtered(body, fps)
    lengths = _lengths(body[1:] - body[_PARENTS])
    excess = body_excess(angles_of_body(body, soles, recording.skeleton), recording.ranges)
    overlap = _overlaps(body)
    touching = None if recording.contact is None else recording.contact == TOUCHING
    flight = flight_errors(body, soles, fps, touching, round(LONGEST_FLIGHT * fps))
    margin = balance_margin(filtered, fps)
    contact = np.zeros(0) if touching is None else contact_speeds(soles, touching, fps)
    measured = _foot_skate(body, fps) | {
        "skate of contacts": _share(contact > STRICT),
        "penetration": 1000 * max(depth_of(soles), depth_of(body)),
        "bone length": 1000 * float(np.abs(lengths - lengths.mean(-1, keepdims=True)).max()),
        "limits": _share(excess > TOLERANCE),
        "limits, farthest": float(excess.max()),
        "overlap": _share(overlap > DEEPEST),
        "overlap, deepest": 1000 * float(overlap.max()),
        "flight": float(flight.max()) if len(flight) else np.nan,
        "balance": _share(margin > OFF_BALANCE),
    }
    return measured | _smoothness(filtered, fps)


def _share(flags: Array) -> float:
    return int(np.count_nonzero(flags)) / len(flags) if len(flags) else float("nan")


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _smoothness(filtered: Array, fps: float) -> dict[str, float]:
    """Return the measures of smoothness of joints [22, 3, frame] after the low pass."""
    names = ("SPARC, wrists", "log jerk, wrists", "jerk")
    length = round(WINDOW * fps)
    if filtered.shape[-1] < 4:
        return dict.fromkeys(names, float("nan"))
    jerk = np.empty((len(filtered), filtered.shape[-1] - 3))
    fill_jerk(filtered, jerk)
    speeds = _lengths(np.diff(filtered[list(WRISTS)])) * fps
    windows = speeds[:, : speeds.shape[1] // length * length].reshape(-1, length)
    means = [_mean(values[np.isfinite(values)]) for values in (sparc(windows, fps), log_dimensionless_jerk(windows, fps))]
    return dict(zip(names, [*means, float(np.sqrt(jerk.mean()) * fps**3)], strict=True))
