"""The planned scene: what the story decides and the motion carries out.

A scene says who does what when, as flat arrays over samples, actors and slots. A slot is one action performed over a
stretch of time. Base slots tile the time of an actor without gaps; a layered slot (an arm action over a walk) lies on
top of them and moves only the parts of its action. Times are in seconds from the first frame and may lie before it or
behind the last frame: scenes are planned longer than shown, so that a faster variant does not run out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.constants import GRID

__all__ = ["BOTH", "DRAWS", "LEFT", "NOTHING", "RIGHT", "Persons", "Scenes", "empty_scenes", "on_grid"]

LEFT, RIGHT, BOTH = 0, 1, 2
"""Values of :attr:`Scenes.side`."""

NOTHING = -1
"""Value of :attr:`Scenes.action` in a slot that is not used."""

DRAWS = 32
"""How many uniform draws each actor brings for the small irregularities of its motion."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Persons:
    """Who plays each actor; arrays [n, actors].

    Attributes
    ----------
    index : int64
        Number of the person in the population.
    stature : float32
        Metres.
    legs, arms, shoulders, hips : float32
        Length of the legs and arms, breadth of the shoulders and hips, relative to the average of that stature.
    age : float32
        Years.
    male, left_handed : bool
    energy : float32
        -1 (tired) to 1 (energetic); scales the amplitude of movements.
    style : int16
        Index into the library's styles; 0 for who has none.
    """

    index: Array
    stature: Array
    legs: Array
    arms: Array
    shoulders: Array
    hips: Array
    age: Array
    male: Array
    left_handed: Array
    energy: Array
    style: Array


@dataclass(frozen=True)
class Scenes:
    """Planned scenes of n samples, all with room for the same number of actors and slots.

    Attributes
    ----------
    sample : int64 [n]
    theme : int16 [n]
        Index into the library's themes.
    actors : int16 [n]
        How many actors the sample has; the rest of the actor axis is absent.
    length : int32 [n]
        Frames that the clip has; behind them everything is absent.
    persons : Persons
    origin : float32 [n, actors, 2]
        Where each actor is in the first frame: x, z in metres.
    heading : float32 [n, actors]
        Where each actor faces in the first frame: radians, 0 faces +z, positive is to the left (towards +x).
    seat_height : float32 [n, actors]
        Height of the seat that the actor uses, in metres; 0 where it uses none.
    steps : float32 [n, steps, 6]
        What there is to step on, beside the floor at 0: centre x, z, heading, half width across it, half depth along it,
        height; metres and radians. Rows of zeros are no steps.
    phase : float32 [n, actors]
        Where in the stride an actor is that walks in the first frame, 0 to 1.
    draws : float32 [n, actors, DRAWS]
        Uniform on 0 to 1.
    action : int16 [n, actors, slots]
        Index into the library's actions, or NOTHING. Base slots come first, in the order of time; then layered slots.
    layered : bool [n, actors, slots]
    start, end : float32 [n, actors, slots]
        Seconds.
    side : int8 [n, actors, slots]
        LEFT, RIGHT or BOTH: which arm waves, which foot leads.
    speed : float32 [n, actors, slots]
        Demanded speed of locomotion in metres a second; 0 for all other actions.
    turn : float32 [n, actors, slots]
        By how much the slot turns the heading, in radians; positive is to the left.
    tempo : float32 [n, actors, slots]
        Factor on the pace of everything but locomotion.
    amplitude : float32 [n, actors, slots]
        Factor on the size of the action.
    repetitions : int16 [n, actors, slots]
        How often the action's cycle is repeated; 0 for actions that have none.
    together : bool [n, actors, slots]
        Done with the partner. Only the first two actors meet one another.
    meets : float32 [n]
        Seconds at which these two face each other, or at which the second one stands behind the first; -1 where nobody meets.
    behind : bool [n]
        Whether the second one stands behind the first one then, facing the same way.
    apart : float32 [n, 3]
        How far ahead of the first one the second one is then: metres, and lengths of both arms in addition; how far to its left
        it is, in lengths of both arms.
    shared : float32 [n, DRAWS]
        Uniform on 0 to 1, for what hands that meet do alike.
    """

    sample: Array
    theme: Array
    actors: Array
    length: Array
    persons: Persons
    origin: Array
    heading: Array
    seat_height: Array
    steps: Array
    phase: Array
    draws: Array
    action: Array
    layered: Array
    start: Array
    end: Array
    side: Array
    speed: Array
    turn: Array
    tempo: Array
    amplitude: Array
    repetitions: Array
    together: Array
    meets: Array
    behind: Array
    apart: Array
    shared: Array

    def __len__(self) -> int:
        return len(self.sample)


def on_grid(values: ArrayLike) -> Array:
    """Round positions in metres to multiples of :data:`posegen.constants.GRID`; return float32."""
    return (np.rint(np.asarray(values, np.float64) / GRID) * GRID).astype(np.float32)


def empty_scenes(n: int, actors: int, slots: int) -> Scenes:
    """Scenes of `n` samples in which nothing happens yet: every slot unused, every number zero or neutral."""
    who = (n, actors)
    what = (n, actors, slots)
    ones = np.ones(who, np.float32)
    persons = Persons(
        index=np.zeros(who, np.int64),
        stature=1.7 * ones,
        legs=ones.copy(),
        arms=ones.copy(),
        shoulders=ones.copy(),
        hips=ones.copy(),
        age=30 * ones,
        male=np.zeros(who, bool),
        left_handed=np.zeros(who, bool),
        energy=np.zeros(who, np.float32),
        style=np.zeros(who, np.int16),
    )
    return Scenes(
        sample=np.arange(n, dtype=np.int64),
        theme=np.zeros(n, np.int16),
        actors=np.full(n, actors, np.int16),
        length=np.zeros(n, np.int32),
        persons=persons,
        origin=np.zeros((*who, 2), np.float32),
        heading=np.zeros(who, np.float32),
        seat_height=np.zeros(who, np.float32),
        steps=np.zeros((n, 0, 6), np.float32),
        phase=np.zeros(who, np.float32),
        draws=np.full((*who, DRAWS), 0.5, np.float32),
        action=np.full(what, NOTHING, np.int16),
        layered=np.zeros(what, bool),
        start=np.zeros(what, np.float32),
        end=np.zeros(what, np.float32),
        side=np.full(what, BOTH, np.int8),
        speed=np.zeros(what, np.float32),
        turn=np.zeros(what, np.float32),
        tempo=np.ones(what, np.float32),
        amplitude=np.ones(what, np.float32),
        repetitions=np.zeros(what, np.int16),
        together=np.zeros(what, bool),
        meets=np.full(n, -1, np.float32),
        behind=np.zeros(n, bool),
        apart=np.zeros((n, 3), np.float32),
        shared=np.full((n, DRAWS), 0.5, np.float32),
    )
