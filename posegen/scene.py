"""The planned scene: the output of planning and the input of motion.

A scene is a set of flat arrays over samples, actors and segments. A segment is one action over an interval of time. The base
segments of an actor follow each other without gaps; a layer, such as an arm action over a walk, moves only the parts of its
action. Times are in seconds from the first frame and may be before it or after the last frame: scenes are planned longer than
shown, so that a faster variant does not run out of plan.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.constants import GRID

LEFT, RIGHT, BOTH = 0, 1, 2
"""Values of :attr:`Scenes.side`."""

NOTHING = -1
"""Value of :attr:`Scenes.action` in an unused segment."""

DRAWS = 32
"""Number of uniform draws per actor for small irregularities of its motion."""

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Persons:
    """The persons who play the actors; arrays [n, actors].

    Attributes
    ----------
    index : int64
        Number of the person in the population.
    stature : float32
        Metres.
    legs, arms, shoulders, hips : float32
        Lengths of legs and arms and breadths of shoulders and hips, relative to the average for the stature.
    age : float32
        Years.
    male, left_handed : bool
    energy : float32
        -1 (tired) to 1 (energetic); scales the amplitude of movements.
    style : int16
        Index into the library's styles; 0 is neutral.
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

    def __repr__(self) -> str:
        return f"Persons({self.index.size} persons)"

    def select(self, where: Any) -> Persons:
        """Return the persons at an index of the arrays."""
        return Persons(**{field.name: getattr(self, field.name)[where] for field in fields(self)})


@dataclass(frozen=True, repr=False)
class Scenes:
    """Planned scenes of n samples, with a common number of actors and segments.

    Attributes
    ----------
    sample : int64 [n]
    theme : int16 [n]
        Index into the library's themes.
    actors : int16 [n]
        Number of actors of the sample; the rest of the actor axis is absent.
    length : int32 [n]
        Frames of the clip; later frames are absent.
    persons : Persons
    origin : float32 [n, actors, 2]
        Position of each actor in the first frame: x, z in metres.
    heading : float32 [n, actors]
        Heading of each actor in the first frame: radians, 0 faces +z, positive is to the left (towards +x).
    seat_height : float32 [n, actors]
        Height of the actor's seat in metres; 0 without a seat.
    steps : float32 [n, steps, 6]
        Steps above the floor at 0: centre x, z, heading, half width across it, half depth along it, height; metres and radians.
        Rows of zeros are unused.
    phase : float32 [n, actors]
        Phase of the stride of an actor who walks in the first frame, 0 to 1.
    draws : float32 [n, actors, DRAWS]
        Uniform on 0 to 1.
    action : int16 [n, actors, segments]
        Index into the library's actions, or NOTHING. Base segments come first, in the order of time, then layers.
    layered : bool [n, actors, segments]
    start, end : float32 [n, actors, segments]
        Seconds.
    side : int8 [n, actors, segments]
        LEFT, RIGHT or BOTH: the arm that waves, the foot that starts.
    speed : float32 [n, actors, segments]
        Planned speed of locomotion in metres per second; 0 for all other actions.
    turn : float32 [n, actors, segments]
        Turn of the heading in radians; positive is to the left.
    tempo : float32 [n, actors, segments]
        Factor on the pace of all actions except locomotion.
    amplitude : float32 [n, actors, segments]
        Factor on the size of the action.
    repetitions : int16 [n, actors, segments]
        Number of cycles; 0 for actions without a cycle.
    together : bool [n, actors, segments]
        Whether the action involves the partner. Only the first two actors interact.
    meets : float32 [n]
        Time in seconds at which these two face each other, or the second one stands behind the first; -1 without an
        interaction.
    behind : bool [n]
        Whether the second one then stands behind the first one, with the same heading.
    apart : float32 [n, 3]
        Position of the second one relative to the first one then: metres ahead, plus a multiple of the summed length of both
        arms; offset to the left, in summed lengths of both arms.
    shared : float32 [n, DRAWS]
        Uniform on 0 to 1, for the common movement of hands that meet.
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

    def __repr__(self) -> str:
        samples, actors, segments = self.action.shape
        return f"Scenes({samples} samples, {actors} actors, {segments} segments)"


def on_grid(values: ArrayLike) -> Array:
    """Round positions in metres to multiples of :data:`posegen.constants.GRID`; return float32."""
    return (np.rint(np.asarray(values, np.float64) / GRID) * GRID).astype(np.float32)


def empty_scenes(n: int, actors: int, segments: int) -> Scenes:
    """Return scenes of `n` samples without actions: all segments unused, all numbers zero or neutral."""
    who = (n, actors)
    what = (n, actors, segments)
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
