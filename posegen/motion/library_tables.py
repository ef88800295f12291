"""Flat arrays of the library's actions and styles, as kernels read them.

Each action has two rows: performed with the left side and with the right side. `near` and `far` are resolved to left and right.
Angles are in turns, root channels in leg lengths, hand targets in arm lengths. The YAML schema is :mod:`posegen.library`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from posegen.foundations.kernels import Array
from posegen.foundations.skeleton import CONTACTS, JOINT_LIMITS, PARTS
from posegen.library.channels import ANCHORS, CHANNELS, FOOT_PLACE, HAND_CHANNELS, SIDED_CHANNELS, channels_named, widest
from posegen.library.load import Library
from posegen.library.schema import MOST_PERFORMANCES, Action
from posegen.library.stages import Key, Offsets
from posegen.motion.gait.curves import half_cycle_later
from posegen.motion.gait.steps import GAITS, Gaits, gait_tables, stride_parameters
from posegen.motion.workspace import ACTION

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
_FLIPPED = {
    "root_lateral",
    "pelvis_obliquity",
    *(f"{part}_rotation" for part in ("pelvis", "trunk", "neck")),
    *(f"{part}_lateral" for part in ("trunk", "neck")),
}
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


class ActionTables(NamedTuple):
    """Arrays of all actions of a library, and of the gaits.

    The first rows are those of the actions as written, two for each; behind them are those of their strategies.

    Attributes
    ----------
    numbers : ACTION [2 * actions]
        See :data:`posegen.motion.workspace.ACTION`.
    pose : float [2 * actions, channels]
    used, owned : bool [2 * actions, channels]
        Channels that the action moves, and those that it replaces as a layer.
    anchors : int [2 * actions, 2]
        Index into ANCHORS of the origin of the target of the left and of the right hand.
    parts : bool [2 * actions, parts]
        Body parts that are labelled with the action when it is a layer.
    keys : KEY [keys]
        The keys of all actions; those of one action are `first_key` to `last_key`.
    key_pose, key_given : [keys, channels]
    pose_offsets, key_offsets : float [offsets, 2 * actions, channels], float [offsets, keys, channels]
        What a number of a person adds to each pose.
    series_channel : int [series]
        The harmonics of all actions; those of one action are `first_series` to `last_series`.
    series : float [series, 2, SERIES]
        Cosines and sines over the cycle of the action; for a gait, over the stride of the left leg.
    stride : float [2 * actions, STRIDE_PARAMETERS]
        The columns are named in :mod:`posegen.motion.gait.steps`.
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

    numbers: Array
    pose: Array
    used: Array
    owned: Array
    anchors: Array
    parts: Array
    keys: Array
    key_pose: Array
    key_given: Array
    pose_offsets: Array
    key_offsets: Array
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
    word, _, rest = name.partition("_")
    names: tuple[str, ...] = (name,)
    if word in ("near", "far", "both"):
        far = "right" if near == "left" else "left"
        names = tuple(f"{side}_{rest}" for side in {"near": (near,), "far": (far,), "both": ("left", "right")}[word])
    signs = [-1.0 if near == "right" and each in _FLIPPED else 1.0 for each in names]
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
    far = "right" if near == "left" else "left"
    sides = {"near": (near,), "far": (far,), "both": ("left", "right"), "left": ("left",), "right": ("right",)}
    rows = []
    for lift in action.lifts:
        body = lift.foot == "body"
        points = [LIFTED[side] for side in sides["both" if body else lift.foot]] + [FALLING] * body
        rows += [(point, _STAGES.index(lift.stage), lift.begin, lift.end) for point in points]
    for touch in action.touches:
        word, _, rest = touch.point.partition("_")
        names = [f"{side}_{rest}" for side in sides[word]] if rest else [word]
        rows += [(CONTACTS.index(name), _STAGES.index(touch.stage), touch.begin, touch.end) for name in names]
    return rows


def _travel(action: Action, near: str) -> list[tuple[float, float, float, float]]:
    to_left = -1.0 if near == "right" else 1.0
    return [(key.at, key.forward, to_left * key.aside, to_left * key.turn / 360) for key in action.travel]


def _parts(names: Iterable[str], near: str) -> set[str]:
    return {p.replace("near", near).replace("far", "right" if near == "left" else "left") for p in names}


def _held(action: Action, near: str) -> Array:
    parts = _parts(action.manner.holds if action.manner else (), near)
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
    cycles = (
        {name: value for name, value in each.pose.items() if "foot_" in name or "_hand_" in name} for each in (one, other)
    )
    outside = ([lift for lift in each.lifts if lift.stage != "cycle"] for each in (one, other))
    equal = ("support", "flight", "harmonics", "anchors", "enter_keys", "exit_keys", "touches", "travel")
    hands = (
        {name.split("_hand_")[0] for key in each.cycle_keys for name in key.pose if "_hand_" in name} for each in (one, other)
    )
    return (
        one.support in ("planted", "flight")
        and bool(one.cycle_keys and other.cycle_keys)
        and all(getattr(one, name) == getattr(other, name) for name in equal)
        and all(first == second for first, second in (cycles, outside, hands))
    )


def _turn_shares(action: Action) -> Array:
    """Return for each performance the cumulative shares of those that may take turns with it: [performances, 32]."""
    performances, shares = action.performances, np.ones((len(action.performances), MOST_PERFORMANCES))
    for k, one in enumerate(performances):
        free = [other is one or _alike(one, other) for other in performances]
        shares[k, : len(free)] = _cumulative([weight * alike for weight, alike in zip(action.weights, free, strict=True)])
    return shares


def _cumulative(weights: Sequence[float]) -> Array:
    sums = np.cumsum(weights)
    return np.asarray(sums / sums[-1])


def _arms_hang(action: Action) -> bool:
    """Return whether the pose of an action has neither a target for a hand nor a forearm held level."""
    bent = any(name.endswith("elbow_flexion") and value >= _LEVEL_FOREARM for name, value in action.pose.items())
    return not (bent or any("_hand_" in name for name in action.pose))


def _is_idle(action: Action) -> bool:
    """Return whether an action is a posture without a side, held on both feet, below which layers may be performed."""
    posture = action.support == "planted" and action.duration is not None and not (action.layered or action.sided)
    return posture and bool(action.strategies) and not any(action.keys.values())


@lru_cache(maxsize=8)
def strategy_tables(library: Library) -> StrategyTables:
    """Return what decides which performance of an action of `library` (hashed by identity) a segment takes."""
    actions = [library.action(name) for name in library.actions]
    count = np.array([len(action.performances) - 1 for action in actions], np.int64)
    shares, handless = np.ones((2, len(actions), MOST_PERFORMANCES))
    for a, action in enumerate(actions):
        weights = action.weights
        free = [k == 0 or _arms_hang(one) for k, one in enumerate(action.performances)]
        shares[a, : len(weights)] = _cumulative(weights)
        handless[a, : len(weights)] = _cumulative([weight * hanging for weight, hanging in zip(weights, free, strict=True)])
    turns = [_turn_shares(action) for action in actions]
    return StrategyTables(
        first=2 * len(actions) + 2 * (np.cumsum(count) - count),
        others=count,
        usual=np.array([action.usual for action in actions]),
        freedom=np.array([action.freedom for action in actions]),
        share=shares,
        handless_share=handless,
        # Rows of an action are those of its left and of its right side.
        turn_share=np.repeat(np.concatenate([[each[0] for each in turns], *(each[1:] for each in turns)]), 2, axis=0),
        idle=np.array([_is_idle(action) for action in actions]),
    )


@lru_cache(maxsize=8)
def library_tables(library: Library) -> ActionTables:
    """Return the arrays of the actions of `library` (hashed by identity) and of the gaits."""
    lists = _Lists()
    performed = [(a, library.action(name)) for a, name in enumerate(library.actions)]
    others = [(a, other) for a, action in performed for other in action.performances[1:]]
    for a, action in performed + others:
        for near in ("left", "right"):
            _add_rows(lists, a, action, near)
    rows, keys, offsets, series = lists.rows, lists.keys, lists.offsets, lists.series
    return ActionTables(
        keys=np.array([k[:3] for k in keys], KEY),
        key_pose=np.asarray([k[3] for k in keys]).reshape(-1, len(CHANNELS)),
        key_given=np.asarray([k[4] for k in keys], bool).reshape(-1, len(CHANNELS)),
        pose_offsets=_stacked(offsets),
        key_offsets=_stacked([k[5] for k in keys]) if any(offsets) else np.zeros((0, len(keys), len(CHANNELS))),
        series_channel=np.asarray([s[0] for s in series], np.int64),
        series=np.asarray([s[1:] for s in series]).reshape(-1, 2, SERIES),
        intervals=np.asarray(lists.intervals, np.float64).reshape(-1, 4),
        travel=np.asarray(lists.travel, np.float64).reshape(-1, 4),
        gaits=gait_tables(),
        numbers=np.array([row["numbers"] for row in rows], ACTION),
        **{name: np.array([row[name] for row in rows]) for name in rows[0] if name != "numbers"},
    )


@dataclass(frozen=True)
class _Lists:
    """What the arrays of :class:`ActionTables` are made of: a row for each performance and side, and what the rows refer to."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    keys: list[tuple[int, float, int, Array, Array, list[Array]]] = field(default_factory=list)
    offsets: list[list[Array]] = field(default_factory=list)
    series: list[tuple[int, Array, Array]] = field(default_factory=list)
    intervals: list[tuple[int, int, float, float]] = field(default_factory=list)
    travel: list[tuple[float, float, float, float]] = field(default_factory=list)

    def lengths(self) -> tuple[int, int, int, int]:
        """Return the numbers of keys, series, intervals and parts of travel so far."""
        return len(self.keys), len(self.series), len(self.intervals), len(self.travel)


def _add_rows(lists: _Lists, a: int, action: Action, near: str) -> None:
    """Add a performance of the action with number `a`, whose near side is `near`."""
    pose, used = _row(action.pose, near)
    firsts = lists.lengths()
    drawn = bool(action.offsets)
    for key in chain.from_iterable(action.keys.values()):
        used = used | _row(key.pose, near)[1]
        drawn = drawn or bool(key.offsets)
    performed = _series(action, near)
    lists.series.extend(performed)
    used[[c for c, _, _ in performed]] = True
    lists.keys.extend(_keys(action, near, pose, used))
    lists.intervals.extend(_intervals(action, near))
    lists.travel.extend(_travel(action, near))
    lists.offsets.append(_offsets(action.offsets, near))
    flight, begin, again = (*action.flight, 0.0)[:3] if action.flight else (0.0, 0.0, 0.0)
    end = begin + (flight / action.cycle if action.cycle else 0.0)
    places = bool(used[_FOOT_CHANNELS].any())
    guided = PLACED if places else RETURNED if action.lifts else 0
    gait = GAITS[action.gait]
    kind = (SUPPORTS[action.support], gait, guided, *_open_ends(action, places))
    ranges = [edge for first, last in zip(firsts, lists.lengths(), strict=True) for edge in (first, last)]
    owned, parts = _owned(action, near, used)
    hands = [ANCHORS.index(a) for a in (action.anchors.near, action.anchors.far)]
    numbers = (action.enter, action.exit, flight, begin, end, again, *kind, *ranges, action.cycle, a, _bend(action), drawn)
    lists.rows.append(
        {
            "numbers": numbers,
            "pose": pose,
            "used": used,
            "owned": owned,
            "anchors": hands if near == "left" else hands[::-1],
            "parts": parts,
            "stride": stride_parameters(action, gait, near),
            "held": _held(action, near),
            "limits": _limits(action),
        }
    )


class StyleTables(NamedTuple):
    """Arrays of the styles of a library.

    Attributes
    ----------
    posture : float [styles, channels]
        Turns by which each channel differs from the usual posture.
    sway : float [styles]
        Factor on the sway in standing.
    steps : float [styles, 7]
        Changes of steps and arms; the columns are named in :mod:`posegen.motion.gait.steps`.
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
