"""The entry of an action file that performs one repetition of a clip.

The repetition becomes the cycle of the action; `enter` and `exit` lead from standing into its first pose and from its last one
back. Curves of channels become key poses. Captions about the side are checked by signals in the joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posegen.checks.evidence import fill_signal
from posegen.evaluation.body import true_intervals
from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT
from posegen.foundations.skeleton import PARTS
from posegen.library.stages import SIGNALS, Signal
from posegen.mocap import pose_channels, stage_steps, travel
from posegen.mocap.steps import FootTrack

SHORTEST, LONGEST = 0.4, 6.0
"""Seconds of a period."""
ALIKE = 0.35
"""Largest difference between two repetitions, relative to that of two frames at random."""
FPS = 30.0
"""Frames per second at which clips are examined."""
SIDES = ("left", "right")
TOLERANCE = {"root": 0.006, "foot": 0.008, "foot_pitch": 2.5}
DEGREES, FINER = 1.5, 0.5
"""Largest differences between the curve through the key poses and the clip; finer for feet that move relative to a body."""
STILL = {"root": 0.015, "foot": 0.015}
STILL_DEGREES = 3.0
"""Ranges of channels that do not count as moved."""
ONE_SIDE = 2.5
"""Ratio of the movements of two limbs from which an action is performed with one side."""
STANDING_SWAY, STANDING_DEGREES, STANDING_PITCH = 0.08, 12.0, 12.0
"""Leg lengths and degrees that the pelvis moves, and the feet tilt, while somebody only stands."""
_FLAT_FOOT = "a flat foot under the body's weight, 40.6 +- 5.2 degrees (Calatayud et al. 2015)"
WIDER = {
    "ankle_dorsiflexion": {"max": 40, "source": _FLAT_FOOT},
    "hip_abduction": {"min": -40, "max": 60, "source": "20 degrees beyond the usual range, for leaps and high kicks"},
}
"""Ranges of joints in actions that are made of clips and move legs."""
STEP_SECONDS = 0.65
SIDE_SIGNALS: tuple[Signal, ...] = ("hand_height", "foot_height", "hand_ahead", "foot_ahead", "hand_reach")
_CLEAR_SIDE = 0.04
"""Metres by which the means of both sides must differ; captions are checked for a quarter of this."""
_FLIPPED = {
    "root_lateral", "pelvis_obliquity", "pelvis_rotation", "trunk_rotation", "neck_rotation", "trunk_lateral", "neck_lateral",
}  # fmt: skip
"""Channels that are positive to the left, in files to the near side."""


class Cycle(NamedTuple):
    """First and last frame of one repetition, and the number of repetitions in the clip."""

    first: int
    last: int
    repeated: int


def find_cycle(features: Array, fps: float) -> Cycle:
    """Return one repetition of a clip, or the whole clip if it does not repeat.

    Parameters
    ----------
    features : float64 [frame, feature]
        All in comparable units, such as degrees.
    fps : float

    Returns
    -------
    Cycle

    Examples
    --------
    >>> wave = np.sin(np.arange(240) * 2 * np.pi / 60)[:, None]
    >>> find_cycle(wave, 30.0).repeated
    4
    """
    frames = len(features)
    whole = Cycle(0, frames - 1, 1)
    centred = features - features.mean(axis=0)
    spread = float((centred**2).sum(-1).mean())
    lags = np.arange(int(SHORTEST * fps), min(int(LONGEST * fps), int(frames / 1.9)) + 1)
    if spread < 1e-6 or len(lags) < 3:
        return whole
    unlike = np.array([((features[lag:] - features[:-lag]) ** 2).sum(-1).mean() for lag in lags]) / (2 * spread)
    dips = [
        k for k in range(1, len(lags) - 1) if unlike[k] < ALIKE**2 and unlike[k] <= unlike[k - 1] and unlike[k] < unlike[k + 1]
    ]
    if not dips:
        return whole
    # The shortest period that is nearly as good as the best one.
    best = min(unlike[k] for k in dips)
    period = int(lags[next(k for k in dips if unlike[k] <= 1.6 * best + 0.01)])
    count = round(frames / period)
    if count < 2:
        return whole
    # Repetitions begin in the pose in which the body rests: nearest to the first frame.
    starts = np.arange(0, frames - period)
    gap = ((features[starts] - features[starts + period]) ** 2).sum(-1)
    rest = ((features[starts] - features[0]) ** 2).sum(-1)
    first = int(starts[(gap + 0.5 * rest).argmin()])
    return Cycle(first, first + period, count)


class Repetition(NamedTuple):
    """One repetition of a clip: channels of body and feet, where it lies or falls freely, and how it travels.

    `keys` are rates of travel [key, 4], from the begin of the course `start`; the first and the last stage take `seconds`.
    """

    channels: dict[str, Array]
    feet: list[FootTrack]
    cycle: Cycle
    lies: Array
    falls: list[slice]
    keys: Array | None = None
    start: travel.Course | None = None
    seconds: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class ClipAction:
    """An action made of one clip.

    Attributes
    ----------
    entry : mapping
        As in an action file, without signs.
    side : str
        The side that performs it in the clip: ``left``, ``right``, or empty.
    seconds : float
        Of the movement.
    repetitions : int
        In the clip.
    keys : int
        Key poses.
    joints : float64 [frame, 22, 3]
        One repetition; its side and its count are measured in it.
    paced : callable
        Returns the entry if the three stages take other times, in seconds.
    with_feet_apart : callable
        Returns the action with each foot further out, by leg lengths.
    """

    entry: dict[str, Any]
    side: str
    seconds: float
    repetitions: int
    keys: int
    joints: Array
    paced: Callable[[float, float, float], dict[str, Any]]
    with_feet_apart: Callable[[float], ClipAction]


def most_repetitions(cycle: Cycle) -> int:
    """Return the most repetitions in a row: twice those of the clip, 12 at most; 1 if the clip does not repeat."""
    return min(2 * cycle.repeated, 12) if cycle.repeated > 1 else 1


def assemble_action(clip: Repetition, joints: Array, ground: pose_channels.Ground) -> ClipAction:
    """Return the action that performs a repetition; `joints` are float64 [frame, 22, 3]."""
    channels, feet, cycle, travels = clip.channels, clip.feet, clip.cycle, clip.keys is not None
    if clip.lies.any():
        channels = channels | {"root_height": channels["root_height"] / pose_channels.standing_pelvis(ground)[1]}
    tracks, layered = _moved(channels, feet, travels)
    side = _side(channels, feet)
    near = side or "right"
    seconds = (len(joints) - 1) / FPS
    enter, leave = clip.seconds if travels else (blend_seconds(tracks, i, feet, clip.lies[i]) for i in (0, -1))
    pose, cycle_keys = _key_poses(tracks, feet, near, travels)
    parts = [_written(part, near) if side else part for part in _parts(tracks)] if layered else list(PARTS)
    support = "floor" if clip.lies.any() else "planted"
    plain: dict[str, Any] = {"parts": parts, "layered": layered, "sided": bool(side), "support": support}
    plain |= {"repetitions": [1, most_repetitions(cycle)], "pose": pose, "cycle_keys": cycle_keys}
    if not layered:
        plain["ranges"] = WIDER

    def paced(enter: float, cycle: float, leave: float) -> dict[str, Any]:
        paces = {"enter": enter, "exit": leave, "cycle": cycle}
        # A layer leaves the feet where they are.
        return plain | paces | ({} if layered else _stages(clip, near, (enter, cycle, leave), seconds))

    def with_feet_apart(more: float) -> ClipAction:
        return assemble_action(clip._replace(feet=[foot._replace(aside=foot.aside + more) for foot in feet]), joints, ground)

    entry = paced(enter, round(seconds, 3), leave)
    return ClipAction(entry, side, seconds, cycle.repeated, len(cycle_keys), joints, paced, with_feet_apart)


def _below(name: str) -> bool:
    return name.startswith(("root_", "pelvis_")) or name.endswith("hip_rotation")


def _moved(channels: Mapping[str, Array], feet: list[FootTrack], travels: bool) -> tuple[dict[str, Array], bool]:
    """Return the channels of body and feet that move, and whether they can be performed over another action."""
    stays = not travels and all(foot.contact.all() and abs(foot.forward[0]) + abs(foot.aside[0]) == 0 for foot in feet)
    tracks = dict(channels)
    for side, foot in zip(("left", "right"), feet, strict=True):
        if not stays:
            tracks |= {f"{side}_foot_{n}": v for n, v in zip(("forward", "aside", "up", "pitch"), foot[1:], strict=True)}
        elif np.abs(foot.pitch).max() > STILL_DEGREES:
            tracks[f"{side}_foot_pitch"] = foot.pitch
    stands = all(foot.contact.all() and np.abs(foot.pitch).max() < STANDING_PITCH for foot in feet)
    sways = ((np.ptp(values), name.startswith("root")) for name, values in channels.items() if _below(name))
    is_still = all(sway < (STANDING_SWAY if is_length else STANDING_DEGREES) for sway, is_length in sways)
    layered = not travels and stands and is_still
    if layered:
        tracks = {
            name: values
            for name, values in tracks.items()
            if not _below(name)
            and "_foot_" not in name
            and (not name.startswith("trunk") or np.abs(values).max() > 2 * STILL_DEGREES)
        }
    tracks = {n: v for n, v in tracks.items() if np.abs(v).max() >= STILL.get(_kind(n), STILL_DEGREES)}
    return tracks, layered and any("_arm" in part for part in _parts(tracks))


def _key_poses(
    tracks: Mapping[str, Array], feet: list[FootTrack], near: str, travels: bool
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the first pose, and the key poses after it."""
    at = np.arange(len(feet[0].contact)) / (len(feet[0].contact) - 1)
    keys: dict[int, dict[str, float]] = {}
    pose: dict[str, float] = {}
    for name in sorted(tracks):
        values, written = tracks[name], _written(name, near)
        if name in _FLIPPED and near == "right":
            values = -values
        begin = _rounded(name, float(values[0]))
        if begin != 0:
            pose[written] = begin
        limb = name.partition("_foot_")[0] if "_foot_" in name else ""
        forced = _edges(feet[SIDES.index(limb)].contact, travels) if limb else np.zeros(0, np.int64)
        for i in travel.thinned(at, values, TOLERANCE.get(_kind(name), DEGREES) * (FINER if limb and travels else 1.0), forced):
            if i > 0:
                keys.setdefault(int(i), {})[written] = _rounded(name, float(values[i]))
    cycle_keys = [{"at": round(float(at[i]), 4), "through": True, "pose": keys[i]} for i in sorted(keys)]
    return pose, cycle_keys or [{"at": 1.0, "pose": {}}]


def _parts(tracks: Mapping[str, Array]) -> list[str]:
    """Return the parts of the body that channels move."""
    of = {"trunk": "trunk", "neck": "head"}
    moved = {of.get(name.partition("_")[0]) or f"{name.partition('_')[0]}_arm" for name in tracks if not _below(name)}
    return [part for part in PARTS if part in moved]


def _written(name: str, near: str) -> str:
    side, _, rest = name.partition("_")
    return f"{'near' if side == near else 'far'}_{rest}" if side in ("left", "right") else name


def _kind(name: str) -> str:
    if name.endswith("foot_pitch"):
        return "foot_pitch"
    return "root" if name.startswith("root_") else "foot" if "_foot_" in name else ""


def _rounded(name: str, value: float) -> float:
    return round(value, 3 if _kind(name) in ("root", "foot") else 1) + 0.0


def _edges(contact: Array, travels: bool) -> Array:
    """Return the frames at the ends of each contact, between which a foot does not move.

    Where the body travels, those beside them too: a foot that stays moves relative to it, and must not slide.
    """
    near = (-2, -1, 0, 1) if travels else (0,)
    found = [i for run in true_intervals(contact) for k in near for i in (run.start + k, run.stop - 1 - k)]
    return np.array([i for i in found if 0 <= i < len(contact)], np.int64)


def _side(channels: Mapping[str, Array], feet: list[FootTrack]) -> str:
    """Return the side with limbs that move far more than those of the other side; empty if there is none."""
    arms = [
        sum(float(np.std(channels[f"{side}_{c}"])) for c in ("shoulder_flexion", "shoulder_abduction", "elbow_flexion"))
        for side in ("left", "right")
    ]
    legs = [100 * float(np.abs(foot.up).max()) for foot in feet]
    for left, right in (legs, arms):
        least = 12.0
        if max(left, right) > least and max(left, right) > ONE_SIDE * min(left, right):
            return "left" if left > right else "right"
    return ""


def _stages(clip: Repetition, near: str, paces: tuple[float, float, float], seconds: float) -> dict[str, Any]:
    """Return how an action travels, when its feet are lifted, and the steps into its first place and out of its last one.

    `paces` are the seconds of its three stages, and `seconds` those of the clip: a slower action travels as far.
    """
    last = len(clip.feet[0].contact) - 1

    def shares(run: slice) -> dict[str, float]:
        return {"begin": round(max(run.start - 0.5, 0) / last, 4), "end": round(min(run.stop - 0.5, last) / last, 4)}

    words = ["near" if side == near else "far" for side in SIDES]
    lifts: list[dict[str, Any]] = [
        {"foot": word, **shares(run)}
        for word, foot in zip(words, clip.feet, strict=True)
        for run in true_intervals(~foot.contact)
    ]
    lifts += [{"foot": "body", **shares(fall)} for fall in clip.falls]
    found: dict[str, Any] = {}
    courses = (travel.Course(np.zeros(2), np.zeros(2), 1.0),) * 2
    if clip.keys is not None and clip.start is not None:
        keys = clip.keys * (1, *(seconds / paces[1],) * 3)
        first, _, final = travel.follow(keys, paces, clip.start, FPS)
        courses = first, final
        found["travel"] = travel.as_entries(keys, -1.0 if near == "right" else 1.0)
    for stage, course in zip(("enter", "exit"), courses, strict=True):
        steps = stage_steps.stage_steps(clip.feet, words, course, stage == "enter")
        lifts += steps.lifts
        if steps.keys:
            found[f"{stage}_keys"] = steps.keys
    return found | ({"lifts": lifts} if lifts else {})


def blend_seconds(tracks: Mapping[str, Array], i: int, feet: list[FootTrack], lies: bool) -> float:
    """Return the seconds from standing to frame `i` of channels and feet, or back: more where more must move."""
    angle = max((abs(float(v[i])) for name, v in tracks.items() if not _kind(name)), default=0.0)
    low = max((abs(float(v[i])) for name, v in tracks.items() if _kind(name) == "root"), default=0.0)
    steps = sum(max(abs(float(foot.forward[i])), abs(float(foot.aside[i]))) > stage_steps.SAME_PLACE for foot in feet)
    in_air = any(not foot.contact[i] for foot in feet)
    seconds = max(0.35 + angle / 160 + low, 2 * STEP_SECONDS if steps else 0.0, 0.9 if in_air else 0.0)
    return round(min(seconds, 3.0 if lies else 2.0), 2)


def side_sign(clips: Sequence[ClipAction]) -> dict[str, str] | None:
    """Return the sign of the side, such as ``{"more": "foot_height"}``, or None if no signal shows it in all clips."""
    ahead = {name: [_ahead(clip, name) for clip in clips] for name in SIDE_SIGNALS}
    clear = {("more", name): min(values) for name, values in ahead.items()}
    clear |= {("less", name): -max(values) for name, values in ahead.items()}
    word, name = max(clear, key=clear.__getitem__)
    return {word: name} if clear[word, name] > _CLEAR_SIDE else None


def _ahead(clip: ClipAction, name: Signal) -> float:
    """Return the difference of the mean of a signal between the performing and the other side, over the whole action."""
    values = np.empty((2, len(clip.joints)))
    for side, out in zip((LEFT, RIGHT) if clip.side == "left" else (RIGHT, LEFT), values, strict=True):
        fill_signal(np.ascontiguousarray(clip.joints, np.float32), SIGNALS.index(name), side, out)
    enter, cycle, leave = (clip.entry[stage] for stage in ("enter", "cycle", "exit"))
    return float((values[0] - values[1]).mean() * cycle / (enter + cycle + leave))
