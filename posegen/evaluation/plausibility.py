"""Measure from joint positions whether motion is physically plausible: bones, floor, skating, overlap, flight, balance.

The measures do not depend on how the motion was made, so they apply to mocap as well. Absent frames (NaN) are ignored.
:func:`measure_clip` combines them for one clip. Overlap between people is measured in :mod:`posegen.checks`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.checks.capsules import DEEPEST, PAIRS
from posegen.checks.ranges import TOLERANCE
from posegen.constants import GRAVITY
from posegen.evaluation.body import centre_of_mass, joint_angles, longest_present, point, range_excess, stature, true_intervals
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
    spread = np.sqrt(np.log(2)) / (2 * np.pi * CUT_OFF) * fps
    weights = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / spread) ** 2)
    weights /= weights.sum()
    count = max(len(series) - 2 * REACH, 0)
    filtered = np.zeros((count, *series.shape[1:]))
    for shift, weight in enumerate(weights):
        filtered += weight * series[shift : shift + count]
    return filtered


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
    profile = np.asarray(speed, np.float64)
    if not _is_profile(profile, 2):
        return float("nan")
    length = 2 ** (int(np.ceil(np.log2(len(profile)))) + _SPARC_PADDING)
    spectrum = np.abs(np.fft.rfft(profile, length))
    frequency = np.fft.rfftfreq(length, 1 / fps)
    spectrum /= spectrum.max()
    kept = frequency <= _SPARC_CUT_OFF
    frequency, spectrum = frequency[kept], spectrum[kept]
    strong = np.flatnonzero(spectrum >= _SPARC_THRESHOLD)
    frequency, spectrum = frequency[strong[0] : strong[-1] + 1], spectrum[strong[0] : strong[-1] + 1]
    if len(frequency) < 2:
        return float("nan")
    across = np.diff(frequency) / (frequency[-1] - frequency[0])
    return float(-np.hypot(across, np.diff(spectrum)).sum())


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
    profile = np.asarray(speed, np.float64)
    if not _is_profile(profile, 3):
        return float("nan")
    jerk = np.diff(profile, 2) * fps**2
    total = (jerk * jerk).sum() / fps
    duration = (len(profile) - 1) / fps
    return float(-np.log(duration**3 / profile.max() ** 2 * total)) if total > 0 else float("nan")


def _is_profile(profile: Array, frames: int) -> bool:
    """Return whether a speed profile has enough frames, is finite, and is above 0 somewhere."""
    return len(profile) >= frames and bool(np.isfinite(profile).all() and (profile > 0).any())


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
SLOW = 0.15
"""Speed in m/s of feet or centre of mass above which a body is stepping and need not balance."""
UPRIGHT = 0.45
"""Height of the centre of mass as a share of the greatest head height. A lower body may sit, kneel or lie."""
HEAD = JOINTS.index("head")


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
    child = [joint for joint, parent in enumerate(PARENTS) if parent >= 0]
    bones = positions[..., child, :] - positions[..., [PARENTS[joint] for joint in child], :]
    lengths = np.ma.masked_invalid(np.sqrt((bones * bones).sum(-1)))
    return np.ma.filled(np.abs(lengths - lengths.mean(-2, keepdims=True)).max((-2, -1)), np.nan)


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
    return _depth(sole_points(_positions(joints))[..., 1])


def floor_depth(joints: ArrayLike) -> Array:
    """Return the depth to which any joint or sole point penetrates the floor; shapes as for :func:`sole_depth`."""
    return np.asarray(np.maximum(sole_depth(joints), _depth(_positions(joints)[..., 1])))


def _depth(heights: Array) -> Array:
    return np.ma.filled(np.maximum(-np.ma.masked_invalid(heights).min((-2, -1)), 0.0), np.nan)


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
    soles = sole_points(_positions(joints))
    step = np.diff(soles, axis=-3)
    speed = np.sqrt((step * step).sum(-1)) * fps
    touching = np.asarray(contact)[..., :SOLE_CONTACTS] == TOUCHING
    return np.asarray(speed[touching[..., 1:, :] & touching[..., :-1, :]])


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
    toes = np.asarray(joints, np.float64)[:, TOES, :]
    low = toes[..., 1] < LOW  # False where absent
    still_low = low[1:] & low[:-1]
    step = np.diff(toes[..., [0, 2]], axis=0)
    speed = np.sqrt((step * step).sum(-1)) * fps
    seen = np.isfinite(speed).any(-1)
    standing: Array = speed[still_low]
    return {
        "skate, GMD": _mean((still_low & (speed > FAST)).any(-1)[seen]),
        "skate, strict": _mean(standing > STRICT),
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
    positions = np.asarray(joints, np.float64)
    heights = np.concatenate([positions[..., 1], sole_points(positions)[..., 1]], axis=-1)
    in_air = np.asarray((heights > CLEARANCE).all(-1))
    if contact is not None:
        in_air &= ~(np.asarray(contact) == TOUCHING).any(-1)
    found = [flight for flight in true_intervals(in_air) if flight.stop - flight.start >= MIN_FLIGHT]
    if longest is None:
        return found
    end = len(positions)
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
    height = centre_of_mass(joints)[:, 1]
    errors = []
    for flight in flights(joints, contact, longest):
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
    turns = np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS
    ways = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    reach = (np.asarray(points, np.float64)[..., None, :] * ways).sum(-1).max(-2)
    return np.asarray(((np.asarray(position, np.float64)[..., None, :] * ways).sum(-1) - reach).max(-1))


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
    positions = low_pass(positions[longest_present(positions)], fps)
    if len(positions) <= REACH:
        return np.zeros(0)
    centre, soles = centre_of_mass(positions), sole_points(positions)
    speed = np.gradient(centre, 1 / fps, axis=0)
    stepping = np.sqrt((np.gradient(soles, 1 / fps, axis=0) ** 2).sum(-1)).max(-1)
    tall = centre[:, 1] > UPRIGHT * positions[:, HEAD, 1].max()
    quiet = (soles[..., 1] < LOW).all(-1) & (stepping < SLOW) & (np.sqrt((speed**2).sum(-1)) < SLOW) & tall
    ahead = centre + speed / np.sqrt(GRAVITY / np.maximum(centre[:, 1:2], 0.1))
    return hull_distance(soles[quiet][..., [0, 2]], ahead[quiet][:, [0, 2]])


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
    positions = np.asarray(joints, np.float64)
    height = stature(positions)
    deepest = np.where(np.isnan(height), np.nan, 0.0)
    for one, other in PAIRS:
        (a, b, radius), (c, d, other_radius) = CAPSULES[one], CAPSULES[other]
        distance = segment_distance(*(point(positions, name) for name in (a, b, c, d)))
        deepest = np.maximum(deepest, (radius + other_radius) * height - distance)
    return np.asarray(deepest)


def measure_clip(recording: Recording) -> dict[str, float]:
    """Measure one clip.

    Returns
    -------
    dict of str to float
        By the names of :data:`MEASURES`; NaN for what does not occur in the clip (no flight, no standing, no labels).
    """
    joints, fps = recording.joints, recording.fps
    angles = range_excess(joint_angles(joints, recording.skeleton), recording.ranges)
    excess = np.stack([np.nan_to_num(values) for values in angles.values()]).max(0)
    overlap = body_overlap(joints)
    flight = flight_errors(joints, fps, recording.contact, round(LONGEST_FLIGHT * fps))
    margin = balance_margin(joints, fps)
    contact = np.zeros(0) if recording.contact is None else contact_speeds(joints, recording.contact, fps)
    measured = foot_skate(joints, fps) | {
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


def _mean(values: Array) -> float:
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
