"""Scenes from short descriptions, segments and persons for tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.scene import BOTH, Persons, Scenes, empty_scenes
from posegen.foundations.skeleton import AVERAGE, JOINTS, SHAPE
from posegen.library.load import Library, load_library
from posegen.motion.engine import Motion, animate
from posegen.motion.library_tables import ActionTables, library_tables, style_tables
from posegen.motion.scene_arrays import person_arrays
from posegen.motion.workspace import SEGMENT, Person, Segment

LIBRARY = load_library()
LEG, ARM = (-sum(AVERAGE[JOINTS.index(f"left_{end}"), 1] for end in ends) for ends in (("knee", "ankle"), ("elbow", "wrist")))
"""Lengths of thigh and shank, and of upper arm and forearm, as fractions of stature."""


class SegmentSpec(NamedTuple):
    """One action over a stretch of time, in seconds; the turn in degrees, positive to the left."""

    action: str
    start: float
    end: float
    speed: float = 0.0
    turn: float = 0.0
    side: int = BOTH
    repetitions: int = 0
    layered: bool = False
    amplitude: float = 1.0


def scripted(
    *segments: SegmentSpec, frames: int, stature: float = 1.7, phase: float = 0.0, seat: float = 0.0, library: Library = LIBRARY
) -> Scenes:
    """One sample: an actor of average proportions starts at the origin, faces +z and performs the segments."""
    scenes = empty_scenes(1, 1, len(segments))
    scenes.length[:], scenes.persons.stature[:], scenes.phase[:], scenes.seat_height[:] = frames, stature, phase, seat
    for k, segment in enumerate(segments):
        scenes.action[0, 0, k] = library.index(segment.action)
        scenes.turn[0, 0, k] = np.radians(segment.turn)
        for name in ("start", "end", "speed", "side", "repetitions", "layered", "amplitude"):
            getattr(scenes, name)[0, 0, k] = getattr(segment, name)
    return scenes


def between_standing(*segments: SegmentSpec) -> tuple[SegmentSpec, ...]:
    """The segments with standing before and after them, or below them if the first one is a layer."""
    begin, end = segments[0].start, segments[-1].end
    if segments[0].layered:
        return (SegmentSpec("stand", -2, end + 20), *segments)
    return (SegmentSpec("stand", -2, begin), *segments, SegmentSpec("stand", end, end + 20))


def animated(scenes: Scenes, frames: int, fps: int) -> Motion:
    """Motion of the scenes: joints [n, actors, frames, 22, 3], and so on."""
    return animate(scenes, LIBRARY, frames, fps)


def place(motion: Motion, joint: str) -> Array:
    """Positions of a joint of the only actor, float64 [frames, 3]."""
    return motion.joints[0, 0, :, JOINTS.index(joint)].astype(np.float64)


def leg_length(stature: float) -> float:
    return float(LEG * stature)


def set_shape(persons: Persons, **factors: float) -> None:
    """Set lengths of :data:`posegen.foundations.skeleton.SHAPE`; `legs` and `arms` set both of their bones."""
    bones = {"legs": ("thigh", "shank"), "arms": ("upper_arm", "forearm")}
    for name, factor in factors.items():
        for bone in bones.get(name, (name,)):
            persons.shape[..., SHAPE.index(bone)] = factor


def segment(action: str, start: float, end: float, *, right: bool = False, **numbers: float) -> Segment:
    """Return a segment as kernels read it; `numbers` are its tempo, amplitude, repetitions and speed."""
    return segment_of_kind(library_tables(LIBRARY), 2 * LIBRARY.index(action) + right, start, end, **numbers)


def segment_of_kind(tables: ActionTables, kind: int, start: float, end: float, **numbers: float) -> Segment:
    """Return a segment of the action in row `kind` of the tables."""
    record = np.zeros(1, SEGMENT).view(np.recarray)[0]
    own = {name: tables.poses.numbers[name][kind] for name in tables.poses.numbers.dtype.names or ()}
    span = {"start": start, "end": end, "shown_start": start, "shown_end": end}
    usual = {"tempo": 1.0, "amplitude": 1.0, "personal": 1.0}
    for name, value in (usual | numbers | {"kind": kind, "second": kind} | span | own).items():
        record[name] = value
    return record


def person(stature: float = 1.7, seed: int | None = None) -> Person:
    """Return a person as kernels read it, with individual draws if a seed is given."""
    scenes = scripted(frames=0, stature=stature)
    if seed is not None:
        scenes.key[:] = np.random.default_rng(seed).integers(1, 2**63, scenes.key.shape)
    return person_of(scenes)


def person_of(scenes: Scenes) -> Person:
    """Return the first actor as kernels read it."""
    return Person(*(array[0, 0] for array in person_arrays(scenes, style_tables(LIBRARY))))
