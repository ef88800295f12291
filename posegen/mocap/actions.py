"""One clip as an action: the entry of an action file that performs what the clip shows, in any body.

The clip is trimmed to its movement, and becomes the cycle of the action; `enter` and `exit` lead from standing into its first
pose and from its last one back. A clip that repeats a movement becomes one repetition of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posegen.arrays import Array
from posegen.dataset.clip_files import resample
from posegen.errors import UsageError
from posegen.evaluation.body import point, true_intervals
from posegen.mocap.key_poses import thinned
from posegen.mocap.pose_channels import Ground, body_channels, facing, leg_length
from posegen.mocap.repetitions import Cycle, find_cycle
from posegen.mocap.steps import CLEAR_UP, STEP_UP, FootTrack, contacts, flat_ankle_height, foot_track, longest_flight
from posegen.motion.scene_arrays import NEUTRAL
from posegen.skeleton import JOINT_LIMITS, PARTS

FPS = 30.0
"""Frames per second at which clips are examined."""
SMOOTH_SECONDS = 0.022
"""Standard deviation of the window that removes noise above 6 Hz."""
MOVING, PAUSE = 0.2, 0.15
"""Metres per second of the fastest joint that count as movement, and seconds that are kept before and behind it."""
SHORTEST, LONGEST = 0.3, 8.0
"""Seconds of the movement. Arms of different people lag by a share of it, which in longer ones would be another movement."""
LONGEST_FLIGHT = 0.14
"""Seconds without a foot on the ground. Free fall takes the same time at any tempo, and key poses of feet do not."""
LYING_HEIGHT, LYING_SLOPE = 0.4, 0.5
"""Leg lengths of the pelvis above the floor, and sine of the slope of the trunk, below which a body lies."""
MOST_TURN = 60.0
"""Degrees that the hips may turn from their first direction: an action stands on feet that keep theirs."""
MOST_TRAVEL = 0.95
"""Leg lengths that a foot may end away from where it stood: the action steps back that far."""
MOST_EXCESS = 20.0
"""Degrees by which an angle may leave its range: mocap is that inaccurate. It is then kept within the range."""
SQUAT, DEEPEST = -0.45, -0.62
"""Heights of the pelvis in leg lengths below which a squat becomes less deep, and that it does not reach."""
MOST_OUT = 32.0
"""Degrees that a knee points away from the direction of its foot."""
MOST_TWIST = 24.0
"""Degrees that a trunk turns or leans aside in key poses; amplitudes and persons add to them."""
FARTHEST = 1.95
"""Leg lengths that a foot may move away."""
SAME_PLACE = 0.08
"""Leg lengths by which a foot may stand elsewhere than in quiet standing without a step."""
TOLERANCE = {"root": 0.006, "foot": 0.008, "foot_pitch": 2.5}
DEGREES = 1.5
"""Largest differences between the curve through the key poses and the clip."""
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
STEP_SECONDS = 0.65


class SeveralActionsError(UsageError):
    """A clip is longer, or travels or turns further, than one action on the spot."""


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
    """

    entry: dict[str, Any]
    side: str
    seconds: float
    repetitions: int
    keys: int
    layered: bool
    joints: Array


def clip_action(joints: Array, fps: float, name: str) -> ClipAction:
    """Return the action that a clip shows.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, the floor at 0.
    fps : float
    name : str
        Of the clip, for messages.

    Raises
    ------
    UsageError
        If nothing moves for long enough, or the clip turns or travels further than an action on the spot can.
    """
    joints, begin = _trimmed(_smooth(resample(joints, fps, FPS)), name)
    contact = contacts(joints, FPS)
    flight = longest_flight(contact, FPS)
    if flight > LONGEST_FLIGHT:
        raise UsageError(
            f"{name}: has no foot on the ground for {flight:.2f} s; jumps are not imported: use posegen's own, or cut the clip"
        )
    ground = _ground(joints, contact)
    if _lies(joints, ground.leg):
        raise UsageError(f"{name}: lies on the floor; lying is not imported: use posegen's own, or cut the clip")
    turned = np.degrees(np.abs(facing(joints) - ground.facing)).max()
    if turned > MOST_TURN:
        raise SeveralActionsError(
            f"{name}: turns by {turned:.0f} degrees; an action on the spot turns by at most {MOST_TURN:g}: cut the clip"
        )
    channels = _with_room(_within_ranges(body_channels(joints, ground), name, begin))
    feet = [foot_track(joints, ground, side, on) for side, on in zip(("left", "right"), contact, strict=True)]
    cycle = find_cycle(np.stack([channels[c] * (1 if "root" not in c else 100) for c in sorted(channels)], -1), FPS)
    channels, feet = _one_cycle(channels, feet, cycle)
    feet = [_settled(foot) for foot in feet]
    travel = max(abs(float(v[-1])) for foot in feet for v in (foot.forward, foot.aside))
    away = max(float(np.abs(v).max()) for foot in feet for v in (foot.forward, foot.aside))
    if away > FARTHEST:
        raise SeveralActionsError(
            f"{name}: moves {away * ground.leg:.1f} m away; an action on the spot moves at most "
            f"{FARTHEST * ground.leg:.1f} m: cut the clip"
        )
    if travel > MOST_TRAVEL:
        far = travel * ground.leg
        most = MOST_TRAVEL * ground.leg
        raise SeveralActionsError(
            f"{name}: ends {far:.1f} m from where it begins; an action on the spot may end {most:.1f} m away: cut the clip"
        )
    return _assembled(channels, feet, cycle, joints[cycle.first : cycle.last + 1])


def _smooth(joints: Array) -> Array:
    sigma = SMOOTH_SECONDS * FPS
    reach = max(1, int(np.ceil(3 * sigma)))
    window = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    window /= window.sum()
    padded = np.concatenate([joints[:1].repeat(reach, 0), joints, joints[-1:].repeat(reach, 0)])
    return np.asarray(sum(w * padded[i : i + len(joints)] for i, w in enumerate(window)))


def _within_ranges(channels: Mapping[str, Array], name: str, begin: float) -> dict[str, Array]:
    """Return channels within the ranges of their joints; refuse a clip that leaves one by far, which no smoothing explains."""
    kept = dict(channels)
    for channel, values in channels.items():
        side, _, angle = channel.partition("_") if channel.startswith(("left_", "right_")) else ("", "", channel)
        if angle not in JOINT_LIMITS:
            continue
        neutral = NEUTRAL.get(angle, 0.0)
        low, high = (limit - neutral for limit in JOINT_LIMITS[angle])
        over = np.maximum(low - values, values - high)
        worst = int(over.argmax())
        if over[worst] > MOST_EXCESS:
            joint, at = f"{side} {angle.replace('_', ' ')}".strip(), begin + worst / FPS
            raise UsageError(
                f"{name}: {joint} is {values[worst] + neutral:.0f} degrees at {at:.2f} s, outside of its range of "
                f"{JOINT_LIMITS[angle][0]:g} to {JOINT_LIMITS[angle][1]:g}: repair the clip, or leave it out"
            )
        kept[channel] = np.clip(values, low, high)
    return kept


def _with_room(channels: dict[str, Array]) -> dict[str, Array]:
    """Return channels that leave room for other amplitudes and bodies: less deep, and less turned where the trunk is bent.

    A knee in a deep squat points forward rather than out, and a trunk that is bent, turned and inclined at once stays within
    the ranges of all three.
    """
    low = channels["root_height"]
    over = np.maximum(SQUAT - low, 0.0)
    room = DEEPEST - SQUAT
    channels = channels | {"root_height": np.maximum(low, SQUAT) - over / (1 + over / -room)}
    deep = np.clip(-low / -SQUAT, 0, 1)
    for side in ("left", "right"):
        most = MOST_OUT - 10.0 * deep
        channels[f"{side}_hip_rotation"] = np.clip(channels[f"{side}_hip_rotation"], -most, most)
    bent = 1 - 0.35 * np.clip(np.abs(channels["trunk_flexion"]) / 60, 0, 1)
    for name in ("trunk_rotation", "trunk_lateral"):
        channels[name] = np.clip(channels[name], -MOST_TWIST * bent, MOST_TWIST * bent)
    return channels


def _trimmed(joints: Array, name: str) -> tuple[Array, float]:
    """Return the frames in which something moves, and the seconds before them."""
    if len(joints) < SHORTEST * FPS:
        raise UsageError(f"{name}: has {len(joints) / FPS:.2f} s; give a clip of at least {SHORTEST:g} s")
    speed = np.sqrt((np.gradient(joints, axis=0) ** 2).sum(-1)).max(axis=1) * FPS
    moving = np.flatnonzero(speed > MOVING)
    if len(moving) == 0:
        raise UsageError(f"{name}: nothing moves in it; leave it out")
    first, last = max(0, int(moving[0] - PAUSE * FPS)), min(len(joints), int(moving[-1] + PAUSE * FPS) + 1)
    if not SHORTEST * FPS <= last - first <= LONGEST * FPS:
        kind = SeveralActionsError if last - first > LONGEST * FPS else UsageError
        raise kind(
            f"{name}: moves for {(last - first) / FPS:.1f} s; an action lasts {SHORTEST:g} to {LONGEST:g} s: cut the clip"
        )
    return joints[first:last], first / FPS


def _ground(joints: Array, contact: Array) -> Ground:
    way = facing(joints)
    few = max(1, len(way) // 20)
    begin, end = way[:few].mean(), way[-few:].mean()
    forward = (begin + end) / 2 if abs(end - begin) < np.radians(30) else begin
    ankles = (joints[0, 7] + joints[0, 8]) / 2
    return Ground(ankles * (1, 0, 1), float(forward), leg_length(joints), flat_ankle_height(joints, contact))


def _lies(joints: Array, leg: float) -> bool:
    """Return whether the trunk lies more than it stands near the floor, where other points than the feet carry the body."""
    trunk = point(joints, "neck") - point(joints, "pelvis")
    flat = trunk[:, 1] < LYING_SLOPE * np.sqrt((trunk**2).sum(-1))
    return bool((flat & (point(joints, "pelvis")[:, 1] < LYING_HEIGHT * leg)).any())


def _settled(foot: FootTrack) -> FootTrack:
    """Return a foot whose first place is that of quiet standing, if it is near enough."""
    if abs(foot.forward[0]) < SAME_PLACE and abs(foot.aside[0]) < SAME_PLACE:
        return foot._replace(forward=foot.forward - foot.forward[0], aside=foot.aside - foot.aside[0])
    return foot


def _one_cycle(channels: Mapping[str, Array], feet: list[FootTrack], cycle: Cycle) -> tuple[dict[str, Array], list[FootTrack]]:
    first, last = cycle.first, cycle.last + 1
    cut = {name: values[first:last] for name, values in channels.items()}
    feet = [FootTrack(*(values[first:last].copy() for values in foot)) for foot in feet]
    if cycle.repeated > 1:
        # The end of a repetition is the beginning of the next one.
        share = np.linspace(-0.5, 0.5, last - first)
        near = np.clip(np.abs(share) * 4 - 1, 0, 1) * np.sign(share)
        for values in (*cut.values(), *(v for foot in feet for v in foot[1:])):
            gap = values[-1] - values[0]
            values -= 0.5 * gap * near
    return cut, feet


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


def _assembled(channels: dict[str, Array], feet: list[FootTrack], cycle: Cycle, joints: Array) -> ClipAction:
    tracks, layered = _moved(channels, feet)
    side = _side(channels, feet)
    near = side or "right"
    lifts, extra = ([], {}) if layered else _lifts(feet, near)  # a layer leaves the feet where they are
    pose, cycle_keys = _key_poses(tracks, feet, near)
    seconds = (len(joints) - 1) / FPS
    enter, leave = (_blend_seconds(tracks, i, feet) for i in (0, -1))
    parts = [_written(part, near) if side else part for part in _parts(tracks)] if layered else list(PARTS)
    entry: dict[str, Any] = {
        "parts": parts,
        "layered": layered,
        "sided": bool(side),
        "enter": enter,
        "exit": leave,
        "cycle": round(seconds, 3),
    }
    entry["repetitions"] = [1, max(1, min(2 * cycle.repeated, 12)) if cycle.repeated > 1 else 1]
    entry |= {"pose": pose, "cycle_keys": cycle_keys, **extra}
    if lifts:
        entry["lifts"] = lifts
    if not layered and float(channels["root_height"].min()) < BENT_ANKLES:
        entry["ranges"] = {"ankle_dorsiflexion": FLAT_FOOT}
    return ClipAction(entry, side, seconds, cycle.repeated, len(cycle_keys), layered, joints)


def _moved(channels: Mapping[str, Array], feet: list[FootTrack]) -> tuple[dict[str, Array], bool]:
    """Return the channels of body and feet that move, and whether they can be performed over another action."""
    stays = all(foot.contact.all() and abs(foot.forward[0]) + abs(foot.aside[0]) == 0 for foot in feet)
    tracks = dict(channels)
    for side, foot in zip(("left", "right"), feet, strict=True):
        if not stays:
            tracks |= {f"{side}_foot_{n}": v for n, v in zip(("forward", "aside", "up", "pitch"), foot[1:], strict=True)}
        elif np.abs(foot.pitch).max() > STILL_DEGREES:
            tracks[f"{side}_foot_pitch"] = foot.pitch
    layered = _is_layered(channels, feet)
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


def _key_poses(tracks: Mapping[str, Array], feet: list[FootTrack], near: str) -> tuple[dict[str, float], list[dict[str, Any]]]:
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
        forced = _edges(feet[("left", "right").index(limb)].contact) if limb else np.zeros(0, np.int64)
        for i in thinned(at, values, _tolerance(name), forced):
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


def _edges(contact: Array) -> Array:
    """Return the frames at the ends of each contact, between which a foot does not move."""
    runs = true_intervals(contact)
    return np.array([i for run in runs for i in (run.start, run.stop - 1)], np.int64)


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


def _lifts(feet: list[FootTrack], near: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the intervals in which feet are lifted, and the keys of the steps into the first place and out of the last one."""
    lifts: list[dict[str, Any]] = []
    stages: dict[str, dict[float, dict[str, float]]] = {"enter": {}, "exit": {}}
    last = len(feet[0].contact) - 1
    moved = {"enter": 0, "exit": 0}
    for side, foot in zip(("left", "right"), feet, strict=True):
        word = "near" if side == near else "far"
        for run in true_intervals(~foot.contact):
            begin, end = max(run.start - 0.5, 0) / last, min(run.stop - 0.5, last) / last
            lifts.append({"foot": word, "begin": round(begin, 4), "end": round(end, 4)})
        for stage, i in (("enter", 0), ("exit", -1)):
            away = max(abs(float(foot.forward[i])), abs(float(foot.aside[i])))
            here = {f"{word}_foot_forward": float(foot.forward[i]), f"{word}_foot_aside": float(foot.aside[i])}
            none = dict.fromkeys(here, 0.0)
            down, rising, middle = ({f"{word}_foot_up": up} for up in (0.0, CLEAR_UP, STEP_UP))
            course: tuple[tuple[float, dict[str, float]], ...] = ()
            if not foot.contact[i]:
                begin, end = (0.3, 1.0) if stage == "enter" else (0.0, 0.7)
                course = (
                    ((0.0, none | down), (0.15, none | rising))
                    if stage == "enter"
                    else ((0.5, none | rising), (0.7, none | down))
                )
            elif away > (SAME_PLACE if stage == "exit" else 0):
                # One foot after the other.
                begin = 0.06 + 0.46 * moved[stage]
                end = begin + 0.4
                moved[stage] += 1
                before, after = (none, here) if stage == "enter" else (here, none)
                halfway = {name: 0.5 * value for name, value in here.items()}
                course = (
                    (0.0, before | down),
                    (0.1, before | rising),
                    (0.2, halfway | middle),
                    (0.3, after | rising),
                    (0.4, after | down),
                )
            if course:
                lifts.append({"stage": stage, "foot": word, "begin": round(begin, 2), "end": round(end, 2)})
                for at, pose in ((begin + later, pose) for later, pose in course):
                    rounded = {name: round(value, 3) for name, value in pose.items()}
                    stages[stage].setdefault(round(at, 2), {}).update(rounded)
    keys = {
        f"{stage}_keys": [{"at": at, "through": True, "pose": pose} for at, pose in sorted(poses.items())]
        for stage, poses in stages.items()
        if poses
    }
    return lifts, keys


def _blend_seconds(tracks: Mapping[str, Array], i: int, feet: list[FootTrack]) -> float:
    angle = max((abs(float(v[i])) for name, v in tracks.items() if not _kind(name)), default=0.0)
    low = max((abs(float(v[i])) for name, v in tracks.items() if _kind(name) == "root"), default=0.0)
    steps = sum(max(abs(float(foot.forward[i])), abs(float(foot.aside[i]))) > SAME_PLACE for foot in feet)
    in_air = any(not foot.contact[i] for foot in feet)
    seconds = max(0.35 + angle / 160 + low, 2 * STEP_SECONDS if steps else 0.0, 0.9 if in_air else 0.0)
    return round(min(seconds, 2.0), 2)
