"""Resting postures: how the arms, the trunk and the head of a person change while nothing else moves them.

After each movement arms, trunk and head come to rest in another posture, which is held for some seconds and changed slowly. So
consecutive actions pass into each other near the standing pose, but not through one and the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.randomness import keyed, keyed_uniform
from posegen.foundations.scene import Persons
from posegen.foundations.trigonometry import smooth_step
from posegen.foundations.yaml_files import read_yaml
from posegen.library.channels import CHANNELS, channels_named
from posegen.motion import gaits, rows
from posegen.motion.habits import REST, REST_CHANGE
from posegen.motion.key_poses import stage_bounds
from posegen.motion.library_tables import FLIGHT, FLOOR, SEAT, ActionTables
from posegen.motion.workspace import Clock, Person, Role, Workspace, between, fill_row, frame_window

RESTS = 8
"""Number of resting postures of an actor; then the first one returns."""
POSTURES: dict[str, dict[str, float]] = read_yaml(Path(__file__).with_name("postures.yaml"))
"""How people stand: channels and their degrees, or leg lengths."""
CENTRAL, ARMS, SHIFTS = (POSTURES[f"rest_{part}"] for part in ("trunk", "arms", "pelvis"))
LOWERED = 0.023
"""Leg lengths by which bent knees lower the pelvis in the mean posture; twice as much in others, and not at all in some."""
HIP_DROP = 0.08
"""Turns by which the hip of the leg that carries drops for each leg length that the pelvis stands aside: 1 to 3 mm in standing.
The trunk stays upright.
"""
AWAY = 1.0
"""Degrees by which arms are further from the trunk on average: in most postures they do not hang straight down."""
BENT, STRAIGHT, LESS_BENT = 200.0, 0.72, 0.5
"""Degrees of elbow flexion for a number of 1, threshold of the numbers above which an elbow is bent, and the share of the usual
bend of the person that it then replaces."""
TURNED_IN, AHEAD = 0.35, 0.12
"""Degrees by which a bent arm turns in, and is raised ahead, for each degree of elbow flexion."""
UPRIGHT_ARMS, LEVEL_HEAD = 0.8, 0.5
"""Shares of a lean of the trunk that shoulders and neck make up for: arms hang, and eyes look ahead."""
SPAN, JITTER, CHANGE = 2.4, 0.35, 1.3
"""Seconds from one posture to the next, share of them by which the begin of a change varies, and seconds that it lasts."""
IN_ACTION = 0.8
"""Share of the deviation that is left in an action on the feet that moves the whole body."""
FADE, OFF_FEET = 0.4, 0.5
"""Least seconds in which the deviation fades at the ends of an action, and the share of its first and last stage in which it
does so where the body leaves the feet: a seat or the floor is reached before they end.
"""
SHIFTED = len(CENTRAL) + 2 * (len(ARMS) + 1)
"""Number of the draws of the shifts; those of the angles are before them."""
NUMBERS = SHIFTED + len(SHIFTS) + 1
_ONE_ARM, _OTHER_ARM = (np.arange(len(CENTRAL) + k, SHIFTED, 2) for k in range(2))


def resting_postures(persons: Persons, keys: Array, posture: Array) -> Array:
    """Return by how many turns the channels of each person differ from its posture in each resting posture.

    Parameters
    ----------
    persons : Persons
        Arrays [...].
    keys : uint64 [...]
        Of the actors in the scene.
    posture : float [..., channels]
        Turns by which the person differs from the neutral posture.

    Returns
    -------
    float32 [..., RESTS, channels]
    """
    rests, numbers = np.zeros((*persons.stature.shape, RESTS, len(CHANNELS))), _numbers(keys)
    mirrored = persons.left_handed[..., None]
    for i, (name, most) in enumerate(CENTRAL.items()):
        sign = np.where(mirrored, -1.0, 1.0) if not name.endswith("flexion") else 1.0
        rests[..., CHANNELS.index(name)] = sign * most / 360 * numbers[..., i, :]
    lean = rests[..., rows.TRUNK_FLEXION]
    rests[..., rows.NECK_FLEXION] -= LEVEL_HEAD * lean
    for i, (name, most) in enumerate(SHIFTS.items()):
        sign = np.where(mirrored, -1.0, 1.0) if name == "root_lateral" else 1.0
        rests[..., CHANNELS.index(name)] = sign * most * numbers[..., SHIFTED + i, :]
    rests[..., rows.ROOT_HEIGHT] = -LOWERED * (1.0 + numbers[..., SHIFTED + len(SHIFTS), :])
    for name in ("pelvis_obliquity", "trunk_lateral"):
        rests[..., CHANNELS.index(name)] += HIP_DROP * rests[..., rows.ROOT_LATERAL]
    for side in range(2):
        # A mirrored person has the other hand.
        other = mirrored ^ (side > 0)
        arm = np.where(other[..., None], numbers[..., _OTHER_ARM, :], numbers[..., _ONE_ARM, :])
        for i, (name, most) in enumerate(ARMS.items()):
            rests[..., channels_named(name)[side]] = most / 360 * arm[..., i, :]
        elbow = rows.ELBOW_FLEXION[side]
        bent = np.maximum(arm[..., len(ARMS), :] - STRAIGHT, 0.0) * BENT / 360
        rests[..., elbow] = bent - LESS_BENT * np.maximum(posture[..., None, elbow], 0.0) * (bent > 0)
        rests[..., rows.SHOULDER_ROTATION[side]] = -TURNED_IN * bent
        rests[..., rows.SHOULDER_FLEXION[side]] += UPRIGHT_ARMS * lean + AHEAD * bent
        rests[..., rows.SHOULDER_ABDUCTION[side]] += AWAY / 360
    return rests.astype(np.float32)


def _numbers(keys: Array) -> Array:
    """Return numbers on [-1, 1), float64 [..., numbers, RESTS], moved away from 0."""
    number = 2.0 * keyed(keys[..., None, None], REST, np.arange(NUMBERS * RESTS).reshape(NUMBERS, RESTS)) - 1.0
    return np.asarray(number * (1.5 - 0.5 * number * number))


@kernel
def fill_resting_weight(work: Workspace, role: Role, actions: ActionTables, clock: Clock, weight: Array) -> None:
    """Write how much of the deviation shows: all in standing and in turning on the spot, none in gaits and on the floor."""
    fill_row(weight, np.float32(1.0))
    for k in range(role.base):
        segment = role.segments[k]
        if segment.gait:
            if segment.gait == gaits.STEP and not actions.poses.used[segment.kind, rows.ELBOW_FLEXION[0]]:
                continue
            gait = work.weights[k]
            for f in range(len(weight)):
                weight[f] -= gait[f]
            continue
        share = min(segment.personal, 1.0)
        if segment.support == SEAT or segment.support == FLOOR or segment.support == FLIGHT:
            share = 0.0
        elif segment.last_key > segment.first_key:
            share *= IN_ACTION
        if share == 1:
            continue
        enter_end, exit_begin = stage_bounds(segment)
        stage = OFF_FEET if share == 0 else 1.0
        rise, fall = max(stage * (enter_end - segment.start), FADE), max(stage * (segment.end - exit_begin), FADE)
        less = np.float32(1.0 - share)
        f0, f1 = frame_window(clock, segment.start, segment.end, len(weight))
        for f in range(f0, f1):
            t = clock.first + f * clock.step
            held = smooth_step((t - segment.start) / rise) * smooth_step((segment.end - t) / fall)
            weight[f] *= np.float32(1.0) - less * held


@kernel
def change_begin(key: Scalar, k: int, limb: int) -> Scalar:
    """Return the time in seconds at which a limb begins to pass into resting posture `k`."""
    return SPAN * (k + JITTER * keyed_uniform(key, REST_CHANGE, 4 * k + limb + 64))


@kernel
def rest_anew(work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock) -> None:
    """Add the deviations of the resting postures to the channels: each is held, and passes into the next one."""
    weight, eased, frames = work.root[rows.RESTING], work.root[rows.EASED], work.root.shape[1]
    fill_resting_weight(work, role, actions, clock, weight)
    first = int(np.floor(clock.first / SPAN)) - 1
    last = int(np.floor((clock.first + frames * clock.step) / SPAN)) + 1
    c = 0
    while c < len(work.channels):
        limb = 0 if c < rows.FIRST_LEFT else 1 + (c - rows.FIRST_LEFT) // rows.SIDED
        end_of_limb = min(rows.FIRST_LEFT + limb * rows.SIDED, len(work.channels))
        for k in range(first, last):
            begin, end = change_begin(person.key, k, limb), change_begin(person.key, k + 1, limb)
            f0, f1 = frame_window(clock, begin, begin + CHANGE, frames)
            f1, f2 = frame_window(clock, begin + CHANGE, end, frames)
            if f2 <= 0:
                continue  # before the first frame
            f1 = min(f1, frames)
            for f in between(f0, f1):
                eased[f] = smooth_step((clock.first + f * clock.step - begin) / CHANGE)
            for each in range(c, end_of_limb):
                row, here, there = work.channels[each], person.rests[k % RESTS, each], person.rests[(k + 1) % RESTS, each]
                if here == 0 and there == 0:
                    continue
                for f in between(f0, f1):
                    row[f] += weight[f] * (here + (there - here) * eased[f])
                for f in between(f1, f2):
                    row[f] += weight[f] * there
        c = end_of_limb
