"""Sequences as the page shows them: paths of points, captions in pieces, intervals of labels and contacts, as bytes.

The page reads the bytes in `posegen/viewing/page/source.js`. Not responsible for where sequences come from.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, mirror_order, sole_points
from posegen.library.load import Library
from posegen.library.schema import OBJECTS
from posegen.viewing.clip import CONTACT_JOINTS, Clip, Seat, label_intervals, tracks_of
from posegen.viewing.highlights import pieces_of
from posegen.viewing.points import PointBlocks

POINTS = (*JOINTS, *CONTACTS[:4])
"""Points of an actor: the joints, and heels and toes of the soles."""
MIRROR_POINTS = mirror_order(POINTS)
CONTACT_POINTS = tuple(POINTS.index(CONTACT_JOINTS.get(name, name)) for name in CONTACTS)
"""The point at which each contact is shown."""
_FOOT = (("ankle", "heel"), ("heel", "toe"), ("toe", "foot"))
BONES = (
    *((PARENTS[joint], joint) for joint in range(1, len(JOINTS))),
    *((POINTS.index(f"{side}_{a}"), POINTS.index(f"{side}_{b}")) for side in ("left", "right") for a, b in _FOOT),
)
"""Pairs of points that are joined."""
_STATES = ("lying", "held", "flying")
_LEVEL = 9


@dataclass(frozen=True)
class Camera:
    """A camera.

    Attributes
    ----------
    extrinsics : float [frame, 4, 4]
        From world to camera axes (right, down, forward).
    intrinsics : float [frame, 3, 3]
    size : (float, float)
        Width and height of the image in pixels.
    """

    extrinsics: Array
    intrinsics: Array
    size: tuple[float, float]


@dataclass(frozen=True)
class Sequence3D:
    """One variant of a sample.

    Attributes
    ----------
    clip : Clip
        Joints, contacts and seats.
    name : str
        Of the variant.
    row : mapping
        As in the table of sequences; `captions` and `actors` at least.
    action : uint16 [actors, frames, parts] or None
        Index into `names`.
    names : sequence of str
    objects : mapping of str to array
        The arrays of the field `objects` [actors, frames, ...], or nothing.
    camera : Camera, optional
    """

    clip: Clip
    name: str
    row: Mapping[str, Any]
    action: Array | None = None
    names: Sequence[str] = ()
    objects: Mapping[str, Array] = field(default_factory=dict)
    camera: Camera | None = None


def encode_sample(sample: int, sequences: Sequence[Sequence3D], library: Library | None) -> bytes:
    """Return a sample as the page reads it.

    Parameters
    ----------
    sample : int
    sequences : sequence of Sequence3D
        Its variants.
    library : Library, optional
        The library of the captions; without it, captions are not divided.

    Returns
    -------
    bytes
        zlib of: length of the description (4 bytes, little-endian), the description as JSON, and the points of
        :meth:`posegen.viewing.points.PointBlocks.encode`.
    """
    blocks = PointBlocks()
    variants = [_variant(sequence, blocks, library) for sequence in sequences]
    grid, points = blocks.encode()
    description = {"sample": sample, "grid": grid, "blocks": blocks.blocks, "variants": variants}
    head = json.dumps(description, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()
    return zlib.compress(struct.pack("<I", len(head)) + head + points, _LEVEL)


def _variant(sequence: Sequence3D, blocks: PointBlocks, library: Library | None) -> dict[str, Any]:
    clip, row = sequence.clip, sequence.row
    known = {key: row[key] for key in ("theme", "parameters", "attempt", "dropped") if key in row}
    actors = list(row["actors"]) + [{}] * (len(clip.joints) - len(row["actors"]))
    return known | {
        "name": sequence.name,
        "title": clip.title,
        "fps": clip.fps,
        "frames": clip.frames,
        "captions": [_caption(caption, library) for caption in row["captions"]],
        "actors": [_actor(sequence, number, actor, blocks) for number, actor in enumerate(actors)],
        "seats": [_box(seat) for seat in clip.seats],
        "camera": sequence.camera and _camera(sequence.camera, clip.frames, blocks),
    }


def _caption(caption: Mapping[str, Any], library: Library | None) -> dict[str, Any]:
    text, statements = caption["text"], caption.get("statements", ())
    return {"kind": caption.get("kind", ""), "pieces": pieces_of(text, statements, library) if library else [(text, [])]}


def _actor(sequence: Sequence3D, number: int, actor: Mapping[str, Any], blocks: PointBlocks) -> dict[str, Any]:
    joints = sequence.clip.joints[number]
    present = np.isfinite(joints).all((1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):  # of an actor whose ankle and foot are one point
        points = np.concatenate([joints, sole_points(joints)], axis=1)
    segments = [
        {key: segment[key] for key in ("action", "parts", "start", "end", "side", "speed", "turn", "repetitions", "text")}
        for segment in actor.get("segments", ())
    ]
    contacts = [] if sequence.clip.contacts is None else sequence.clip.contacts[number, : len(joints)].T == 1
    return {key: actor.get(key) for key in ("person", "stature", "age", "male", "left_handed", "style")} | {
        "segments": segments,
        "present": _intervals(present),
        "block": blocks.add(points, MIRROR_POINTS),
        "tracks": _tracks(sequence, number),
        "contacts": [_intervals(touching) for touching in contacts],
        "objects": _objects(sequence, number, blocks),
    }


def _tracks(sequence: Sequence3D, number: int) -> list[tuple[str, list[tuple[int, int, str]]]]:
    """Return the labels of each body part whose labels differ from those of earlier parts, as intervals."""
    if sequence.action is None:
        return []
    tracks = tracks_of(sequence.action[number : number + 1, : sequence.clip.frames], sequence.names)
    return [(part, _runs(labels)) for part, labels in tracks.items()]


def _runs(labels: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return the intervals of equal labels, without those of no label."""
    return [(first, last, label) for label, first, last in label_intervals(labels) if label]


def _intervals(true: Array) -> list[tuple[int, int]]:
    """Return the first frame of each interval of True, and the frame behind its last."""
    return [(first, last) for value, first, last in label_intervals(true.tolist()) if value]


def _objects(sequence: Sequence3D, number: int, blocks: PointBlocks) -> dict[str, Any] | None:
    if not sequence.objects:
        return None
    kinds, states, places = (
        sequence.objects[name][number, : sequence.clip.frames] for name in ("object", "object_state", "object_position")
    )
    labels = [
        f"{OBJECTS[kind]} {_STATES[state]}" if kind < len(OBJECTS) and state < len(_STATES) else ""
        for kind, state in zip(kinds.tolist(), states.tolist(), strict=True)
    ]
    return {"intervals": _runs(labels), "block": blocks.add(places[:, None])} if any(labels) else None


def _camera(camera: Camera, frames: int, blocks: PointBlocks) -> dict[str, Any]:
    """Describe a camera by three points: its place, and one metre forward and down from it."""
    extrinsics = np.asarray(camera.extrinsics[:frames], np.float64)
    turns, moves = extrinsics[:, :3, :3], extrinsics[:, :3, 3]
    place = -(turns * moves[..., None]).sum(1)
    points = np.stack([place, place + turns[:, 2], place + turns[:, 1]], axis=1)
    focal = np.nan_to_num(np.asarray(camera.intrinsics[:frames, 1, 1], np.float64))
    return {"block": blocks.add(points), "focal": [round(value, 1) for value in focal.tolist()], "size": list(camera.size)}


def _box(seat: Seat) -> tuple[float, ...]:
    """Return the centre of the top of a box, its size and its thickness, all in metres."""
    x, y, z = seat.top
    return x, y, z, seat.size, y if seat.thickness is None else seat.thickness
