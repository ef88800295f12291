"""Flat arrays of planned scenes, as kernels read them: what each actor does, and the body and posture of each actor.

Planning decides the scenes; see :mod:`posegen.foundations.scene`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posegen.foundations.bodies import body_offsets
from posegen.foundations.kernels import Array, kernel
from posegen.foundations.randomness import keyed
from posegen.foundations.scene import BOTH, HABITS, LEFT, RIGHT, Habit, Persons, Scenes
from posegen.foundations.skeleton import (
    ANATOMICAL,
    BALL_BEFORE_ANKLE,
    BALL_JOINT_HEIGHT,
    HEEL_BEHIND_ANKLE,
    JOINTS,
    PARTS,
    PROPORTIONS,
)
from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS, channels_named
from posegen.library.load import Library
from posegen.motion import rows
from posegen.motion.gaits import STEP
from posegen.motion.habits import NEAR_SIDE, PACE, STANDING, STRATEGY, TODAY, TURNS_TAKEN, spread
from posegen.motion.library_tables import (
    PLANTED,
    ActionTables,
    StrategyTables,
    StyleTables,
    action_keys,
    channel_row,
    library_tables,
    strategy_tables,
    style_tables,
)
from posegen.motion.rests import LEVEL_HEAD, POSTURES, UPRIGHT_ARMS, resting_postures
from posegen.motion.workspace import SEGMENT, Person, Role

NEUTRAL, SPREADS = POSTURES["neutral"], POSTURES["spreads"]
"""Neutral posture in quiet standing, and standard deviations between persons of its angles; degrees."""
OTHER_ARM = 0.7
"""Part of the number of the one arm in that of the other; the rest is its own, with a weight that keeps the variance."""
BENT, STRAIGHT, TURNED_IN = 50.0, 0.95, 0.4
"""Relaxed arms are not all straight: degrees of elbow flexion for each number above a threshold, and the share of it by which
the arm turns in."""
MOST_UPRIGHT = -5.0
"""Least trunk flexion of a posture, degrees."""
SOFT_KNEES = 7.0
"""Degrees of knee flexion for each number above -0.5."""
FEET_APART = 0.023
"""Standard deviation of the distance by which a foot stands ahead of the middle, as a share of stature."""
ARM_PARTS = [PARTS.index(f"{side}_arm") for side in ("left", "right")]
WARP_SPREAD = 0.22
"""Standard deviation of the change of pace within a repetition: it begins slower, or faster, than it ends."""
TOGETHER = 0.3
"""Weight of the habits in what is done with a partner: two bodies that are close to each other leave less room for them."""
SWING_SPREAD, SWING_UNLIKE = 0.28, 0.2
"""Standard deviations of the arm swing between persons, and between the sides of a person, as shares of the usual swing."""
OVERLAP_SECONDS = 0.45
"""Time by which a movement lasts longer than its segment, at most, where it passes into the next one."""
OVERLAP_GAIT = 1.1
"""The same for the trunk and the arms where the neighbour is a gait: the first steps begin in the posture before them."""
LONGEST_TURN = 2.5
"""Seconds of a turn on the spot over which one posture passes into another, at most."""


class Roles(NamedTuple):
    """What all actors do and where they start: arrays [n, ...]; see :class:`posegen.motion.workspace.Role`."""

    actors: Array
    length: Array
    segments: Any
    layered: Array
    turn: Array
    left_leads: Array
    start: Array
    meets: Array
    behind: Array
    apart: Array
    points: Array


class SceneArrays(NamedTuple):
    """Scenes, and the arrays that kernels read."""

    scenes: Scenes
    roles: Roles
    persons: Person


_OF_SEGMENTS = (
    *("action", "side", "key", "shared", "together", "layered"),
    *("start", "end", "tempo", "amplitude", "repetitions", "speed", "turn"),
)
"""Columns of the scenes that the segments of the roles depend on, beside habits and handedness of the persons."""
_NEUTRAL_ROW, _SWAY_ROW = channel_row(NEUTRAL), channel_row(POSTURES["sway"])


def _postures(persons: Persons, swaying: Array, own: Array, styles: StyleTables) -> tuple[Array, Array]:
    """Return what the posture of each person differs from the neutral one, and the sway, with individual differences.

    `swaying` is how much each actor sways, on [0, 1), and `own` are its numbers, float [..., HABITS].
    """
    posture = np.zeros((*persons.stature.shape, len(CHANNELS)))
    unlike = np.sqrt(1 - OTHER_ARM * OTHER_ARM)
    for i, (name, size) in enumerate(SPREADS.items()):
        for k, c in enumerate(channels_named(name)):
            # Both arms of a person differ less than those of two persons. A mirrored person has the other hand.
            other = np.full(persons.stature.shape, k > 0) ^ ((name not in CENTRAL_CHANNELS) & persons.left_handed)
            one, unlike_one = own[..., Habit.POSTURE + i], own[..., Habit.POSTURE + len(SPREADS) + i]
            number = np.where(other, OTHER_ARM * one + unlike * unlike_one, one)
            turned = name.endswith(("_lateral", "trunk_rotation", "neck_rotation"))
            mirror = np.where(persons.left_handed & turned, -1.0, 1.0)
            posture[..., c] = mirror * number * size / 360
    for k, (elbow, turn) in enumerate(zip(rows.ELBOW_FLEXION, rows.SHOULDER_ROTATION, strict=True)):
        arm = np.where(persons.left_handed ^ (k > 0), own[..., Habit.BENT_ARMS + 2], own[..., Habit.BENT_ARMS + 1])
        bent = np.maximum(OTHER_ARM * own[..., Habit.BENT_ARMS] + unlike * arm - STRAIGHT, 0.0) * BENT / 360
        posture[..., elbow] = np.maximum(posture[..., elbow] + bent, -10 / 360)
        posture[..., turn] -= TURNED_IN * bent
    for c in rows.SHOULDER_ABDUCTION:
        posture[..., c] = np.maximum(posture[..., c], -4 / 360)
    lean = np.maximum(posture[..., rows.TRUNK_FLEXION], MOST_UPRIGHT / 360)
    posture[..., rows.TRUNK_FLEXION] = lean
    for c in rows.SHOULDER_FLEXION:
        posture[..., c] += UPRIGHT_ARMS * lean
    posture[..., rows.NECK_FLEXION] -= LEVEL_HEAD * lean
    # Older people stand more bent (from 60 on, up to 8 degrees) and sway more.
    old = np.clip((persons.age - 60) / 20, 0, 1)
    posture[..., rows.TRUNK_FLEXION] += old * 8 / 360
    sway = _SWAY_ROW * (0.8 + 0.4 * swaying[..., None] + 0.5 * old[..., None])
    return posture + styles.posture[persons.style], (sway * styles.sway[persons.style][..., None]).astype(np.float64)


def _soft_knees(own: Array) -> Array:
    """Return what the legs of each person differ from the neutral posture in standing.

    The foot lies flat: hip and ankle take half each of a bent knee.
    """
    legs = np.zeros((*own.shape[:-1], len(CHANNELS)))
    soft = SOFT_KNEES * np.maximum(own[..., Habit.KNEES] + 0.5, 0.0) / 360
    for name, share in (("knee_flexion", 1.0), ("hip_flexion", 0.5), ("ankle_dorsiflexion", 0.5)):
        legs[..., channels_named(name)] = share * soft[..., None]
    return legs


def hanging_arms(offsets: Array, stature: Array) -> Array:
    """Return by how many turns arms hang further ahead and outward where shoulders lie further back or inward: [..., channels].

    So elbows are where those of the anatomical skeleton are, and forearms do not touch the trunk. The arc sine is a series,
    since the last bit of NumPy's depends on the machine.
    """
    elbow = JOINTS.index("left_elbow")
    rest = offsets / stature[..., None, None]
    arms = np.zeros((*stature.shape, len(CHANNELS)))
    away = _shoulder(rest) - _shoulder(ANATOMICAL)
    for name, axis in (("shoulder_flexion", 2), ("shoulder_abduction", 0)):
        sine = away[..., axis] / rest[..., elbow, 1]
        arms[..., channels_named(name)] = ((sine + sine * sine * sine / 6) / (2 * np.pi))[..., None]
    return arms


def _shoulder(rest: Array) -> Array:
    """Return the place of the left shoulder relative to the pelvis in the rest pose."""
    chain = ("spine1", "spine2", "spine3", "left_collar", "left_shoulder")
    return np.asarray(sum(rest[..., JOINTS.index(name), :] for name in chain))


def person_arrays(scenes: Scenes, styles: StyleTables) -> Person:
    """Return body, posture and habits of all actors: a :class:`Person` of arrays [n, actors, ...]."""
    persons = scenes.persons
    stature = persons.stature.astype(np.float64)
    leg = PROPORTIONS["hip_height"] * stature
    foot = (HEEL_BEHIND_ANKLE, BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, PROPORTIONS["ankle_height"])
    # Step width is .12 to .13 of the leg (Donelan 2001), the standing feet are about a hip width apart, toe-out is 7 degrees.
    own = _own_numbers(scenes)
    swaying, turned_out, apart = np.moveaxis(keyed(scenes.key[..., None], STANDING, range(3)), -1, 0)
    toe_out = (4 + 6 * turned_out + 2.5 * own[..., Habit.TOE_OUT]) / 360
    stance = 0.055 * stature * (0.9 + 0.3 * apart + 0.2 * np.maximum(own[..., Habit.STANCE], 0))
    stagger = stature * FEET_APART * own[..., Habit.STAGGER] * np.where(persons.left_handed, -1, 1)
    posture, sway = _postures(persons, swaying, own, styles)
    offsets = body_offsets(persons)
    arrays = Person(
        offsets=offsets,
        foot=np.stack([p * stature for p in foot], -1),
        widths=np.stack([0.056 * leg, stance, toe_out, stagger], -1),
        neutral=(_NEUTRAL_ROW + posture + _soft_knees(own) + hanging_arms(offsets, stature)).astype(np.float32),
        sway=sway,
        stature=stature,
        energy=persons.energy.astype(np.float64),
        key=scenes.key,
        posture=posture,
        style=styles.steps[persons.style],
        habits=own,
        swing=_arm_swings(own, persons.left_handed),
        rests=resting_postures(persons, scenes.key, posture),
        # A mirrored person has the other leg.
        legs=own[..., Habit.UNLIKE_LEGS : Habit.UNLIKE_LEGS + 3] * np.where(persons.left_handed, -1.0, 1.0)[..., None],
    )
    # Kernels are compiled for C order; another memory layout would compile them again.
    return Person(*(np.ascontiguousarray(a) for a in arrays))


def _arm_swings(own: Array, left_handed: Array) -> Array:
    """Return the factors of each actor on the swing of the left and the right arm in walking and running."""
    right = np.arange(2) ^ left_handed[..., None]
    unlike = np.where(right, own[..., Habit.ARM_SWING + 2, None], own[..., Habit.ARM_SWING + 1, None])
    return np.maximum(1.0 + SWING_SPREAD * own[..., Habit.ARM_SWING, None] + SWING_UNLIKE * unlike, 0.2)


@kernel
def person_at(persons: Person, i: int, who: int) -> Person:
    """Return actor `who` of sample `i`."""
    return Person(
        persons.offsets[i, who],
        persons.foot[i, who],
        persons.widths[i, who],
        persons.neutral[i, who],
        persons.sway[i, who],
        persons.stature[i, who],
        persons.energy[i, who],
        persons.key[i, who],
        persons.posture[i, who],
        persons.style[i, who],
        persons.habits[i, who],
        persons.swing[i, who],
        persons.rests[i, who],
        persons.legs[i, who],
    )


@kernel
def role_at(roles: Roles, i: int, who: int) -> Role:
    """Return the role of actor `who` in sample `i`, with the used segments alone."""
    segments = roles.segments[i, who]
    used, base = 0, 0
    while used < len(segments) and segments[used].kind >= 0:
        used += 1
    while base < used and not roles.layered[i, who, base]:
        base += 1
    return Role(
        base,
        segments[:used],
        roles.turn[i, who],
        roles.left_leads[i, who],
        roles.start[i, who],
        roles.points[i, who],
    )


def segment_records(scenes: Scenes, library: Library) -> Array:
    """Return the segments of all actors, SEGMENT [n, actors, segments].

    The kind of an unused segment is -1.
    """
    action, actions = scenes.action.astype(np.int64), library_tables(library)
    numbers = actions.poses.numbers
    records = np.zeros(action.shape, SEGMENT)
    way, moment, beat = _keys(scenes, library)
    records["way"], records["moment"], records["beat"] = way, moment, np.where(scenes.together, beat, moment)
    # Where one leg or arm does something else, people differ. A mirrored person has the other hand and the other side.
    prefers_right = (keyed(way, NEAR_SIDE, bell=True) > 0) ^ scenes.persons.left_handed[..., None]
    right = (scenes.side == RIGHT) | ((scenes.side == BOTH) & prefers_right)
    rows = performance_rows(scenes, library)
    records["kind"] = np.where(action >= 0, rows + right, -1)
    records["second"] = np.where(action >= 0, _second_rows(scenes, strategy_tables(library), rows, moment) + right, -1)
    pace = spread(keyed(way, PACE, bell=True), keyed(moment, PACE, bell=True))
    records["warp"] = np.clip(WARP_SPREAD * pace, -0.6, 0.6) * ~scenes.together
    records["personal"] = np.where(scenes.together, TOGETHER, strategy_tables(library).freedom[action])
    for name in ("start", "end", "tempo", "amplitude", "repetitions", "speed"):
        records[name] = getattr(scenes, name)
    for name in numbers.dtype.names or ():
        records[name] = numbers[name][records["kind"]]
    records["drawn"] |= numbers["drawn"][records["second"]]
    records["warp"] *= records["first_travel"] == records["last_travel"]  # the pace of steps and flights is that of their path
    records["shown_start"], records["shown_end"] = records["start"], records["end"]
    base = (records["kind"] >= 0) & ~scenes.layered
    _overlap_neighbours(records, base, scenes.together, actions)
    return records


def _overlap_neighbours(records: Array, base: Array, together: Array, actions: ActionTables) -> None:
    """Let consecutive base segments pass into each other without a return to standing between them.

    The last stage of the one lasts longer, and the first stage of the other begins earlier. What is added up is a cross-fade,
    because both are minimum-jerk movements from and to standing. Where the pelvis is above the feet, they overlap with every
    neighbour, since the feet have no part in it.
    """
    standing = base & (records["support"] == PLANTED) & (records["repetitions"] == 0) & (records["guided"] == 0)
    standing &= (records["enter"] > 0) & (records["exit"] > 0)
    # Only where the pelvis is above the feet may the feet of the neighbour move.
    upright = standing | ~(actions.poses.pose[records["kind"]][..., : rows.ROOT_LATERAL + 1] != 0).any(-1)
    first, second = records[..., :-1], records[..., 1:]
    free = base[..., :-1] & base[..., 1:] & ~together[..., :-1] & ~together[..., 1:]
    closes = free & (first["closes"] > 0) & ((second["opens"] > 0) | upright[..., :-1])
    opens = free & (second["opens"] > 0) & ((first["closes"] > 0) | upright[..., 1:])
    for segments, which, stage in ((first, closes, "exit"), (second, opens, "enter")):
        other = second if stage == "exit" else first
        length, beside = segments["end"] - segments["start"], other["end"] - other["start"]
        which = which & (segments[stage] > 0)
        more = np.where(which, np.minimum(OVERLAP_SECONDS, 0.3 * length), 0.0)
        more = np.where(which & (other["gait"] > 0), np.minimum(OVERLAP_GAIT, 0.4 * beside), more)
        # A turn on the spot has no posture of its own: that before it passes into that behind it.
        turning = which & (other["gait"] == STEP)
        more = np.where(turning, np.minimum(beside, LONGEST_TURN), more)
        segments[stage] = np.where(turning, 0.0, segments[stage]) + more * segments["tempo"]
        if stage == "exit":
            segments["end"] += more
        else:
            segments["start"] -= more
    # A clip begins in the middle of an idle posture.
    begins = standing[..., 0] & (records["start"][..., 0] <= 0)
    records["start"][..., 0] -= np.where(begins, records["enter"][..., 0] / records["tempo"][..., 0], 0.0)


def performance_rows(scenes: Scenes, library: Library) -> Array:
    """Return the row of the action tables of the strategy of each segment, for the left side: int64 [n, actors, segments].

    A person usually uses one strategy for an action, and otherwise draws one at random. A person changes its idle posture from
    one time to the next, and takes one in which the arms hang below an action of the arms.
    """
    action, strategies = scenes.action.astype(np.int64), strategy_tables(library)
    slot = np.arange(action.shape[-1]) * strategies.idle[action]
    way, moment, _ = _keys(scenes, library)
    # Without keys it is the first strategy.
    habit, drawn = keyed(way, STRATEGY) * (way > 0), keyed(moment, STRATEGY, slot) * (moment > 0)
    often = strategies.usual[action]
    chosen = np.where(drawn < often, habit, (drawn - often) / (1 - often))
    shares = np.where(_below_arms(scenes, library)[..., None], strategies.handless_share[action], strategies.share[action])
    strategy = np.minimum((chosen[..., None] >= shares).sum(-1), strategies.others[action])
    strategy *= ~scenes.together
    return np.where(strategy > 0, strategies.first[action] + 2 * (strategy - 1), 2 * action)


def _second_rows(scenes: Scenes, strategies: StrategyTables, rows: Array, moment: Array) -> Array:
    """Return the row of the strategy of every second repetition: the same, or one that may take turns with it.

    A person changes its strategy within a segment as often as from one segment to the next.
    """
    action = scenes.action.astype(np.int64)
    drawn, often = keyed(moment, TURNS_TAKEN) * (moment > 0), strategies.usual[action]
    chosen = (drawn - often) / np.maximum(1 - often, 1e-6)
    strategy = np.minimum((chosen[..., None] >= strategies.turn_share[rows]).sum(-1), strategies.others[action])
    second = np.where(strategy > 0, strategies.first[action] + 2 * (strategy - 1), 2 * action)
    return np.where((drawn >= often) & ~scenes.together & ~scenes.layered & (scenes.repetitions > 1), second, rows)


def _below_arms(scenes: Scenes, library: Library) -> Array:
    """Return whether each base segment is shown, or passes into its neighbours, while a layer moves an arm."""
    arms = library_tables(library).parts[2 * scenes.action.astype(np.int64)][..., ARM_PARTS].any(-1)
    moves = scenes.layered & (scenes.action >= 0) & arms
    begins, ends = scenes.start[..., :, None] - OVERLAP_SECONDS, scenes.end[..., :, None] + OVERLAP_SECONDS
    together = (scenes.start[..., None, :] < ends) & (scenes.end[..., None, :] > begins) & moves[..., None, :]
    return np.asarray(together.any(-1) & ~scenes.layered)


def _keys(scenes: Scenes, library: Library) -> tuple[Array, Array, Array]:
    """Return the keys for the action of each segment: of the person, of the actor in the scene, and of both partners.

    They are uint64 [n, actors, segments], 0 without a key.
    """
    names = action_keys(library)[scenes.action.astype(np.int64)]
    keys = scenes.persons.key[..., None], scenes.key[..., None], scenes.shared[:, None, None]
    way, moment, beat = (np.where(key > 0, key ^ names, np.uint64(0)) for key in keys)
    return way, moment, beat


def _own_numbers(scenes: Scenes) -> Array:
    """Return the numbers of each actor for its way of moving in this scene, about standard normal: float64 [..., HABITS].

    They are mostly those of the person: what differs between two performances of one person is less than between two persons.
    """
    today = keyed(scenes.key[..., None], TODAY, range(HABITS), bell=True)
    return np.asarray(spread(scenes.persons.habits.astype(np.float64), today))


def scene_arrays(scenes: Scenes, library: Library, like: SceneArrays | None = None) -> SceneArrays:
    """Return the arrays of scenes.

    `like` are those of another variant: persons and segments that both have in common are taken from it.
    """
    if like is not None and scenes.persons is like.scenes.persons and scenes.key is like.scenes.key:
        persons = like.persons
    else:
        persons = person_arrays(scenes, style_tables(library))
    return SceneArrays(scenes, role_arrays(scenes, library, like), persons)


def role_arrays(scenes: Scenes, library: Library, like: SceneArrays | None = None) -> Roles:
    """Return what all actors of planned scenes do; `like` as in :func:`scene_arrays`."""
    whole_turn = 2 * np.pi
    if like is not None and _has_equal_segments(scenes, like.scenes):
        segments, layered, turn = like.roles.segments, like.roles.layered, like.roles.turn
    else:
        segments = segment_records(scenes, library)
        # Kernels read up to the first unused segment.
        order = np.argsort(segments["kind"] < 0, axis=-1, kind="stable")
        segments, layered, turn = (np.take_along_axis(a, order, -1) for a in (segments, scenes.layered, scenes.turn))
        turn = turn.astype(np.float64) / whole_turn
    start = np.zeros((*scenes.heading.shape, 5))
    start[..., rows.START_PHASE], start[..., rows.SEAT_HEIGHT] = scenes.phase, scenes.seat_height
    start[..., rows.START_HEADING] = scenes.heading.astype(np.float64) / whole_turn
    start[..., rows.START_X : rows.START_Z + 1] = scenes.origin
    roles = Roles(
        actors=scenes.actors.astype(np.int64),
        length=scenes.length.astype(np.int64),
        segments=segments,
        layered=layered,
        turn=turn,
        left_leads=_left_leads(scenes),
        start=start,
        meets=scenes.meets.astype(np.float64),
        behind=scenes.behind,
        apart=scenes.apart.astype(np.float64),
        points=np.zeros((*scenes.heading.shape, rows.POINT_SIZE)),
    )
    # Kernels are compiled for C order; another memory layout would compile them again.
    return Roles(*(np.ascontiguousarray(a) for a in roles))


def _has_equal_segments(one: Scenes, other: Scenes) -> bool:
    """Return whether two variants share the columns that decide the segments."""
    shares_habits = one.persons.key is other.persons.key and one.persons.left_handed is other.persons.left_handed
    return shares_habits and all(getattr(one, name) is getattr(other, name) for name in _OF_SEGMENTS)


def _left_leads(scenes: Scenes) -> Array:
    """Return whether the left foot takes the first step: the side of the first segment with a speed or a turn."""
    steps = (scenes.speed > 0) | (scenes.turn != 0)
    first = np.argmax(steps, -1)
    leads: Array = np.take_along_axis(scenes.side, first[..., None], -1)[..., 0] == LEFT
    return leads
