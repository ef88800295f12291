"""The planned scene: the output of planning and the input of motion.

A scene is a set of flat arrays over samples, actors and segments. A segment is one action over an interval of time. The base
segments of an actor follow each other without gaps; a layer, such as an arm action over a walk, moves only the parts of its
action. Times are in seconds from the first frame and may be before it or after the last frame: scenes are planned longer than
shown, so that a faster variant does not run out of plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRID
from posegen.foundations.skeleton import AVERAGE, SHAPE

LEFT, RIGHT, BOTH = 0, 1, 2
"""Values of :attr:`Scenes.side`."""

NOTHING = -1
"""Value of :attr:`Scenes.action` in an unused segment."""

CONTINUED = -1
"""Value of :attr:`Scenes.path` in the segments of a path behind its first one."""

_SAMPLE, _ACTOR, _SEGMENT = 1, 2, 3
"""Number of leading axes of an array: samples, actors, segments."""


def _array(axes: int, kind: type, *inner: int, empty: float | Array = 0) -> dict[str, Any]:
    """Describe an array: its leading axes, type, further axes, and its value in an empty scene."""
    return {"axes": axes, "kind": kind, "inner": inner, "empty": empty}


class Habit(IntEnum):
    """First of the habits of a person that decide on a part of standing and of gait. Actions have numbers of their own."""

    POSTURE = 0  # one for each angle, and one for each on the other side
    TOE_OUT = 22
    STANCE = 23
    STAGGER = 24
    BENT_ARMS = 25  # of both, of the left and of the right one
    KNEES = 28
    ARM_SWING = 29  # of both, of the left and of the right one
    GAIT = 32
    AHEAD = 41
    UNLIKE_LEGS = 42  # hips, knees, ankles
    END = 45


HABITS = int(Habit.END)
"""Number of the habits of a person."""


@dataclass(frozen=True, repr=False)
class Persons:
    """The persons who play the actors; arrays [n, actors].

    Attributes
    ----------
    index : int64
        Number of the person in the population.
    stature : float32
        Metres.
    age : float32
        Years.
    male, left_handed : bool
    energy : float32
        -1 (tired) to 1 (energetic); scales the amplitude of movements.
    style : int16
        Index into the library's styles; 0 is neutral.
    habits : float32 [..., HABITS]
        Standard normal; the person's own way of standing and walking.
    key : uint64
        Of the person's way of performing each action, see :func:`foundations.randomness.keyed`; 0 for the mean.
    rest : float64 [..., 22, 3]
        Joint placement: offsets in the rest pose as fractions of stature, for an average shape.
    shape : float32 [..., SHAPE]
        Lengths relative to the average for the stature; see :data:`SHAPE`.
    """

    index: Array = field(metadata=_array(_ACTOR, np.int64))
    stature: Array = field(metadata=_array(_ACTOR, np.float32, empty=1.7))
    age: Array = field(metadata=_array(_ACTOR, np.float32, empty=30))
    male: Array = field(metadata=_array(_ACTOR, bool))
    left_handed: Array = field(metadata=_array(_ACTOR, bool))
    energy: Array = field(metadata=_array(_ACTOR, np.float32))
    style: Array = field(metadata=_array(_ACTOR, np.int16))
    habits: Array = field(metadata=_array(_ACTOR, np.float32, HABITS))
    key: Array = field(metadata=_array(_ACTOR, np.uint64))
    rest: Array = field(metadata=_array(_ACTOR, np.float64, *AVERAGE.shape, empty=AVERAGE))
    shape: Array = field(metadata=_array(_ACTOR, np.float32, len(SHAPE), empty=1))

    @property
    def legs(self) -> Array:
        """Lengths of thigh and shank together, relative to the average for the stature: float32 [...]."""
        thigh, shank = (self.shape[..., SHAPE.index(name)] for name in ("thigh", "shank"))
        return np.asarray(0.5 * (thigh + shank))

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
    phase : float32 [n, actors]
        Phase of the stride of an actor who walks in the first frame, 0 to 1.
    key : uint64 [n, actors]
        Of the small irregularities of the motion, see :func:`foundations.randomness.keyed`; 0 for none.
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
    path : int8 [n, actors, segments]
        Index into :data:`foundations.constants.PATHS` in the first segment of a path of several segments, such as a zigzag;
        CONTINUED in those behind it; otherwise 0.
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
    shared : uint64 [n]
        Key of what partners do at the same times.
    """

    sample: Array = field(metadata=_array(_SAMPLE, np.int64))
    theme: Array = field(metadata=_array(_SAMPLE, np.int16))
    actors: Array = field(metadata=_array(_SAMPLE, np.int16))
    length: Array = field(metadata=_array(_SAMPLE, np.int32))
    persons: Persons
    origin: Array = field(metadata=_array(_ACTOR, np.float32, 2))
    heading: Array = field(metadata=_array(_ACTOR, np.float32))
    seat_height: Array = field(metadata=_array(_ACTOR, np.float32))
    phase: Array = field(metadata=_array(_ACTOR, np.float32))
    key: Array = field(metadata=_array(_ACTOR, np.uint64))
    action: Array = field(metadata=_array(_SEGMENT, np.int16, empty=NOTHING))
    layered: Array = field(metadata=_array(_SEGMENT, bool))
    start: Array = field(metadata=_array(_SEGMENT, np.float32))
    end: Array = field(metadata=_array(_SEGMENT, np.float32))
    side: Array = field(metadata=_array(_SEGMENT, np.int8, empty=BOTH))
    speed: Array = field(metadata=_array(_SEGMENT, np.float32))
    turn: Array = field(metadata=_array(_SEGMENT, np.float32))
    path: Array = field(metadata=_array(_SEGMENT, np.int8))
    tempo: Array = field(metadata=_array(_SEGMENT, np.float32, empty=1))
    amplitude: Array = field(metadata=_array(_SEGMENT, np.float32, empty=1))
    repetitions: Array = field(metadata=_array(_SEGMENT, np.int16))
    together: Array = field(metadata=_array(_SEGMENT, bool))
    meets: Array = field(metadata=_array(_SAMPLE, np.float32, empty=-1))
    behind: Array = field(metadata=_array(_SAMPLE, bool))
    apart: Array = field(metadata=_array(_SAMPLE, np.float32, 3))
    shared: Array = field(metadata=_array(_SAMPLE, np.uint64))

    def __len__(self) -> int:
        return len(self.sample)

    def select(self, samples: Array) -> Scenes:
        """Return the scenes at these indices, int [n]."""
        columns = {field.name: getattr(self, field.name)[samples] for field in fields(self) if field.name != "persons"}
        return Scenes(persons=self.persons.select(samples), **columns)


UNUSED = {array.name: array.metadata["empty"] for array in fields(Scenes) if array.metadata.get("axes") == _SEGMENT}
"""Values of an unused segment in the arrays over segments."""


def on_grid(values: ArrayLike) -> Array:
    """Round positions in metres to multiples of :data:`posegen.foundations.constants.GRID`; return float32."""
    return (np.rint(np.asarray(values, np.float64) / GRID) * GRID).astype(np.float32)


def empty_scenes(n: int, actors: int, segments: int) -> Scenes:
    """Return scenes of `n` samples without actions: all segments unused, all numbers zero or neutral."""
    sizes = (n, actors, segments)
    numbered: dict[str, Array] = {"sample": np.arange(n, dtype=np.int64), "actors": np.full(n, actors, np.int16)}
    return Scenes(persons=Persons(**_empty(Persons, sizes)), **_empty(Scenes, sizes) | numbered)


def _empty(record: type[Persons | Scenes], sizes: tuple[int, int, int]) -> dict[str, Array]:
    arrays = {}
    for array in fields(record):
        if array.metadata:  # not the persons of a scene
            shape = (*sizes[: array.metadata["axes"]], *array.metadata["inner"])
            arrays[array.name] = np.full(shape, array.metadata["empty"], array.metadata["kind"])
    return arrays
