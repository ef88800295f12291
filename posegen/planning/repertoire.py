"""The properties of the library's actions as flat arrays, indexed by action, and the weights of actions and themes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.constants import SHAPES, STANDING
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import BOTH, LEFT, NOTHING, RIGHT
from posegen.foundations.skeleton import PARTS
from posegen.foundations.wording import did_you_mean
from posegen.library.channels import sided_names
from posegen.library.load import Library
from posegen.library.schema import Action

PICKING, PUTTING = "pick_up", "put_down"

NO_GAIT, WALK, RUN, STEP, HOP, SKIP = 0, 1, 2, 3, 4, 5
_GAITS = {None: NO_GAIT, "walk": WALK, "run": RUN, "step": STEP, "hop": HOP, "skip": SKIP}
_SHORTEST_HOLD = 0.8


@dataclass(frozen=True)
class Repertoire:
    """Properties of the actions; arrays [actions].

    Attributes
    ----------
    names : in the order of the library
    standing : index of the idle action
    picking, putting : indices of picking up and of putting down an object; NOTHING in a library without them
    gait : NO_GAIT, WALK, RUN, STEP, HOP or SKIP
    base : whether it determines the whole body; the others are layers over a base action
    layered : whether it may be a layer over another action
    host : whether it allows layers
    sided, seated, resting, counted, jumping : whether it has a side, a seat, a seat or the floor below it, repetitions, flights
    steady : whether it contains free fall as an interval, which takes the same time at any pace, so that its tempo is 1
    shaped : whether captions can name the shape of its path, such as a circle
    shortest, longest : seconds at tempo 1 with the fewest and the most repetitions
    enter, exit, cycle : seconds at tempo 1
    fewest, most : repetitions
    slow, fast : metres per second
    right, left : largest turns in degrees; right is negative
    """

    names: tuple[str, ...]
    standing: int
    picking: int
    putting: int
    gait: Array
    base: Array
    layered: Array
    host: Array
    sided: Array
    seated: Array
    resting: Array
    counted: Array
    jumping: Array
    steady: Array
    shaped: Array
    shortest: Array
    longest: Array
    enter: Array
    exit: Array
    cycle: Array
    fewest: Array
    most: Array
    slow: Array
    fast: Array
    right: Array
    left: Array


@lru_cache(maxsize=8)
def repertoire(library: Library) -> Repertoire:
    """Return the properties of the library's actions."""
    actions = [library.action(name) for name in library.actions]
    if STANDING not in library.actions:
        raise UsageError(f"the library has no action {STANDING!r}, over which arm actions are performed; add it")
    rows = []
    for name, action in zip(library.actions, actions, strict=True):
        paths = library.words["actions"][name].get("path", {})
        shaped = all(shape in paths for shape in SHAPES)
        gait, seated, base = _GAITS[action.gait], action.support == "seat", "legs" in action.parts or not action.layered
        # Arms that hold something allow no layer.
        host = (gait in (WALK, STEP) or seated) and not (action.gait_style and action.gait_style.fixed_parts)
        resting, jumping = seated or action.support == "floor", action.support == "flight"
        counted = action.repetitions is not None
        steady = any(lift.foot == "body" for one in action.performances for lift in one.lifts)
        kinds = gait, base, action.layered and not base, host, action.sided, seated, resting, counted, jumping, steady, shaped
        seconds = *seconds_of(action), action.enter, action.exit, action.cycle
        ranges = *(action.repetitions or (0, 0)), *(action.speed or (0.0, 0.0)), *action.turn
        rows.append((*kinds, *seconds, *ranges))  # in the order of the attributes
    picking, putting = (library.actions.index(name) if name in library.actions else NOTHING for name in (PICKING, PUTTING))
    columns = map(np.array, zip(*rows, strict=True))
    known = Repertoire(library.actions, library.actions.index(STANDING), picking, putting, *columns)
    known.host[known.standing] = True
    return known


def seconds_of(action: Action) -> tuple[float, float]:
    """Return the shortest and the longest duration of an action at tempo 1, with the fewest and the most repetitions."""
    around = action.enter + action.exit
    if action.repetitions is not None:
        fewest, most = action.repetitions
        return around + fewest * action.cycle, around + most * action.cycle
    shortest, longest = action.duration or (1.0, 1.0)
    needed = around + _SHORTEST_HOLD if around > 0 else 0.0
    return max(shortest, needed), max(longest, needed)


def parts_of(action: Action, side: int) -> tuple[str, ...]:
    """Return the body parts that an action with `side` moves, in the order of :data:`posegen.foundations.skeleton.PARTS`."""
    sides = {LEFT: ("left",), RIGHT: ("right",), BOTH: ("left", "right")}[side]
    moved = {name for part in action.parts for near in sides for name in sided_names(part, near)}
    return tuple(part for part in PARTS if part in moved)


def theme_weights(config: Config, library: Library) -> Array:
    """Return the weight of each theme, in the order of the library."""
    chosen = config.story.themes
    if chosen is None:
        return np.array([theme.weight for theme in library.themes.values()])
    check_names("story.themes", chosen, library.themes)
    return np.array([float(chosen.get(name, 0.0)) for name in library.themes])


def action_weights(config: Config, library: Library) -> Array:
    """Return the weights of actions [themes, actions]: products of those of the theme, the action and the config."""
    factors = config.story.actions
    check_names("story.actions", factors, library.actions)
    rows, own = _own_weights(library)
    weights: Array = rows * (own * np.array([factors.get(name, 1.0) for name in library.actions]) if factors else own)
    for name, row, weight in zip(library.themes, weights, theme_weights(config, library), strict=True):
        if weight > 0 and not (row > 0).any():
            raise UsageError(f"theme {name!r} has no action left: raise one of its actions in story.actions, or drop it")
    return weights


@lru_cache(maxsize=8)
def _own_weights(library: Library) -> tuple[Array, Array]:
    """Return the weights of actions in each theme [themes, actions], and of actions alone [actions]."""
    rows = [[theme.actions.get(name, 0.0) for name in library.actions] for theme in library.themes.values()]
    return np.array(rows, np.float64), np.array([library.action(name).weight for name in library.actions])


def check_names(key: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise a UsageError for a name below a key of the config that the library does not have."""
    for name in names:
        if name not in known:
            raise UsageError(f"{key}.{name}: unknown {key.rpartition('.')[2].removesuffix('s')}{did_you_mean(name, known)}")
