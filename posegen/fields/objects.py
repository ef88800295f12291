"""The field `objects`: the object that an actor uses in each frame, its position, and whether it is held.

The object of an action is part of the action (`object`, see :mod:`posegen.library.actions`). Its position follows from the
joints:

- A held object lies in the palm, .054 of stature beyond the wrist on the line from elbow to wrist (half a hand), or between
  both palms. The position of a bat is that of its grip.
- A thrown ball leaves the hand at its fastest in each complete repetition, with the hand's velocity, and flies by
  p + v t + g t^2 / 2 (no drag) until it lies on the floor.
- A kicked ball lies before the foot until the foot is fastest, and leaves 1.2 times as fast, rising by .4 for each metre at
  first. Both numbers are chosen.
- A caught ball comes from 6 m ahead, within .8 s, to the frame in which the palms are nearest to each other; a fielded one to
  the frame in which they are lowest.
- A dribbled ball leaves the palm at its lowest point, touches the floor half way, and is back for the next one.
- An object that is picked up lies where the hand is lowest until then.
- A seat is below the pelvis, at the height in the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from posegen.fields.field import AXES, DerivedField, FieldArray, Sequences
from posegen.fields.vectors import length, vector
from posegen.fields.velocity import differences
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.skeleton import JOINTS, mirror_name
from posegen.library.schema import OBJECTS, Object

LYING, HELD, FLYING, NOTHING = 0, 1, 2, 255
RADIUS = {"ball": 0.06, "bag": 0.1, "box": 0.15}
"""Metres from the floor to the centre of an object that lies on it."""

_PALM = 0.054
_FROM, _FLIGHT = 6.0, 0.8
_AHEAD_OF_FOOT = 0.12
_KICK, _LIFT = 1.2, 0.4


@dataclass(frozen=True)
class _Use:
    """Use of an object in a segment; arrays over its frames."""

    spot: Array
    """Position of the hand, foot or seat with the object, float64 [frame, 3]."""
    least: Array
    """Measure that is least where a ball is caught, [frame]: the distance of the palms, or their height."""
    ahead: Array
    """Direction that the body faces, [frame, 2]: x and z."""
    windows: list[tuple[int, int]]
    """First frame of each repetition, and the frame after its last."""
    fps: float
    radius: float


def _point(joints: Array, name: str) -> Array:
    return joints[:, JOINTS.index(name)]


def _length(values: Array) -> Array:
    return length(vector(values))


def _palm(joints: Array, side: str, stature: float) -> Array:
    elbow, wrist = _point(joints, f"{side}_elbow"), _point(joints, f"{side}_wrist")
    arm = wrist - elbow
    return np.asarray(wrist + arm * (_PALM * stature / _length(arm))[:, None])


def _spot(joints: Array, item: Object, side: str, stature: float) -> Array:
    if item.at == "both_hands":
        return (_palm(joints, "left", stature) + _palm(joints, "right", stature)) * 0.5
    if item.at == "seat":
        return _point(joints, "pelvis")
    if item.at == "near_foot":
        ankle, ball = _point(joints, f"{side}_ankle"), _point(joints, f"{side}_foot")
        foot = ball - ankle
        return np.asarray(ball + foot * (_AHEAD_OF_FOOT / _length(foot))[:, None])
    return _palm(joints, side if item.at == "near_hand" else mirror_name(side), stature)


def _fallen(start: Array, velocity: Array, seconds: Array, radius: float) -> tuple[Array, Array]:
    """Return positions of an object in free fall from `start`, and whether it still flies; it stays where it lands."""
    height = max(float(start[1]) - radius, 0.0)
    rise = float(velocity[1])
    landing = (rise + np.sqrt(rise * rise + 2.0 * GRAVITY * height)) / GRAVITY
    t = np.minimum(seconds, landing)
    places = start + velocity * t[:, None]
    places[:, 1] -= 0.5 * GRAVITY * t * t
    places[:, 1] = np.where(seconds >= landing, np.minimum(radius, start[1]), places[:, 1])
    return places, seconds < landing


def _launched(use: _Use, places: Array, states: Array, *, kicked: bool) -> None:
    states[:] = LYING if kicked else HELD
    velocity = differences(use.spot, use.fps, 0)
    for first, stop in use.windows:
        release = first + int(np.argmax(_length(velocity[first:stop])))
        start, away = use.spot[release].copy(), velocity[release]
        if kicked:
            start[1] = use.radius
            x, _, z = away * _KICK
            away = np.array([x, np.sqrt(x * x + z * z) * _LIFT, z])
            places[first:release] = start
        places[release:stop], flies = _fallen(start, away, np.arange(stop - release) / use.fps, use.radius)
        states[release:stop] = np.where(flies, FLYING, LYING)


def _caught(use: _Use, places: Array, states: Array) -> None:
    for first, stop in use.windows:
        catch = first + int(np.argmin(use.least[first:stop]))
        begin = max(first, catch - int(_FLIGHT * use.fps))
        left = (catch - np.arange(begin, catch)) / use.fps
        share = left / _FLIGHT
        places[begin:catch] = use.spot[catch]
        places[begin:catch, 0] += use.ahead[catch, 0] * _FROM * share
        places[begin:catch, 2] += use.ahead[catch, 1] * _FROM * share
        places[begin:catch, 1] += 0.5 * GRAVITY * left * (_FLIGHT - left)
        states[begin:catch] = FLYING
        # Before its flight, there is no ball.
        places[first:begin] = np.nan
        states[first:begin] = NOTHING


def _bounced(use: _Use, places: Array, states: Array) -> None:
    height = use.spot[:, 1]
    inner = (height[1:-1] <= height[:-2]) & (height[1:-1] < height[2:])
    lowest = np.flatnonzero(inner) + 1
    for begin, end in pairwise(lowest):
        frames = np.arange(begin, end + 1)
        share = ((frames - begin) / (end - begin))[:, None]
        half = (end - begin) / use.fps / 2
        places[frames] = use.spot[begin] * (1 - share) + use.spot[end] * share
        for reached, side in ((use.spot[begin, 1], share[:, 0] <= 0.5), (use.spot[end, 1], share[:, 0] > 0.5)):
            # Down from the hand; the second half is the same motion backwards in time.
            t = np.where(share[:, 0] <= 0.5, share[:, 0], 1 - share[:, 0]) * 2 * half
            push = (reached - use.radius - 0.5 * GRAVITY * half * half) / half
            down = reached - push * t - 0.5 * GRAVITY * t * t
            places[frames[side], 1] = np.maximum(down[side], use.radius)
        states[begin + 1 : end] = FLYING


def _laid(use: _Use, places: Array, states: Array, *, is_taken: bool) -> None:
    """Put an object on the floor until the hand that takes it is lowest, or from then on."""
    for first, stop in use.windows if is_taken else [(0, len(places))]:
        touched = first + int(np.argmin(use.spot[first:stop, 1]))
        frames = slice(first, touched) if is_taken else slice(touched, None)
        places[frames], states[frames] = use.spot[touched], LYING
        places[frames, 1] = use.radius


_USES: dict[str, Callable[[_Use, Array, Array], None]] = {
    "thrown": partial(_launched, kicked=False),
    "caught": _caught,
    "fielded": _caught,
    "bounced": _bounced,
    "kicked": partial(_launched, kicked=True),
    "taken": partial(_laid, is_taken=True),
    "left": partial(_laid, is_taken=False),
}
"""How a use moves an object that is held all the time unless this changes its places and states."""


def _ahead(joints: Array) -> Array:
    x, _, z = (_point(joints, "left_hip") - _point(joints, "right_hip")).T
    return np.asarray(np.stack([-z, x], axis=-1) / np.maximum(np.sqrt(x * x + z * z), 1e-9)[:, None])


def _seat(joints: Array, seated: Array, height: float) -> tuple[Array, Array]:
    """Return position and state of a seat that is sat on in some of these frames."""
    at = int(np.argmax(seated)) if seated.any() else int(np.argmin(_point(joints, "pelvis")[:, 1]))
    place = _point(joints, "pelvis")[at].copy()
    place[1] = height
    return np.broadcast_to(place, (len(joints), 3)), np.full(len(joints), LYING)


def _used(joints: Array, seated: Array, item: Object, person: Any, segment: Any, fps: float) -> tuple[Array, Array]:
    """Return positions and states of the object of a segment; `joints` are those of its frames."""
    stature = float(np.float32(person["stature"]))
    if item.use == "sat_on":
        return _seat(joints, seated, float(np.float32(person["seat_height"])))
    side = segment["side"] if segment["side"] in ("left", "right") else "left" if person["left_handed"] else "right"
    spot = _spot(joints, item, side, stature)
    apart = _length(_palm(joints, "left", stature) - _palm(joints, "right", stature))
    count, frames = max(int(segment["repetitions"] or 1), 1), len(joints)
    edges = [frames * i // count for i in range(count + 1)]
    windows = [(a, b) for a, b in pairwise(edges) if b - a > 1]
    # Without a complete repetition, the ball is not known to be released.
    use = item.use if segment["repetitions"] or item.use == "bounced" else "held"
    least, radius = apart if use == "caught" else spot[:, 1], RADIUS.get(item.kind, 0.0)
    places, states = spot.copy(), np.full(frames, HELD)
    if use in _USES:
        _USES[use](_Use(spot, least, _ahead(joints), windows, fps, radius), places, states)
    return places, states


def _compute(sequences: Sequences) -> dict[str, Array]:
    shape, fps = sequences.shape, float(sequences.config.fps)
    kinds, states = np.full(shape, NOTHING, np.uint8), np.full(shape, NOTHING, np.uint8)
    places = np.full((*shape, 3), np.nan, np.float32)
    seat = sequences.contact[..., -1] == 1
    for row, (sample, variant) in zip(sequences.rows, np.ndindex(shape[:2]), strict=True):
        for actor, person in enumerate(row["actors"]):
            for segment in person["segments"]:
                item = sequences.library.action(segment["action"]).object
                where = sample, variant, actor, slice(segment["start"], min(segment["end"], row["length"]))
                joints = sequences.joints[where].astype(np.float64)
                if item is not None and len(joints) > 1:
                    places[where], states[where] = _used(joints, seat[where], item, person, segment, fps)
                    kinds[where] = np.where(states[where] == NOTHING, NOTHING, OBJECTS.index(item.kind))
    return {"object": kinds, "object_state": states, "object_position": places}


FIELD = DerivedField(
    "objects",
    1,
    "the ball, bat, cup, chair, ... that an actor uses, and its position",
    (
        FieldArray("object", {}, "uint8", NOTHING, {"names": list(OBJECTS)}),
        FieldArray("object_state", {}, "uint8", NOTHING, {"names": ["lying", "held", "flying"]}),
        FieldArray("object_position", {"axis": AXES}, attributes={"units": "m"}),
    ),
    _compute,
    sources=("joints", "contact", "rows"),
)
