"""One clip as an action, in any body: the clip is trimmed to its movement, and to one repetition if it repeats.

Not responsible for how that becomes key poses, see :mod:`posegen.mocap.clip_entry`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.evaluation.body import point
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINT_LIMITS
from posegen.library.stages import MOST_TRAVEL_KEYS
from posegen.mocap import clip_entry, steps
from posegen.mocap.clip_entry import FPS, SIDES, ClipAction, Cycle, Repetition
from posegen.mocap.pose_channels import Ground, body_channels, facing, leg_length, on_ground, standing_angles
from posegen.mocap.stage_steps import SAME_PLACE
from posegen.mocap.steps import FootTrack
from posegen.mocap.travel import Course, fit_rates, follow, low_pass, rate_keys, rates_of, smooth_course, stage_seconds
from posegen.motion.channels import MOST_TURNED, SHOULDER_LEAD, SHOULDERS_TURN
from posegen.motion.scene_arrays import NEUTRAL

SMOOTH_SECONDS = 0.022
"""Standard deviation of the window that removes noise above 6 Hz."""
MOVING, PAUSE = 0.2, 0.15
"""Metres per second of the fastest joint that count as movement, and seconds that are kept before and after it."""
SHORTEST, LONGEST = 0.3, 8.0
"""Seconds of the movement. Arms of different people lag by a share of it, which in longer ones would be another movement."""
LONGEST_LYING = 14.0
"""Seconds of a movement that contains its own reverse, on the floor and back."""
SLOW = 0.5
"""Leg lengths per second up to which a clip may begin and end with both feet on the ground."""
EDGE_SECONDS = 1.2
"""Seconds from which the begin and the end of a clip that travels may be cut off."""
STEADY_FRAMES = (2, 1, 0)
"""Frames around the begin and the end of a stride with the same foot on the ground; the largest possible number is used."""
TURN_SECONDS = 0.3
"""Seconds to begin and to end a turn in a clip without repetitions."""
MOST_RATES = 120
"""Rates of travel in all repetitions: the engine holds so many."""
MOST_TURN = 60.0
"""Degrees that the hips may turn from their first direction in an action on the spot."""
MOST_TRAVEL = 0.95
"""Leg lengths that a foot may end away from where it stood in an action on the spot, which steps back that far."""
MOST_EXCESS, MOST_EXCESS_TURNED = 20.0, 35.0
"""Maximum degrees of an angle outside its range, the inaccuracy of mocap. The angle is then clipped to the range. The rotation
of the trunk is measured by the line between the collars, and shoulder blades turn this line further."""
CIRCLED = 90.0
"""Degrees beyond its range from which a shoulder is not inaccurate, but its arm circles."""
SQUAT, DEEPEST = -0.62, -0.74
"""Heights of the pelvis in leg lengths below which a squat becomes less deep, and that it does not reach."""
MOST_OUT = 32.0
"""Degrees that a knee points away from the direction of its foot."""
MOST_TWIST = 24.0
"""Degrees that a trunk turns or leans aside in key poses; amplitudes and persons add to them."""
FARTHEST = 1.95
"""Leg lengths that a foot may move away."""


class SeveralActionsError(UsageError):
    """A clip is longer than one action."""


def clip_action(joints: Array, fps: float, name: str, standing: Mapping[str, float] | None = None) -> ClipAction:
    """Return the action that a clip shows.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, the floor at 0.
    fps : float
    name : str
        Of the clip, for messages.
    standing : mapping of str to float, optional
        See :func:`posegen.mocap.pose_channels.standing_angles`; by default, those of the clip.

    Raises
    ------
    UsageError
        If nothing moves for long enough, a joint leaves its range, or something else than the feet carries the body.
    """
    joints, begin = _trimmed(low_pass(resample(joints, fps, FPS), SMOOTH_SECONDS * FPS), name)
    standing = standing or standing_angles(joints) or {}
    joints, lies = _with_return(joints)
    contact = steps.contacts(joints, FPS)
    falls = steps.find_flights(joints, contact, lies, FPS, name)
    ground = _ground(joints, contact, lies)
    if _stays(joints, ground, contact, falls):
        channels = _within(body_channels(joints, ground, standing=standing), lies, name, begin)
        feet = [steps.foot_track(joints, ground, side, on, lies) for side, on in zip(SIDES, contact, strict=True)]
        cycle = clip_entry.find_cycle(_in_degrees(channels), FPS)
        _refuse_long(joints, cycle, lies, name)
        channels, feet = _one_cycle(channels, feet, cycle)
        clip = Repetition(channels, [_settled(foot) for foot in feet], cycle, lies[cycle.first : cycle.last + 1], [])
        return clip_entry.assemble_action(clip, joints[cycle.first : cycle.last + 1], ground)
    if lies.any():
        raise UsageError(f"{name}: travels or turns as it lies, and an action lies down and gets up in one place: cut the clip")
    return _travelling(joints, contact, falls, ground, standing, name, begin)


def _travelling(
    joints: Array,
    contact: Array,
    falls: list[slice],
    ground: Ground,
    standing: Mapping[str, float],
    name: str,
    begin: float,
) -> ClipAction:
    """Return the action of a clip that travels, turns or leaves the ground, relative to its path."""
    lies = np.zeros(len(joints), bool)
    course = smooth_course(joints, FPS, ground.leg)
    rates = rates_of(course, FPS)
    cycle = clip_entry.find_cycle(_gait_features(joints, course, ground), FPS)
    _refuse_long(joints, cycle, lies, name)
    span = _strides(contact, rates, cycle) if cycle.repeated > 1 else _begun_and_ended(joints, contact, rates, name)
    where = slice(span.first, span.last + 1)
    joints, contact, lies, rates = joints[where], contact[:, where], lies[where], rates[where].copy()
    falls = [slice(max(fall.start - span.first, 0), fall.stop - span.first) for fall in falls if fall.stop > span.first]
    falls = [slice(fall.start, min(fall.stop, len(joints))) for fall in falls if fall.start < len(joints)]
    if span.repeated > 1:
        rates -= (rates[-1] - rates[0]) * np.linspace(-0.5, 0.5, len(rates))[:, None]  # the end is the next beginning
    else:
        _end_turns(rates)
    chosen = rate_keys(rates, min(MOST_TRAVEL_KEYS, MOST_RATES // clip_entry.most_repetitions(span)))
    keys = np.column_stack([chosen / (len(rates) - 1), rates[chosen]])
    start = Course(course.place[span.first :], course.heading[span.first :], course.leg)
    stages = (1.0, (len(joints) - 1) / FPS, 1.0)
    if span.repeated == 1:
        keys = fit_rates(keys, rates, stages, start, FPS)
    course = follow(keys, stages, start, FPS)[1]
    path = _below_path(course, ground)
    feet = [steps.foot_track(joints, ground, side, on, lies, course.heading) for side, on in zip(SIDES, contact, strict=True)]
    tracks = [steps.along_path(foot, number, ground, path) for number, foot in enumerate(feet)]
    yaws = steps.foot_yaw(feet[0], course.heading), steps.foot_yaw(feet[1], course.heading)
    channels = _within(body_channels(joints, path, yaws, standing), lies, name, begin + span.first / FPS)
    channels = _unled(channels, course, rates)
    channels, tracks = _one_cycle(channels, tracks, Cycle(0, len(joints) - 1, span.repeated))
    shortest = [clip_entry.blend_seconds(channels, i, tracks, lies[i]) for i in (0, -1)]
    speeds = [float(np.hypot(*rates[i, :2])) for i in (0, -1)]
    behind = [_carrying(tracks, i) for i in (0, -1)]
    seconds = [
        max(stage_seconds(speed, sense * at), least if speed < 0.25 else 0.0)
        for speed, at, least, sense in zip(speeds, behind, shortest, (-1, 1), strict=True)
    ]
    clip = Repetition(channels, tracks, span, lies, falls, keys, start, (round(seconds[0], 2), round(seconds[1], 2)))
    return clip_entry.assemble_action(clip, joints, path)


def _within(channels: Mapping[str, Array], lies: Array, name: str, begin: float) -> dict[str, Array]:
    """Return channels within the ranges of their joints; refuse a clip that leaves one by far, which no smoothing explains.

    Unless the body lies in some frames, channels also leave room for other amplitudes and bodies.
    """
    kept = dict(channels)
    for channel, values in channels.items():
        side, _, angle = channel.partition("_") if channel.startswith(("left_", "right_")) else ("", "", channel)
        if angle not in JOINT_LIMITS:
            continue
        neutral = NEUTRAL.get(angle, 0.0)
        low, high = (limit - neutral for limit in JOINT_LIMITS[angle])
        over = np.maximum(low - values, values - high)
        if angle == "shoulder_flexion":
            # The further an arm is to the side, the less its flexion moves it.
            abduction = channels[channel.replace("flexion", "abduction")] + NEUTRAL["shoulder_abduction"]
            over = over * np.abs(np.cos(np.radians(abduction)))
        worst = int(over.argmax())
        if over[worst] > (MOST_EXCESS_TURNED if angle == "trunk_rotation" else MOST_EXCESS):
            joint, at = f"{side} {angle.replace('_', ' ')}".strip(), begin + worst / FPS
            usual = f"its range of {JOINT_LIMITS[angle][0]:g} to {JOINT_LIMITS[angle][1]:g}"
            fault = f"{joint} is {values[worst] + neutral:.0f} degrees at {at:.2f} s, outside of {usual}: repair the clip"
            if angle == "shoulder_flexion" and over[worst] > CIRCLED:
                fault = f"{side} arm circles and would end wound up: cut the clip before {at:.2f} s"
            raise UsageError(f"{name}: {fault}, or leave it out")
        kept[channel] = np.clip(values, low, high)
    return kept if lies.any() else _with_room(kept)


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
    if last - first < SHORTEST * FPS:
        seconds = (last - first) / FPS
        raise UsageError(f"{name}: moves for {seconds:.1f} s; an action lasts at least {SHORTEST:g} s: leave it out")
    return joints[first:last], first / FPS


def _refuse_long(joints: Array, cycle: Cycle, lies: Array, name: str) -> None:
    seconds = (cycle.last - cycle.first) / FPS
    if seconds > (LONGEST_LYING if lies.any() else LONGEST):
        raise SeveralActionsError(f"{name}: moves for {seconds:.1f} s; an action lasts at most {LONGEST:g} s: cut the clip")


def _with_return(joints: Array) -> tuple[Array, Array]:
    """Return a clip that begins and ends on the feet, and whether the body lies in each frame.

    A clip that ends in lying is followed by its own reverse, and one that begins in lying follows it.
    """
    lies = steps.lying(joints, leg_length(joints))
    if lies[-1] and not lies[0]:
        joints = np.concatenate([joints, joints[-2::-1]])
    elif lies[0] and not lies[-1]:
        joints = np.concatenate([joints[:0:-1], joints])
    return joints, steps.lying(joints, leg_length(joints))


def _stays(joints: Array, ground: Ground, contact: Array, falls: list[slice]) -> bool:
    """Return whether a clip is performed on the spot: it neither travels, turns far, nor leaves the ground."""
    if falls or np.degrees(np.abs(facing(joints) - ground.facing)).max() > MOST_TURN:
        return False
    body = on_ground(joints, ground)
    ankles = np.stack([point(body, f"{side}_ankle") for side in SIDES], axis=1)
    home = ankles - np.array([[steps.STANCE_HALF_WIDTH, 0, 0], [-steps.STANCE_HALF_WIDTH, 0, 0]])
    ends = max(float(np.abs(home[-1][:, [0, 2]]).max()), float(np.abs(home[0][:, [0, 2]]).max()))
    return bool(ends <= MOST_TRAVEL and np.abs(home[..., [0, 2]]).max() <= FARTHEST and contact[:, [0, -1]].any())


def _gait_features(joints: Array, course: Course, ground: Ground) -> Array:
    """Return the features of strides: angles in degrees, and ankles relative to the body in hundredths of the leg."""
    path = _below_path(course, ground)
    channels, body = body_channels(joints, path), on_ground(joints, path)
    ankles = [100 * point(body, f"{side}_ankle") for side in SIDES]
    return np.concatenate([_in_degrees(channels), *ankles], axis=-1)


def _in_degrees(channels: Mapping[str, Array]) -> Array:
    """Return channels as columns [frame, channel]; a hundredth of the leg counts as a degree."""
    return np.stack([channels[name] * (100 if "root" in name else 1) for name in sorted(channels)], axis=-1)


def _strides(contact: Array, rates: Array, cycle: Cycle) -> Cycle:
    """Return a repetition that begins in the middle of a step, as it is begun from standing."""
    period = cycle.last - cycle.first
    starts = np.arange(contact.shape[1] - period)
    lone = np.zeros(0, np.int64)
    for frames in STEADY_FRAMES:
        # The same foot is on the ground around the begin and around the end.
        around = np.clip(starts[:, None] + np.arange(-frames, frames + 1), 0, len(starts) - 1)
        seen = contact[:, np.stack([around, around + period])]
        lone = np.flatnonzero((seen == seen[:, :1, :, :1]).all(axis=(0, 1, 3)) & (contact[:, starts].sum(axis=0) == 1))
        if len(lone):
            break
    if np.hypot(*rates[cycle.first, :2]) < SLOW or not len(lone):
        return cycle
    runs = np.split(lone, np.flatnonzero(np.diff(lone) > 1) + 1)
    begins = np.array([run[len(run) // 2] for run in runs])
    first = int(begins[np.abs(begins - cycle.first).argmin()])
    return Cycle(first, first + period, cycle.repeated)


def _begun_and_ended(joints: Array, contact: Array, rates: Array, name: str) -> Cycle:
    """Return a clip that begins and ends with a foot on the ground: at speed, in the middle of a step."""
    feet, fast = contact.sum(axis=0), np.sqrt((rates[:, :2] ** 2).sum(-1)) > SLOW
    within = min(round(EDGE_SECONDS * FPS), len(feet) // 3)
    pelvis = point(joints, "pelvis")
    forward = np.gradient(pelvis, axis=0)
    ankles = np.stack([point(joints, f"{side}_ankle") for side in SIDES])
    # Which foot carries the body, and whether the body has passed it.
    passed = (((ankles - pelvis) * forward)[..., [0, 2]].sum(-1) * contact).sum(axis=0) <= 0

    def chosen(order: Array, behind: bool) -> int:
        alone = (feet[order] == 1) & (passed[order] == behind)
        if fast[order[0]] and alone.any():
            return int(order[alone.argmax()])
        fits = feet[order] > 0
        return int(order[fits.argmax()]) if fits.any() else -1

    first, last = chosen(np.arange(within), True), chosen(np.arange(len(feet) - 1, len(feet) - 1 - within, -1), False)
    if min(first, last) < 0:
        raise UsageError(f"{name}: begins or ends in the air; cut the clip while a foot is on the ground")
    return Cycle(first, last, 1)


def _end_turns(rates: Array) -> None:
    """Change rates so that a slow body does not turn in the first and the last stage."""
    edge = np.clip(np.arange(len(rates)) / (TURN_SECONDS * FPS), 0, 1)
    edge = edge * edge * (3 - 2 * edge)
    for ordered in (rates, rates[::-1]):
        if np.hypot(*ordered[0, :2]) < SLOW:
            ordered[:, 2] *= edge


def _below_path(course: Course, ground: Ground) -> Ground:
    origin = np.stack([course.place.imag, 0 * course.heading, course.place.real], -1)
    return ground._replace(origin=origin, facing=course.heading)


def _unled(channels: dict[str, Array], course: Course, rates: Array) -> dict[str, Array]:
    """Return channels without the additions of the engine: shoulders ahead of a turn, and a lean into curves."""
    later = np.minimum(np.arange(len(rates)) + round(SHOULDER_LEAD * FPS), len(rates) - 1)
    ahead = np.clip(np.degrees(course.heading[later] - course.heading), -360 * MOST_TURNED, 360 * MOST_TURNED)
    lean = np.degrees(0.5 / GRAVITY * rates[:, 0] * course.leg * np.radians(rates[:, 2]))
    return channels | {
        "trunk_rotation": channels["trunk_rotation"] - SHOULDERS_TURN * ahead,
        "trunk_lateral": channels["trunk_lateral"] - lean,
    }


def _carrying(feet: list[FootTrack], at: int) -> float:
    """Return how far the foot that carries the body is ahead of it; 0 if both do, or none."""
    on = [foot for foot in feet if foot.contact[at]]
    return float(on[0].forward[at]) if len(on) == 1 else 0.0


def _ground(joints: Array, contact: Array, lies: Array) -> Ground:
    way = facing(joints)
    few = max(1, len(way) // 20)
    begin, end = way[:few].mean(), way[-few:].mean()
    forward = (begin + end) / 2 if abs(end - begin) < np.radians(30) else begin
    ankles = (joints[0, 7] + joints[0, 8]) / 2
    return Ground(ankles * (1, 0, 1), float(forward), leg_length(joints), steps.flat_ankle_height(joints, contact, lies))


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
