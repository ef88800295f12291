"""Flat arrays of the library's actions and styles, as kernels read them.

Each action has two rows: performed with the left side and with the right side. `near` and `far` are resolved to left and right.
Angles are in turns, root channels in leg lengths, hand targets in arm lengths. The YAML schema is :mod:`posegen.library`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import ArrayLike

from posegen.foundations.kernels import Array
from posegen.foundations.skeleton import CONTACTS, JOINT_LIMITS, PARTS
from posegen.library.channels import (
    ANCHORS,
    CENTRAL_CHANNELS,
    CHANNELS,
    FOOT_PLACE,
    HAND_CHANNELS,
    SIDED_CHANNELS,
    channels_named,
    sided_names,
    sides_of,
    widest,
)
from posegen.library.load import Library
from posegen.library.schema import MOST_PERFORMANCES, Action
from posegen.library.stages import Key, Offsets
from posegen.motion.gaits import GAITS, Gaits, gait_curves, half_cycle_later, stride_parameters
from posegen.motion.workspace import ACTION, RANGED

PLANTED, GAIT, FLIGHT, SEAT, FLOOR = range(5)
SUPPORTS = {"planted": PLANTED, "gait": GAIT, "flight": FLIGHT, "seat": SEAT, "floor": FLOOR}
ENTER, CYCLE, EXIT = 0, 1, 2
TURNING_BACK = 2
"""In `key_through`: a channel turns back at the key without rest."""
_STAGES = ("enter", "cycle", "exit")
RETURNED, PLACED = 1, 2
"""How an action places its feet: where they were before, or where its foot channels put them."""
LIFTED, FALLING = {"left": -1, "right": -2}, -3
"""Point numbers of the intervals in which a foot is lifted, and in which the body falls freely."""
SERIES = 4
_LEVEL_FOREARM = 60
"""Degrees of elbow flexion from which a hand of an idle posture may be as high as the one that performs an action above it."""
_USED_RANGE, _USUAL_BEND = 0.8, JOINT_LIMITS["ankle_dorsiflexion"][1]
_NUMBERS = {name: number for number, name in enumerate(CHANNELS)}
_FOOT = tuple(f"{side}_{c}" for side in ("left", "right") for c in (*FOOT_PLACE, "foot_pitch"))
_FOOT_CHANNELS = [_NUMBERS[name] for name in _FOOT]
_LEG = ("hip", "knee", "ankle", "foot")
FLIPPED = frozenset(c for c in CENTRAL_CHANNELS if c.endswith(("_lateral", "_rotation", "_obliquity")))
"""Channels whose sign changes with the side."""
_PART_CHANNELS = {
    "trunk": ("trunk_flexion", "trunk_lateral", "trunk_rotation"),
    "head": ("neck_flexion", "neck_lateral", "neck_rotation"),
    **{
        f"{side}_arm": tuple(f"{side}_{c}" for c in (*SIDED_CHANNELS, *HAND_CHANNELS) if not c.startswith(_LEG))
        for side in ("left", "right")
    },
}
_HELD_CHANNELS = _PART_CHANNELS | {"trunk": (*_PART_CHANNELS["trunk"], "neck_lateral", "neck_rotation")}
"""Channels that keep the pose of the action with each part. With the trunk the neck is held as well, because its swing only
compensates that of the trunk.
"""
_TRUNK_AND_NECK = (f"{part}_{angle}" for part in ("trunk", "neck") for angle in ("flexion", "lateral", "rotation"))
_LIMITED = (*_TRUNK_AND_NECK, "left_shoulder_flexion", "right_shoulder_flexion")
LIMITED = np.array([CHANNELS.index(name) for name in _LIMITED])
"""Channels that are kept within the ranges of their joints."""
_STEPS = ("arm_swing", "bounce", "sideways", "cadence", "stance", "clearance", "width")


KEY = np.dtype([("stage", np.int64), ("at", np.float64), ("through", np.int64)])
"""A key: its stage, the share of the stage at which it is, and whether a channel rests there (0), moves through it (1), or
turns back without rest (TURNING_BACK).
"""


class StrategyTables(NamedTuple):
    """What decides which performance of an action a segment takes; kernels do not read it.

    Attributes
    ----------
    first, others : int [actions]
        First row of the strategies of an action in :class:`ActionTables`, and their number.
    usual, freedom : float [actions]
        Share of performances in which a person takes its usual strategy; factor on the differences between persons.
    share, handless_share : float [actions, 32]
        Cumulative shares of the action as written and of its strategies; and of those in which both arms hang.
    turn_share : float [rows, 32]
        As `share`, of the strategies that repetitions may take in turn with that of a row: all but their cycles is alike.
    idle : bool [actions]
        Whether it is a posture without a side, held on both feet, which others may be performed over.
    """

    first: Array
    others: Array
    usual: Array
    freedom: Array
    share: Array
    handless_share: Array
    turn_share: Array
    idle: Array


class Poses(NamedTuple):
    """Numbers and key poses of all actions.

    A call copies each array of its arguments, so that the kernels which run for each channel take these alone.

    Attributes
    ----------
    numbers : ACTION [2 * actions]
        See :data:`posegen.motion.workspace.ACTION`.
    pose : float [2 * actions, channels]
    used : bool [2 * actions, channels]
        Channels that the action moves.
    keys : KEY [keys]
        The keys of all actions; those of one action are `first_key` to `last_key`.
    key_pose, key_given : [keys, channels]
    pose_offsets, key_offsets : float [offsets, 2 * actions, channels], float [offsets, keys, channels]
        What a number of a person adds to each pose.
    """

    numbers: Array
    pose: Array
    used: Array
    keys: Array
    key_pose: Array
    key_given: Array
    pose_offsets: Array
    key_offsets: Array


class ActionTables(NamedTuple):
    """Arrays of all actions of a library, and of the gaits.

    The first rows are those of the actions as written, two for each; behind them are those of their strategies.

    Attributes
    ----------
    poses : Poses
    owned : bool [2 * actions, channels]
        Channels that the action replaces as a layer.
    anchors : int [2 * actions, 2]
        Index into ANCHORS of the origin of the target of the left and of the right hand.
    parts : bool [2 * actions, parts]
        Body parts that are labelled with the action when it is a layer.
    series_channel : int [series]
        The harmonics of all actions; those of one action are `first_series` to `last_series`.
    series : float [series, 2, SERIES]
        Cosines and sines over the cycle of the action; for a gait, over the stride of the left leg.
    stride : float [2 * actions, STRIDE_PARAMETERS]
        The columns are named in :mod:`posegen.motion.gaits`.
    held : bool [2 * actions, channels]
        Channels in which a gait keeps the pose instead of swinging.
    limits : float [2 * actions, len(LIMITED), 2]
        Least and largest value of channels that are kept within the ranges of their joints, turns.
    intervals : float [intervals, 4]
        Intervals of a stage in which a foot is lifted (point -1 left, -2 right), the body falls freely (-3), or another point
        touches (its index in CONTACTS): point, stage, begin and end as fractions of the stage; those of one action start at
        `first_interval`.
    travel : float [keys, 4]
        How fast bodies travel without a gait: share of the cycle, leg lengths per second ahead and to the left, turns per
        second; the keys of one action are `first_travel` to `last_travel`.
    gaits : Gaits
        Curves of walking and running.
    """

    poses: Poses
    owned: Array
    anchors: Array
    parts: Array
    series_channel: Array
    series: Array
    stride: Array
    held: Array
    limits: Array
    intervals: Array
    travel: Array
    gaits: Gaits


@cache
def _channels(name: str, near: str) -> tuple[tuple[int, float, int], ...]:
    """Return the channels that a value of an action sets: index, sign and unit; `near` is the side that performs the action."""
    names = sided_names(name, near)
    signs = [-1.0 if near == "right" and each in FLIPPED else 1.0 for each in names]
    return tuple((_NUMBERS[each], sign, _whole(each)) for each, sign in zip(names, signs, strict=True))


def _whole(name: str) -> int:
    """Return the number in the file that equals 1 in the tables: 360 degrees, or 1."""
    return 1 if name.startswith("root_") or name.endswith(FOOT_PLACE) or "_hand_" in name else 360


def _row(values: Mapping[str, float], near: str) -> tuple[Array, Array]:
    row, given = np.zeros(len(CHANNELS)), np.zeros(len(CHANNELS), bool)
    for name, value in values.items():
        for c, sign, whole in _channels(name, near):
            row[c] = value * sign / whole
            given[c] = True
    return row, given


def _offsets(offsets: Offsets, near: str) -> list[Array]:
    return [_row(pose, near)[0] for pose in offsets]


def _stacked(offsets: list[list[Array]]) -> Array:
    """Return the offsets of some poses, float [offsets, poses, channels]: zeros where a pose has fewer than another one."""
    out = np.zeros((max(map(len, offsets), default=0), len(offsets), len(CHANNELS)))
    for k, rows in enumerate(offsets):
        out[: len(rows), k] = np.reshape(rows, (-1, len(CHANNELS)))
    return out


def _keys(action: Action, near: str, pose: Array, used: Array) -> list[tuple[int, float, int, Array, Array, list[Array]]]:
    rows = []
    for stage, keys in enumerate(action.keys.values()):
        if stage == CYCLE and keys and keys[-1].at < 1:
            keys = [*keys, Key(at=1.0, pose={})]
        for key in keys:
            row, given = _row(key.pose, near)
            offsets = _offsets(key.offsets, near)
            if stage == CYCLE and key.at == 1:
                # A cycle ends in the pose in which it began, in every channel that it moves.
                own = _offsets(action.offsets, near)
                offsets = [np.where(given, *pair) for pair in zip(offsets or [0 * each for each in own], own, strict=True)]
                row, given = np.where(given, row, pose), given | used
            passing = TURNING_BACK if key.turns else int(key.through)
            rows.append((stage, key.at, passing, row, given, offsets))
    return rows


def _intervals(action: Action, near: str) -> list[tuple[int, int, float, float]]:
    rows = []
    for lift in action.lifts:
        body = lift.foot == "body"
        points = [LIFTED[side] for side in sides_of(near)["both" if body else lift.foot]] + [FALLING] * body
        rows += [(point, _STAGES.index(lift.stage), lift.begin, lift.end) for point in points]
    for touch in action.touches:
        points = [CONTACTS.index(name) for name in sided_names(touch.point, near)]
        rows += [(point, _STAGES.index(touch.stage), touch.begin, touch.end) for point in points]
    return rows


def _travel(action: Action, near: str) -> list[tuple[float, float, float, float]]:
    to_left = -1.0 if near == "right" else 1.0
    return [(key.at, key.forward, to_left * key.aside, to_left * key.turn / 360) for key in action.travel]


def _parts(names: Iterable[str], near: str) -> set[str]:
    return {part for name in names for part in sided_names(name, near)}


def _held(action: Action, near: str) -> Array:
    parts = _parts(action.gait_style.fixed_parts if action.gait_style else (), near)
    return np.array([any(c in _HELD_CHANNELS.get(part, ()) for part in parts) for c in CHANNELS])


def _bend(action: Action) -> float:
    """Return by how many turns the action widens the range of dorsiflexion; heels rise before its end is reached."""
    range_ = action.ranges.get("ankle_dorsiflexion")
    return _USED_RANGE * (((range_ and range_.max) or _USUAL_BEND) - _USUAL_BEND) / 360


def _limits(action: Action) -> Array:
    """Return the ranges of the joints that are kept within them, as far as the action widens them: turns [len(LIMITED), 2]."""
    names = [name.removeprefix("left_").removeprefix("right_") for name in _LIMITED]
    own = [action.ranges.get(name) for name in names]
    ranges = [widest(name, *((one.min, one.max) if one else (None, None))) for name, one in zip(names, own, strict=True)]
    return np.array(ranges) / 360


def _open_ends(action: Action, places: bool) -> tuple[bool, bool]:
    """Return whether its first, and its last stage may overlap with a neighbour: both feet stay where they stand.

    `places` is whether it moves channels of a foot.
    """
    stays = action.support in ("planted", "flight") and not action.layered
    posed = places and any("foot_" in name for name in action.pose)
    lifted = {lift.stage for lift in action.lifts}
    return tuple(stays and not posed and stage not in lifted for stage in ("enter", "exit"))  # type: ignore[return-value]


def _series(action: Action, near: str) -> list[tuple[int, Array, Array]]:
    rows = {}
    for name, harmonics in action.harmonics.items():
        for c, sign, whole in _channels(name, near):
            cosines, sines = np.zeros(SERIES), np.zeros(SERIES)
            cosines[: len(harmonics.cos)] = harmonics.cos
            sines[: len(harmonics.sin)] = harmonics.sin
            side = CHANNELS[c].partition("_")[0]
            if action.gait and (side if side in ("left", "right") else near) == "right":
                cosines, sines = half_cycle_later(cosines), half_cycle_later(sines)
            rows[c] = (c, cosines * (sign / whole), sines * (sign / whole))
    return list(rows.values())


def _owned(action: Action, near: str, used: Array) -> tuple[Array, Array]:
    """Return the channels that a layered segment replaces, and the parts that are labelled with it."""
    parts = _parts(action.parts, near)
    owned = np.zeros(len(CHANNELS), bool)
    for part in sorted(parts & set(_PART_CHANNELS)):
        for name in _PART_CHANNELS[part]:
            c = _NUMBERS[name]
            owned[c] = used[c] or part.endswith("arm")
    return owned, np.array([p in parts for p in PARTS])


def _alike(one: Action, other: Action) -> bool:
    """Return whether two strategies of an action may take turns: feet, hands, flights and stages but the cycle are alike."""

    def common(each: Action) -> tuple[Any, ...]:
        placed = {name: value for name, value in each.pose.items() if "foot_" in name or "_hand_" in name}
        lifts = [lift for lift in each.lifts if lift.stage != "cycle"]
        hands = {name.split("_hand_")[0] for key in each.cycle_keys for name in key.pose if "_hand_" in name}
        outside = each.enter_keys, each.exit_keys, each.touches, each.travel
        return placed, lifts, hands, each.support, each.flight, each.harmonics, each.anchors, *outside

    moving = one.support in ("planted", "flight") and one.cycle_keys and other.cycle_keys
    return bool(moving) and common(one) == common(other)


def _turn_shares(action: Action) -> Array:
    """Return for each performance the cumulative shares of those that may take turns with it: [performances, 32]."""
    alike = [[other is one or _alike(one, other) for other in action.performances] for one in action.performances]
    return np.array([_shares(np.multiply(action.weights, free)) for free in alike])


def _shares(weights: ArrayLike) -> Array:
    """Return the cumulative shares of the performances of an action: float [32], 1 from the last one on."""
    shares, sums = np.ones(MOST_PERFORMANCES), np.cumsum(weights)
    shares[: len(sums)] = sums / sums[-1]
    return shares


def _arms_hang(action: Action) -> bool:
    """Return whether the pose of an action has neither a target for a hand nor a forearm held level."""
    bent = any(name.endswith("elbow_flexion") and value >= _LEVEL_FOREARM for name, value in action.pose.items())
    return not (bent or any("_hand_" in name for name in action.pose))


def _is_idle(action: Action) -> bool:
    """Return whether an action is a posture without a side, held on both feet, below which layers may be performed."""
    posture = action.support == "planted" and action.duration is not None and not (action.layered or action.sided)
    return posture and bool(action.strategies) and not any(action.keys.values())


@lru_cache(maxsize=8)
def action_keys(library: Library) -> Array:
    """Return the hash of the name of each action, uint64 [actions]: other names have other draws."""
    return np.array([xxhash.xxh3_64_intdigest(name.encode()) for name in library.actions], np.uint64)


@lru_cache(maxsize=8)
def strategy_tables(library: Library) -> StrategyTables:
    """Return what decides which performance of an action of `library` (hashed by identity) a segment takes."""
    actions = [library.action(name) for name in library.actions]
    count = np.array([len(action.performances) - 1 for action in actions], np.int64)
    hanging = [[k == 0 or _arms_hang(one) for k, one in enumerate(action.performances)] for action in actions]
    turns = [_turn_shares(action) for action in actions]
    return StrategyTables(
        first=2 * len(actions) + 2 * (np.cumsum(count) - count),
        others=count,
        usual=np.array([action.habit_share for action in actions]),
        freedom=np.array([action.variation for action in actions]),
        share=np.array([_shares(action.weights) for action in actions]),
        handless_share=np.array([_shares(np.multiply(a.weights, free)) for a, free in zip(actions, hanging, strict=True)]),
        # Rows of an action are those of its left and of its right side.
        turn_share=np.repeat(np.concatenate([[each[0] for each in turns], *(each[1:] for each in turns)]), 2, axis=0),
        idle=np.array([_is_idle(action) for action in actions]),
    )


@lru_cache(maxsize=8)
def library_tables(library: Library) -> ActionTables:
    """Return the arrays of the actions of `library` (hashed by identity) and of the gaits."""
    performed = [(a, library.action(name)) for a, name in enumerate(library.actions)]
    others = [(a, other) for a, action in performed for other in action.performances[1:]]
    rows = [_action_row(a, action, near) for a, action in performed + others for near in ("left", "right")]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    numbers, parts = np.array(columns["numbers"], ACTION), {}
    for name in RANGED:
        counts = np.array([len(each) for each in columns[name]])
        numbers[f"last_{name}"] = np.cumsum(counts)
        numbers[f"first_{name}"] = numbers[f"last_{name}"] - counts
        parts[name] = list(chain.from_iterable(columns[name]))
    keys, series = parts["key"], parts["series"]
    has_offsets = any(columns["offsets"])
    poses = Poses(
        numbers=numbers,
        pose=np.array(columns["pose"]),
        used=np.array(columns["used"]),
        keys=np.array([k[:3] for k in keys], KEY),
        key_pose=np.asarray([k[3] for k in keys]).reshape(-1, len(CHANNELS)),
        key_given=np.asarray([k[4] for k in keys], bool).reshape(-1, len(CHANNELS)),
        pose_offsets=_stacked(columns["offsets"]),
        key_offsets=_stacked([k[5] for k in keys]) if has_offsets else np.zeros((0, len(keys), len(CHANNELS))),
    )
    return ActionTables(
        poses=poses,
        series_channel=np.asarray([s[0] for s in series], np.int64),
        series=np.asarray([s[1:] for s in series]).reshape(-1, 2, SERIES),
        intervals=np.asarray(parts["interval"], np.float64).reshape(-1, 4),
        travel=np.asarray(parts["travel"], np.float64).reshape(-1, 4),
        gaits=gait_curves(),
        **{name: np.array(columns[name]) for name in ("owned", "anchors", "parts", "stride", "held", "limits")},
    )


def _action_row(a: int, action: Action, near: str) -> dict[str, Any]:
    """Return what the tables hold of a performance of the action with number `a`, whose near side is `near`."""
    pose, used = _row(action.pose, near)
    for key in chain.from_iterable(action.keys.values()):
        used = used | _row(key.pose, near)[1]
    series = _series(action, near)
    used[[c for c, _, _ in series]] = True
    drawn = any([action.offsets, *(key.offsets for key in chain.from_iterable(action.keys.values()))])
    flight, begin, again = (*action.flight, 0.0)[:3] if action.flight else (0.0, 0.0, 0.0)
    end = begin + (flight / action.cycle if action.cycle else 0.0)
    places = bool(used[_FOOT_CHANNELS].any())
    guided = PLACED if places else RETURNED if action.lifts else 0
    gait = GAITS[action.gait]
    kind = (SUPPORTS[action.support], gait, guided, *_open_ends(action, places))
    owned, parts = _owned(action, near, used)
    hands = [ANCHORS.index(a) for a in (action.anchors.near, action.anchors.far)]
    seconds = (action.enter, action.exit, flight, begin, end, again)
    return {
        "numbers": (*seconds, *kind, action.cycle, a, _bend(action), drawn, *(0 for _ in RANGED for _ in range(2))),
        "pose": pose,
        "used": used,
        "key": _keys(action, near, pose, used),
        "series": series,
        "interval": _intervals(action, near),
        "travel": _travel(action, near),
        "offsets": _offsets(action.offsets, near),
        "owned": owned,
        "anchors": hands if near == "left" else hands[::-1],
        "parts": parts,
        "stride": stride_parameters(action, gait, near),
        "held": _held(action, near),
        "limits": _limits(action),
    }


class StyleTables(NamedTuple):
    """Arrays of the styles of a library.

    Attributes
    ----------
    posture : float [styles, channels]
        Turns by which each channel differs from the usual posture.
    sway : float [styles]
        Factor on the sway in standing.
    steps : float [styles, 7]
        Changes of steps and arms; the columns are named in :mod:`posegen.motion.gaits`.
    """

    posture: Array
    sway: Array
    steps: Array


def channel_row(values: Mapping[str, float]) -> Array:
    """Return values in degrees (leg lengths for the root) as a row of all channels; a name without a side means both sides."""
    row = np.zeros(len(CHANNELS))
    for name, value in values.items():
        row[channels_named(name.removeprefix("both_"))] = value / _whole(name)
    return row


@lru_cache(maxsize=8)
def style_tables(library: Library) -> StyleTables:
    """Return the arrays of the styles of `library` (hashed by identity)."""
    styles = library.styles.values()
    return StyleTables(
        posture=np.stack([channel_row(style.posture) for style in styles]),
        sway=np.array([style.sway for style in styles]),
        steps=np.array([[getattr(style, name) for name in _STEPS] for style in styles], np.float64),
    )
