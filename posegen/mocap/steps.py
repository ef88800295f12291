"""Steps of a clip: contacts and places of each foot, the channels that place it there, and flights.

A foot in contact keeps one position, the median over its contact, so that it cannot slide. Between two contacts its channels
follow the clip.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posegen.evaluation.body import centre_of_mass, point, true_intervals
from posegen.fields.field import minimum_jerk
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import BALL_BEFORE_ANKLE, HEEL_BEHIND_ANKLE, JOINTS, PROPORTIONS, sole_points
from posegen.mocap.body_angles import LEG
from posegen.mocap.pose_channels import TOES_OUT, Ground, on_ground
from posegen.motion.stances import FREE_PITCH, PIVOT

LOW, STILL = 0.045, 0.45
"""Metres above its lowest position, and metres per second, below which a heel or ball is in contact."""
CARRYING = 0.08
"""Metres above its lowest position below which a foot may carry the body while the other one is in the air."""
SHORTEST = 0.12
"""Seconds of the shortest swing and of the shortest contact."""
STANCE_HALF_WIDTH = 0.066 / LEG
"""Half the distance between the feet in quiet standing, in leg lengths."""
HEEL, BALL, ANKLE = HEEL_BEHIND_ANKLE / LEG, BALL_BEFORE_ANKLE / LEG, PROPORTIONS["ankle_height"] / LEG
SHUFFLE = 0.1
"""Leg lengths that a foot rises and moves without a step."""
TURNED = 20.0
"""Degrees that a foot turns in contact, or in a step, from which it pivots, or steps to turn."""
STEP_UP, CLEAR_UP = 0.11, 0.075
"""Leg lengths that the toes rise in a step, and from which they move on freely."""
STANDING_HEIGHT = 0.9
"""Share of its greatest height above which the pelvis of a body is that stands."""
MOST_PITCH = 75.0
FOLDING, FOLDED = 0.72, 0.5
"""Distances of ankle and hip in leg lengths below which a swinging foot gives way, and that it keeps (120 degrees of the knee).
"""
_FEET = [[JOINTS.index(f"{side}_{name}") for name in ("ankle", "foot")] for side in ("left", "right")]
_RISE = np.linspace(0, 1, 101)
_RISEN = minimum_jerk(_RISE)
"""The rise of the share of a turn that a foot follows as its heel comes up; see :func:`posegen.motion.stances.pivot_turn`."""
LYING_HEIGHT, LYING_SLOPE = 0.4, 0.5
"""Leg lengths of the pelvis above the floor, and sine of the slope of the trunk, below which a body lies."""
NOTICED = 0.1
"""Seconds without a foot on the ground from which they are a flight; contacts are known to a frame or two."""
MEASURED = 0.18
"""Seconds of a flight from which its acceleration is known well enough to tell it from being carried."""
LONGEST_FLIGHT = 1.0
"""Seconds that a body falls freely at most."""
FALLING = 0.4
"""Share of the acceleration of free fall from which nothing carries the body."""


class FootTrack(NamedTuple):
    """One foot over the frames: contacts, and channels in leg lengths and degrees relative to quiet standing.

    Attributes
    ----------
    contact : bool [frame]
    forward, aside, up, pitch : float64 [frame]
    """

    contact: Array
    forward: Array
    aside: Array
    up: Array
    pitch: Array

    def place(self, number: int) -> Array:
        """Return how far foot `number` (0 is the left one) is ahead of the body, + i times to its left: complex128 [frame]."""
        return np.asarray(self.forward + 1j * (1 - 2 * number) * (self.aside + STANCE_HALF_WIDTH))


def contacts(joints: Array, fps: float) -> Array:
    """Return whether each foot is in contact with the floor.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, y up.
    fps : float

    Returns
    -------
    bool [2, frame]
        Left and right.
    """
    track = joints[:, _FEET]
    speed = np.sqrt((np.gradient(track, axis=0) ** 2).sum(-1)) * fps
    high = track[..., 1] - np.percentile(track[..., 1], 3, axis=0)
    found, clearance = ((high < LOW) & (speed < STILL)).any(axis=-1).T, high.min(axis=-1).T
    # Something carries the body: a foot that slides or turns on the spot is still in contact.
    carries = (clearance.argmin(axis=0) == [[0], [1]]) & (clearance < CARRYING)
    found |= carries & ~found.any(axis=0)
    fewest = max(1, round(SHORTEST * fps))
    for touching in found:
        for value in (False, True):  # short swings first, then short contacts
            for run in true_intervals(touching == value):
                if run.stop - run.start < fewest and run.start > 0 and run.stop < len(touching):
                    touching[run] = not value
    return np.asarray(found)


def flat_ankle_height(joints: Array, contact: Array, lies: Array) -> float:
    """Return the height of the ankles of feet that stand flat, in metres; `contact` is bool [2, frame], `lies` bool [frame]."""
    stands = _stands(joints, lies)
    heights = [point(joints, f"{side}_ankle")[on & stands, 1] for side, on in zip(("left", "right"), contact, strict=True)]
    low = np.concatenate(heights)
    return float(np.percentile(low if len(low) else point(joints, "left_ankle")[:, 1], 20))


def _stands(joints: Array, lies: Array) -> Array:
    """Return the frames in which a body stands upright: bool [frame]; all frames if it never lies.

    A body that sits or lies may have low ankles and toes that point up.
    """
    high = point(joints, "pelvis")[:, 1]
    upright = high > STANDING_HEIGHT * high.max()
    return upright if lies.any() else np.ones(len(joints), bool)


def foot_track(
    joints: Array, ground: Ground, side: str, contact: Array, lies: Array, heading: Array | None = None
) -> FootTrack:
    """Return contacts and channels of one foot.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, y up.
    ground : Ground
        The same in all frames.
    side : str
        ``left`` or ``right``.
    contact, lies : bool [frame]
        Whether the foot is in contact, and whether the body lies: feet then need not be lifted to move.
    heading : float64 [frame], optional
        Radians about the vertical axis from +z, of a body that travels or turns: feet in contact turn with it on the ball.
    """
    sign = 1.0 if side == "left" else -1.0
    body = on_ground(joints, ground)
    ankle = point(body, f"{side}_ankle")
    heel, toe = np.moveaxis(sole_points(body)[:, :2] if side == "left" else sole_points(body)[:, 2:], 1, 0)
    along = toe - heel
    level = np.sqrt(along[:, 0] ** 2 + along[:, 2] ** 2)
    pitch = np.arctan2(along[:, 1], level)
    height = ankle[:, 1] - ground.ankle / ground.leg
    # Skeletons differ in the slope of a foot that stands flat.
    flat = contact & _stands(joints, lies) & (np.abs(height) < 0.02)
    pitch = pitch - (np.median(pitch[flat]) if flat.any() else 0.0)
    limit = np.radians(MOST_PITCH)
    pitch = np.clip(pitch, -limit, limit)
    rolled = np.where(contact, _rolled(pitch), 0.0)[:, None] * along / np.maximum(level, 1e-6)[:, None]
    ankle = np.where(contact[:, None], ankle, _within_reach(point(body, f"{side}_hip"), ankle))
    height = ankle[:, 1] - ground.ankle / ground.leg
    forward, aside = ankle[:, 2] - rolled[:, 2], sign * (ankle[:, 0] - rolled[:, 0]) - STANCE_HALF_WIDTH
    up = np.where(contact, 0.0, np.maximum(height, 0.0))
    for run in true_intervals(contact):
        forward[run], aside[run] = np.median(forward[run]), np.median(aside[run])
        # A foot in contact that is nearly flat is flat.
        pitch[run] = np.where(np.abs(pitch[run]) < np.radians(5), 0.0, pitch[run])
    points = np.unwrap(np.arctan2(along[:, 0], along[:, 2]))
    foot = _without_shuffles(FootTrack(contact.copy(), forward, aside, up, np.degrees(pitch)), points)
    if heading is not None:
        foot = _pivoting(foot, sign, point(body, f"{side}_foot"), points, heading - ground.facing)
    return _clear_of_floor(foot, lies)


def foot_yaw(foot: FootTrack, heading: Array) -> Array:
    """Return how much further to the left a foot points than the body faces, radians.

    In contact it keeps its direction, or turns on its ball with the heel up, as the engine turns it.

    Parameters
    ----------
    foot : FootTrack
    heading : float64 [frame]
        Radians.
    """
    behind, frames = np.zeros(len(heading)), np.arange(len(heading))
    for run in true_intervals(foot.contact):
        follows = PIVOT * np.interp(-foot.pitch[run] / (360 * FREE_PITCH), _RISE, _RISEN)
        behind[run] = (1 - follows) * (heading[run.start] - heading[run])
    # From one footprint to the next, it turns with the body and catches up with it.
    return np.interp(frames, frames[foot.contact], behind[foot.contact]) if foot.contact.any() else behind


def along_path(foot: FootTrack, number: int, ground: Ground, path: Ground) -> FootTrack:
    """Return foot `number` of a clip, described on a ground that stays, relative to one that moves with the body."""
    where = _on_floor(ground) + ground.leg * foot.place(number) * np.exp(1j * ground.facing)
    seen = (where - _on_floor(path)) * np.exp(-1j * path.facing) / path.leg
    return foot._replace(forward=seen.real, aside=(1 - 2 * number) * seen.imag - STANCE_HALF_WIDTH)


def _on_floor(ground: Ground) -> Any:
    """Return the origin of a ground as z + i x in metres."""
    return ground.origin[..., 2] + 1j * ground.origin[..., 0]


def _pivoting(foot: FootTrack, sign: float, ball: Array, points: Array, heading: Array) -> FootTrack:
    """Return a foot that turns in contact as far as in the clip, on its ball: the engine turns it while the heel is up.

    Parameters
    ----------
    foot : FootTrack
    sign : float
        1 on the left.
    ball : float64 [frame, 3]
        On the ground.
    points, heading : float64 [frame]
        Radians that the foot points, and the body faces, to the left of the ground.
    """
    for run in true_intervals(foot.contact):
        turned, behind = (np.abs(np.degrees(way[run] - way[run.start])) for way in (points, heading))
        if min(turned.max(), behind.max()) < TURNED:
            continue
        share = np.clip(turned / np.maximum(PIVOT * behind, 1.0), 0, 1) * np.clip(2 * turned / TURNED - 1, 0, 1)
        foot.pitch[run] = np.minimum(foot.pitch[run], -360 * FREE_PITCH * np.interp(share, _RISEN, _RISE))
        way = heading[run.start] + sign * np.radians(TOES_OUT)
        foot.forward[run] = np.median(ball[run, 2]) - BALL * np.cos(way)
        foot.aside[run] = sign * (np.median(ball[run, 0]) - BALL * np.sin(way)) - STANCE_HALF_WIDTH
    return foot


def _without_shuffles(foot: FootTrack, points: Array) -> FootTrack:
    """Return a foot that stays where it stands instead of shifting a little, barely above the floor, or turning there."""
    for run in true_intervals(~foot.contact):
        if run.start == 0 or run.stop == len(foot.contact):
            continue
        gone = [float(values[run.stop] - values[run.start - 1]) for values in (foot.forward, foot.aside)]
        turned = abs(np.degrees(points[run.stop] - points[run.start - 1]))
        if gone[0] ** 2 + gone[1] ** 2 < SHUFFLE**2 and float(foot.up[run].max()) < SHUFFLE and turned < TURNED:
            foot.contact[run], foot.up[run] = True, 0.0
            for values, far in zip((foot.forward, foot.aside), gone, strict=True):
                values[run] = values[run.start - 1]
                values[run.stop :] -= far
    return foot


def _clear_of_floor(foot: FootTrack, lies: Array) -> FootTrack:
    """Return a foot that rises before it moves on and has arrived before it lands; mocap drags its toes over the floor."""
    for run in true_intervals(~foot.contact):
        if lies[run].any():
            continue
        x = (np.arange(run.stop - run.start) + 1) / (run.stop - run.start + 1)
        if run.start == 0:
            x = 0.5 + 0.5 * x
        elif run.stop == len(foot.contact):
            x = 0.5 * x
        down = BALL * np.sin(np.radians(np.minimum(foot.pitch[run], 0.0)))
        foot.up[run] = np.maximum(foot.up[run], STEP_UP * (1 - (2 * x - 1) ** 4) - down)
        share = np.clip((foot.up[run] + down) / CLEAR_UP, 0, 1)
        share = share * share * (3 - 2 * share)
        for values in (foot.forward, foot.aside):
            before = values[run.start - 1] if run.start > 0 else values[run][0]
            after = values[run.stop] if run.stop < len(values) else values[run][-1]
            edge = np.where(x < 0.5, before, after)
            values[run] = edge + share * (values[run] - edge)
    return foot


def _within_reach(hip: Array, ankle: Array) -> Array:
    """Return ankles that are not too near to their hips: a knee that is nearly folded has no room for other amplitudes."""
    away = ankle - hip
    distance = np.sqrt((away**2).sum(-1, keepdims=True))
    lack = np.maximum(FOLDING - distance, 0.0)
    kept = np.maximum(distance, FOLDING) - lack / (1 + lack / (FOLDING - FOLDED))
    return np.asarray(hip + away * kept / np.maximum(distance, 1e-6))


def _rolled(pitch: Array) -> Array:
    """Return the distance of the ankle ahead of its position over a flat foot, in leg lengths; as the engine rolls feet."""
    pivot = np.where(pitch > 0, -HEEL, BALL)
    return np.asarray(pivot - pivot * np.cos(pitch) - ANKLE * np.sin(pitch))


def lying(joints: Array, leg: float) -> Array:
    """Return whether the trunk lies more than it stands near the floor: bool [frame]; `leg` is the leg length in metres."""
    trunk = point(joints, "neck") - point(joints, "pelvis")
    flat = trunk[:, 1] < LYING_SLOPE * np.sqrt((trunk**2).sum(-1))
    return np.asarray(flat & (point(joints, "pelvis")[:, 1] < LYING_HEIGHT * leg))


def find_flights(joints: Array, contact: Array, lies: Array, fps: float, name: str) -> list[slice]:
    """Return the frames of each flight.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, y up.
    contact : bool [2, frame]
    lies : bool [frame]
    fps : float
    name : str
        Of the clip, for messages.

    Raises
    ------
    UsageError
        If something else than the feet carries a body that does not lie.
    """
    flights = []
    for run in true_intervals(~(contact.any(axis=0) | lies)):
        seconds = (run.stop - run.start) / fps
        if seconds < NOTICED:
            continue
        rise = np.polyfit(np.arange(run.stop - run.start) / fps, centre_of_mass(joints[run])[:, 1], 2)
        share = -2 * float(rise[0]) / GRAVITY
        if seconds > LONGEST_FLIGHT or (seconds >= MEASURED and share < FALLING):
            carried = "does not fall freely; something else carries it, which no action does: cut the clip"
            raise UsageError(f"{name}: has no foot on the ground for {seconds:.2f} s and {carried}")
        flights.append(run)
    return flights
