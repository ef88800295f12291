"""Measure from joint positions whether motion is physically plausible: bones, floor, skating, overlap, flight, balance.

The measures do not depend on how the motion was made, so they apply to mocap as well. Absent frames (NaN) are ignored.
:func:`measure_clip` combines them for one clip. Overlap between people is measured in :mod:`posegen.checks`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.checks.capsules import DEEPEST, PAIRS
from posegen.checks.ranges import TOLERANCE
from posegen.constants import GRAVITY
from posegen.evaluation.body import (
    angles_of_body,
    body_excess,
    centre_of_body,
    frames_last,
    longest_present,
    soles_of_body,
    true_intervals,
)
from posegen.evaluation.kernels.bodies import WORK, fill_filtered, fill_hull_distances, fill_jerk, fill_lengths, fill_overlap
from posegen.evaluation.kernels.feet import (
    fill_contact_speeds,
    fill_in_air,
    fill_profiles,
    fill_speeds,
    fill_standing,
    fill_toe_steps,
    lowest,
)
from posegen.evaluation.kernels.spectra import fill_arc_lengths
from posegen.evaluation.recording import Recording
from posegen.skeleton import CAPSULES, JOINTS, PARENTS, sole_points

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


def sparc(speed: ArrayLike, fps: float) -> float:
    """Return the spectral arc length of a speed profile up to 10 Hz (Balasubramanian et al. 2015).

    Parameters
    ----------
    speed : float [frame]
        In any unit.
    fps : float
        Frames per second.

    Returns
    -------
    float
        Negative; lower values are less smooth. NaN where nothing moves.
    """
    return float(_arc_lengths(np.asarray(speed, np.float64)[None], fps)[0])


def _arc_lengths(profiles: Array, fps: float) -> Array:
    """Return :func:`sparc` of each profile: float64 [n] of [n, frame]."""
    arcs, known = np.full(len(profiles), np.nan), _are_profiles(profiles, 2)
    if not known.any():
        return arcs
    length = 2 ** (int(np.ceil(np.log2(profiles.shape[1]))) + _SPARC_PADDING)
    spectra = np.abs(np.fft.rfft(profiles[known], length))
    frequencies = np.fft.rfftfreq(length, 1 / fps)
    frequencies = frequencies[frequencies <= _SPARC_CUT_OFF]
    found = np.empty(len(spectra))
    fill_arc_lengths(spectra, frequencies, _SPARC_THRESHOLD, found)
    arcs[known] = found
    return arcs


def log_dimensionless_jerk(speed: ArrayLike, fps: float) -> float:
    """Return the log dimensionless jerk ``-ln(T^3 / peak^2 * integral of (d2v/dt2)^2)`` of a speed profile.

    Parameters
    ----------
    speed : float [frame]
        In any unit. The value depends on the duration, so compare profiles of the same length only.
    fps : float
        Frames per second.

    Returns
    -------
    float
        Lower values are less smooth. NaN where nothing moves or the speed changes linearly.
    """
    return float(_log_jerks(np.asarray(speed, np.float64)[None], fps)[0])


def _log_jerks(profiles: Array, fps: float) -> Array:
    """Return :func:`log_dimensionless_jerk` of each profile: float64 [n] of [n, frame]."""
    logs, known = np.full(len(profiles), np.nan), _are_profiles(profiles, 3)
    moving = profiles[known]
    steps = moving[:, 1:] - moving[:, :-1]
    jerk = (steps[:, 1:] - steps[:, :-1]) * fps**2
    totals = (jerk * jerk).sum(-1) / fps
    duration = (profiles.shape[1] - 1) / fps
    with np.errstate(divide="ignore"):
        found = -np.log(duration**3 / moving.max(-1, initial=0) ** 2 * totals)
    logs[known] = np.where(totals > 0, found, np.nan)
    return logs


def _are_profiles(profiles: Array, frames: int) -> Array:
    """Return which speed profiles, [n, frame], have enough frames, are finite, and are above 0 somewhere."""
    if profiles.shape[1] < frames:
        return np.zeros(len(profiles), bool)
    known = np.empty(len(profiles), bool)
    fill_profiles(profiles, known)
    return known


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
SOLE_CONTACTS = 4
"""Number of contact labels, from the first, that belong to the soles."""

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
_CHILDREN = np.array([joint for joint, parent in enumerate(PARENTS) if parent >= 0])
_PARENTS = np.array(PARENTS)[_CHILDREN]
_PAIR_ENDS = np.array([[JOINTS.index(joint) for part in pair for joint in CAPSULES[part][:2]] for pair in PAIRS])
_PAIR_RADII = np.array([CAPSULES[one][2] + CAPSULES[other][2] for one, other in PAIRS])


def bone_length_error(joints: ArrayLike) -> Array:
    """Return the largest deviation of any bone from its mean length.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres.

    Returns
    -------
    float64 [...]
        Metres; NaN where nobody is present.
    """
    positions = _positions(joints)
    bones = positions[..., _CHILDREN, :] - positions[..., _PARENTS, :]
    return _length_error(np.moveaxis(np.sqrt((bones * bones).sum(-1)), -2, -1))


def _length_error(lengths: Array) -> Array:
    """Return the largest deviation of a bone from its mean length, [...] of [..., bone, frame]; NaN are ignored."""
    totals = lengths.sum(-1, keepdims=True)
    if np.isfinite(totals).all():
        return np.asarray(np.abs(lengths - totals / lengths.shape[-1]).max((-2, -1)))
    known = np.isfinite(lengths)
    count = known.sum(-1, keepdims=True)
    means = np.where(known, lengths, 0.0).sum(-1, keepdims=True) / np.where(count > 0, count, np.nan)
    return np.asarray(np.fmax.reduce(np.fmax.reduce(np.abs(lengths - means), -1), -1))


def sole_depth(joints: ArrayLike) -> Array:
    """Return the depth to which soles penetrate the floor.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres; the floor is at height 0.

    Returns
    -------
    float64 [...]
        Depth of the lowest heel or toe point in any frame, in metres; 0 without penetration, NaN where nobody is present.
    """
    positions = _positions(joints)
    return _depths(sole_points(positions), positions.shape[:-3])


def floor_depth(joints: ArrayLike) -> Array:
    """Return the depth to which any joint or sole point penetrates the floor; shapes as for :func:`sole_depth`."""
    positions = _positions(joints)
    return np.asarray(np.maximum(sole_depth(joints), _depths(positions, positions.shape[:-3])))


def _depths(points: Array, shape: tuple[int, ...]) -> Array:
    """Return the depth of the lowest of points [..., frame, point, 3] in an array of a shape."""
    bodies = points.reshape(-1, *points.shape[-3:])
    return np.array([_depth(frames_last(body)) for body in bodies]).reshape(shape)


def _depth(points: Array) -> Any:
    """Return the depth of the lowest of points [point, 3, frame]; NaN are ignored."""
    return np.maximum(-lowest(points), 0.0)


def contact_speeds(joints: ArrayLike, contact: ArrayLike, fps: float) -> Array:
    """Return the speeds of sole points while they are labelled as in contact.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres.
    contact : uint8 [..., frame, point]
        Labels, 1 where a point is in contact; the first four points belong to the soles.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [n]
        Metres per second from each frame to the next, for every sole point that is in contact in both.
    """
    soles, touching = sole_points(_positions(joints)), _touching(contact)
    bodies = zip(soles.reshape(-1, *soles.shape[-3:]), touching.reshape(-1, *touching.shape[-2:]), strict=True)
    return np.concatenate([np.zeros(0), *(_contact_speeds(frames_last(own), labels, fps) for own, labels in bodies)])


def _touching(contact: ArrayLike) -> Array:
    """Return which points touch the floor: bool [..., frame, point]."""
    return np.ascontiguousarray(np.asarray(contact) == TOUCHING)


def _contact_speeds(soles: Array, touching: Array, fps: float) -> Array:
    """Return :func:`contact_speeds` of soles [4, 3, frame] by what touches the floor."""
    speeds = np.empty(SOLE_CONTACTS * max(soles.shape[-1] - 1, 0))
    return speeds[: fill_contact_speeds(soles, touching, fps, speeds)]


def _positions(joints: ArrayLike) -> Array:
    positions = np.asarray(joints, np.float64)
    if positions.ndim < 3 or positions.shape[-2:] != (len(PARENTS), 3):
        raise ValueError(f"joints must be [..., frame, {len(PARENTS)}, 3], got shape {positions.shape}")
    return positions


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
    speeds, counts = np.empty(len(TOES) * max(body.shape[-1] - 1, 0)), np.empty(2, np.int64)
    standing = speeds[: fill_toe_steps(body[TOES[0]], body[TOES[1]], fps, LOW, FAST, speeds, counts)]
    seen, skating = counts.tolist()
    return {
        "skate, GMD": skating / seen if seen else np.nan,
        "skate, strict": _share(standing > STRICT),
        "speed of low toes": _mean(standing),
    }


def flights(joints: ArrayLike, contact: ArrayLike | None = None, longest: int | None = None) -> list[slice]:
    """Return the intervals in which a body touches nothing, by heights and, where given, by contact labels.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, floor at height 0.
    contact : int [frame, point], optional
        1 where a point is in contact.
    longest : int, optional
        Most frames of a flight. A longer interval means that something unseen, such as a rope or water, supports the body.
        With a limit, intervals that the start or the end of the clip cuts are omitted too: their length is unknown.
    """
    body = frames_last(np.asarray(joints))
    return _flights(body, soles_of_body(body), None if contact is None else _touching(contact), longest)


def _flights(body: Array, soles: Array, touching: Array | None, longest: int | None) -> list[slice]:
    """Return :func:`flights` of joints [22, 3, frame] and soles [4, 3, frame] by what touches the floor."""
    in_air = np.empty(body.shape[-1], bool)
    if not fill_in_air(body, soles, np.empty((len(in_air), 0), bool) if touching is None else touching, CLEARANCE, in_air):
        return []
    found = [flight for flight in true_intervals(in_air) if flight.stop - flight.start >= MIN_FLIGHT]
    if longest is None:
        return found
    end = len(in_air)
    return [flight for flight in found if flight.stop - flight.start <= longest and flight.start > 0 and flight.stop < end]


def flight_errors(joints: ArrayLike, fps: float, contact: ArrayLike | None = None, longest: int | None = None) -> Array:
    """Return the relative error of the vertical acceleration in each flight.

    Parameters
    ----------
    joints, contact, longest : see :func:`flights`
    fps : float
        Frames per second.

    Returns
    -------
    float64 [flight]
        ``|a + 9.81| / 9.81``, where `a` is that of the parabola fitted to the height of the centre of mass.
    """
    body = frames_last(np.asarray(joints))
    return _flight_errors(body, soles_of_body(body), fps, None if contact is None else _touching(contact), longest)


def _flight_errors(body: Array, soles: Array, fps: float, touching: Array | None, longest: int | None) -> Array:
    """Return :func:`flight_errors` of joints [22, 3, frame] and soles [4, 3, frame] by what touches the floor."""
    errors, intervals = [], _flights(body, soles, touching, longest)
    height = centre_of_body(body)[1] if intervals else np.zeros(0)
    for flight in intervals:
        times = np.arange(flight.stop - flight.start) / fps
        errors.append(abs(2 * np.polyfit(times, height[flight], 2)[0] + GRAVITY) / GRAVITY)
    return np.array(errors)


def hull_distance(points: ArrayLike, position: ArrayLike) -> Array:
    """Return the distance of a position from the convex hull of points in a plane.

    Parameters
    ----------
    points : float [..., n, 2]
    position : float [..., 2]

    Returns
    -------
    float64 [...]
        Positive outside, negative inside. The hull is sampled in 72 directions, so the value is up to .1 % too small.
    """
    positions = np.asarray(position, np.float64)
    corners = np.broadcast_to(points, (*positions.shape[:-1], *np.shape(points)[-2:])).astype(np.float64)
    flat = np.ascontiguousarray(np.moveaxis(corners.reshape(-1, *corners.shape[-2:]), 0, -1))
    return _hull_distances(flat, np.ascontiguousarray(positions.reshape(-1, 2).T)).reshape(positions.shape[:-1])


def _hull_distances(points: Array, positions: Array) -> Array:
    """Return :func:`hull_distance` of float64 [point, 2, n] and [2, n]."""
    distances = np.empty(positions.shape[1])
    fill_hull_distances(points, positions, _WAYS, distances)
    return distances


def balance_margin(joints: ArrayLike, fps: float) -> Array:
    """Return how far the extrapolated centre of mass is outside the base of support in quiet standing (Hof et al. 2005).

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, floor at height 0.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [n]
        Metres, for each frame of quiet standing on both feet: distance of ``x + v / sqrt(g / l)``, with `l` the height of
        the centre of mass, from the hull of heels and toes. The hull ignores the width of the feet, so values up to some
        4 cm sideways are within a real foot.
    """
    positions = np.asarray(joints, np.float64)
    return _balance_margin(_filtered(frames_last(positions[longest_present(positions)]), fps), fps)


def _balance_margin(filtered: Array, fps: float) -> Array:
    """Return :func:`balance_margin` of joints [22, 3, frame] after the low pass."""
    if filtered.shape[-1] <= REACH:
        return np.zeros(0)
    centre, soles = centre_of_body(filtered), soles_of_body(filtered)
    limits = UPRIGHT * float(filtered[HEAD, 1].max()), LOW, SLOW
    points, ahead = np.empty((len(soles), 2, soles.shape[-1])), np.empty((2, soles.shape[-1]))
    distances = np.empty(fill_standing(centre, soles, 1 / fps, GRAVITY, limits, points, ahead))
    fill_hull_distances(points, ahead, _WAYS, distances)
    return distances


def segment_distance(first: Array, second: Array, third: Array, fourth: Array) -> Array:
    """Return the shortest distance between two line segments (Ericson, Real-Time Collision Detection, 5.1.9).

    Parameters
    ----------
    first, second, third, fourth : float [..., 3]
        Ends of the first and of the second segment; the ends of a segment may coincide.

    Returns
    -------
    float [...]
    """
    one, other, apart = second - first, fourth - third, first - third
    a, e, b = (one * one).sum(-1), (other * other).sum(-1), (one * other).sum(-1)
    c, f = (one * apart).sum(-1), (other * apart).sum(-1)
    tiny = 1e-12
    crossing = a * e - b * b
    s = np.where(crossing > tiny, np.clip((b * f - c * e) / np.maximum(crossing, tiny), 0, 1), 0.0)
    t = np.where(e > tiny, (b * s + f) / np.maximum(e, tiny), 0.0)
    inside = np.clip(t, 0, 1)
    # Where the nearest point of the second line lies beyond its end, take the nearest point of the first to that end.
    s = np.where((t != inside) | (e <= tiny) | (crossing <= tiny), np.clip((b * inside - c) / np.maximum(a, tiny), 0, 1), s)
    s = np.where(a > tiny, s, 0.0)
    gap = apart + s[..., None] * one - inside[..., None] * other
    return np.asarray(np.sqrt((gap * gap).sum(-1)))


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
    lengths = np.empty((len(_CHILDREN), len(joints)))
    fill_lengths(body, _CHILDREN, _PARENTS, lengths)
    excess = body_excess(angles_of_body(body, soles, recording.skeleton), recording.ranges)
    overlap = _overlaps(body)
    touching = None if recording.contact is None else _touching(recording.contact)
    flight = _flight_errors(body, soles, fps, touching, round(LONGEST_FLIGHT * fps))
    margin = _balance_margin(filtered, fps)
    contact = np.zeros(0) if touching is None else _contact_speeds(soles, touching, fps)
    measured = _foot_skate(body, fps) | {
        "skate of contacts": _share(contact > STRICT),
        "penetration": 1000 * float(max(_depth(soles), _depth(body))),
        "bone length": 1000 * float(_length_error(lengths)),
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
    speeds = np.empty((len(WRISTS), (filtered.shape[-1] - 1) // length * length))
    for wrist, own in zip(WRISTS, speeds, strict=True):
        fill_speeds(filtered[wrist], fps, own)
    windows = speeds.reshape(-1, length)
    means = [_mean(values[np.isfinite(values)]) for values in (_arc_lengths(windows, fps), _log_jerks(windows, fps))]
    return dict(zip(names, [*means, float(np.sqrt(jerk.mean()) * fps**3)], strict=True))
