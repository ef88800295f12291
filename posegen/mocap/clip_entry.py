"""The entry of an action file that performs one repetition of a clip.

The repetition becomes the cycle of the action; `enter` and `exit` lead from standing into its first pose and from its last one
back. Curves of channels become key poses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posegen.evaluation.body import joint_angles, true_intervals
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINT_LIMITS, PARTS
from posegen.mocap.key_poses import thinned
from posegen.mocap.pose_channels import Ground, standing_height
from posegen.mocap.repetitions import Cycle
from posegen.mocap.stage_steps import SAME_PLACE, stage_steps
from posegen.mocap.steps import FootTrack
from posegen.mocap.travel import Course, as_entries, follow

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
BENT_ANKLES = -0.3
"""Height of the pelvis in leg lengths below which a flat foot bends the ankle further than its usual range."""
FLAT_FOOT = {"max": 40, "source": "a flat foot under the body's weight, 40.6 +- 5.2 degrees (Calatayud et al. 2015)"}
HIP_ROOM, HIP_BEYOND = 8.0, 20.0
"""Degrees of extra hip abduction allowed for other bodies: relative to the clip, and beyond the usual range."""
STEP_SECONDS = 0.65


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
    start: Course | None = None
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
    layered : bool
        Whether it moves nothing but arms, trunk and head, so that it may be performed over another action.
    joints : float64 [frame, 22, 3]
        One repetition, in which its side and its count are looked for.
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
    layered: bool
    joints: Array
    paced: Callable[[float, float, float], dict[str, Any]]
    with_feet_apart: Callable[[float], ClipAction]


def most_repetitions(cycle: Cycle) -> int:
    """Return the most repetitions in a row: twice those of the clip, 12 at most; 1 if the clip does not repeat."""
    return min(2 * cycle.repeated, 12) if cycle.repeated > 1 else 1


def assemble_action(clip: Repetition, joints: Array, ground: Ground) -> ClipAction:
    """Return the action that performs a repetition, whose joints are float64 [frame, 22, 3]."""
    channels, feet, cycle, travels = clip.channels, clip.feet, clip.cycle, clip.keys is not None
    if clip.lies.any():
        channels = channels | {"root_height": channels["root_height"] / standing_height(ground)}
    tracks, layered = _moved(channels, feet, travels)
    side = _side(channels, feet)
    near = side or "right"
    seconds = (len(joints) - 1) / FPS
    enter, leave = clip.seconds if travels else (blend_seconds(tracks, i, feet, clip.lies[i]) for i in (0, -1))
    pose, cycle_keys = _key_poses(tracks, feet, near, travels)
    parts = [_written(part, near) if side else part for part in _parts(tracks)] if layered else list(PARTS)
    plain: dict[str, Any] = {
        "parts": parts,
        "layered": layered,
        "sided": bool(side),
        "support": "floor" if clip.lies.any() else "planted",
    }
    moved: dict[str, Any] = {"repetitions": [1, most_repetitions(cycle)], "pose": pose, "cycle_keys": cycle_keys}
    if not layered:
        ranges = {"ankle_dorsiflexion": FLAT_FOOT} if travels or float(channels["root_height"].min()) < BENT_ANKLES else {}
        if ranges := ranges | _hip_range(joints):
            moved["ranges"] = ranges

    def paced(enter: float, cycle: float, leave: float) -> dict[str, Any]:
        paces = {"enter": enter, "exit": leave, "cycle": cycle}
        # A layer leaves the feet where they are.
        return plain | paces | moved | ({} if layered else _stages(clip, near, (enter, cycle, leave), seconds))

    def with_feet_apart(more: float) -> ClipAction:
        return assemble_action(clip._replace(feet=[foot._replace(aside=foot.aside + more) for foot in feet]), joints, ground)

    entry = paced(enter, round(seconds, 3), leave)
    return ClipAction(entry, side, seconds, cycle.repeated, len(cycle_keys), layered, joints, paced, with_feet_apart)


def _hip_range(joints: Array) -> dict[str, dict[str, Any]]:
    """Return the range of hips that move further to the side than usual, if those of a clip do; joints are [frame, 22, 3]."""
    angles = joint_angles(joints)
    seen = np.concatenate([angles[f"{side}_hip_abduction"] for side in SIDES])
    low, high = JOINT_LIMITS["hip_abduction"]
    least, most = max(seen.min() - HIP_ROOM, low - HIP_BEYOND), min(seen.max() + HIP_ROOM, high + HIP_BEYOND)
    found: dict[str, Any] = {}
    if least < low:
        found["min"] = int(np.floor(least))
    if most > high:
        found["max"] = int(np.ceil(most))
    return {"hip_abduction": found | {"source": "hips of the clip, and a little more"}} if found else {}


def _is_layered(channels: Mapping[str, Array], feet: list[FootTrack]) -> bool:
    """Return whether legs and pelvis stay as in standing."""
    stands = all(foot.contact.all() and np.abs(foot.pitch).max() < STANDING_PITCH for foot in feet)
    pelvis = (
        np.ptp(values) < (STANDING_SWAY if name.startswith("root") else STANDING_DEGREES)
        for name, values in channels.items()
        if _below(name)
    )
    return stands and all(pelvis)


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
    layered = not travels and _is_layered(channels, feet)
    if layered:
        tracks = {
            name: values
            for name, values in tracks.items()
            if not _below(name)
            and "_foot_" not in name
            and (not name.startswith("trunk") or np.abs(values).max() > 2 * STILL_DEGREES)
        }
    tracks = {name: values for name, values in tracks.items() if not _is_still(name, values)}
    return tracks, layered and any("_arm" in part for part in _parts(tracks))


def _key_poses(
    tracks: Mapping[str, Array], feet: list[FootTrack], near: str, travels: bool
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the first pose, and the key poses behind it."""
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
        for i in thinned(at, values, _tolerance(name) * (FINER if limb and travels else 1.0), forced):
            if i > 0:
                keys.setdefault(int(i), {})[written] = _rounded(name, float(values[i]))
    cycle_keys = [{"at": round(float(at[i]), 4), "through": True, "pose": keys[i]} for i in sorted(keys)]
    return pose, cycle_keys or [{"at": 1.0, "pose": {}}]


_FLIPPED = {
    "root_lateral", "pelvis_obliquity", "pelvis_rotation", "trunk_rotation", "neck_rotation", "trunk_lateral", "neck_lateral",
}  # fmt: skip
"""Channels that are positive to the left, in files to the near side."""


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


def _tolerance(name: str) -> float:
    return TOLERANCE.get(_kind(name), DEGREES)


def _rounded(name: str, value: float) -> float:
    return round(value, 3 if _kind(name) in ("root", "foot") else 1) + 0.0


def _is_still(name: str, values: Array) -> bool:
    return bool(np.abs(values).max() < STILL.get(_kind(name), STILL_DEGREES))


def _edges(contact: Array, travels: bool) -> Array:
    """Return the frames at the ends of each contact, between which a foot does not move.

    Where the body travels, those beside them too: a foot that stays moves relative to it, and must not slide.
    """
    near = (-2, -1, 0, 1) if travels else (0,)
    found = [i for run in true_intervals(contact) for k in near for i in (run.start + k, run.stop - 1 - k)]
    return np.array([i for i in found if 0 <= i < len(contact)], np.int64)


def _side(channels: Mapping[str, Array], feet: list[FootTrack]) -> str:
    """Return the side whose limbs move far more than those of the other one."""
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
    courses = (Course(np.zeros((2, 2)), np.zeros(2), 1.0),) * 2
    if clip.keys is not None and clip.start is not None:
        keys = clip.keys * (1, *(seconds / paces[1],) * 3)
        first, _, final = follow(keys, paces, clip.start, FPS)
        courses = first, final
        found["travel"] = as_entries(keys, -1.0 if near == "right" else 1.0)
    for stage, course in zip(("enter", "exit"), courses, strict=True):
        steps = stage_steps(clip.feet, words, course, stage == "enter")
        lifts += steps.lifts
        if steps.keys:
            found[f"{stage}_keys"] = steps.keys
    return found | ({"lifts": lifts} if lifts else {})


def blend_seconds(tracks: Mapping[str, Array], i: int, feet: list[FootTrack], lies: bool) -> float:
    """Return the seconds from standing to frame `i` of channels and feet, or back: more where more must move."""
    angle = max((abs(float(v[i])) for name, v in tracks.items() if not _kind(name)), default=0.0)
    low = max((abs(float(v[i])) for name, v in tracks.items() if _kind(name) == "root"), default=0.0)
    steps = sum(max(abs(float(foot.forward[i])), abs(float(foot.aside[i]))) > SAME_PLACE for foot in feet)
    in_air = any(not foot.contact[i] for foot in feet)
    seconds = max(0.35 + angle / 160 + low, 2 * STEP_SECONDS if steps else 0.0, 0.9 if in_air else 0.0)
    return round(min(seconds, 3.0 if lies else 2.0), 2)
