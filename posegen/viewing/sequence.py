"""Sequences as the page shows them: paths of points, captions in pieces, intervals of labels and contacts, as bytes.

The page reads the bytes in `posegen/viewing/page/source.js`. Not responsible for where sequences come from.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posegen.captions.parser import WORD, Lexicon, Meaning, lexicon_of
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, mirror_order, sole_points
from posegen.library.load import Library
from posegen.library.schema import OBJECTS
from posegen.viewing.clip import CONTACT_JOINTS, Clip, Seat, label_intervals, tracks_of

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
        :meth:`PointBlocks.encode`.
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


GRID = 1024
"""Steps per metre: positions are shown within half a millimetre."""
_LARGEST = 32_767
_SAME = 1e-4
"""Metres by which positions of copies may differ: less than the grid can show."""
_FLIPPED = np.array([-1.0, 1.0, 1.0])


class PointBlocks:
    """Blocks of points of one sample, as integers on a grid, small after compression; the page decodes them.

    A block holds points that move together, such as the joints of an actor. A block that is an earlier one moved or mirrored,
    as in the variants `position` and `mirror`, is stored as such.

    Attributes
    ----------
    blocks : list of dict
        ``frames`` and ``points`` of a stored block; ``copy`` (number of an earlier block), ``shift`` and ``mirrored`` of
        another.
    """

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self._stored: dict[int, Array] = {}

    def add(self, points: Array, mirror: Sequence[int] | None = None) -> int:
        """Add a block and return its number.

        Parameters
        ----------
        points : float [frame, point, 3]
            Metres. Absent points (NaN) take the position of the frame before, or of the next one.
        mirror : sequence of int, optional
            The point that replaces each point in a mirror; a copy of a block is then also searched in the mirror.
        """
        points = _filled(np.asarray(points, np.float64))
        copy = self._find_copy(points, mirror)
        if copy is None:
            self._stored[len(self.blocks)] = points
            copy = {"frames": points.shape[0], "points": points.shape[1]}
        self.blocks.append(copy)
        return len(self.blocks) - 1

    def encode(self) -> tuple[float, bytes]:
        """Return the steps per metre, and the stored blocks as bytes.

        Each coordinate of each point is a run of 16-bit numbers: second differences over the frames, zigzag-coded, all modulo
        2^16. The low bytes of all numbers come first, then the high bytes.
        """
        largest = max((float(np.abs(points).max()) for points in self._stored.values() if points.size), default=0.0)
        grid = float(GRID)
        while largest * grid > _LARGEST:
            grid /= 2
        runs = []
        for points in self._stored.values():
            steps = np.round(points * grid).astype(np.int16)
            for _ in range(2):
                steps = np.diff(steps, axis=0, prepend=np.zeros_like(steps[:1]))
            runs.append(np.moveaxis((steps << 1) ^ (steps >> 15), 0, -1).ravel())
        numbers = np.concatenate(runs) if runs else np.zeros(0, np.int16)
        return grid, numbers.astype("<i2").view(np.uint8).reshape(-1, 2).T.tobytes()

    def _find_copy(self, points: Array, mirror: Sequence[int] | None) -> dict[str, Any] | None:
        for number, other in self._stored.items():
            if other.shape != points.shape or not other.size:
                continue
            for mirrored in (False, True) if mirror else (False,):
                source = other[:, list(mirror)] * _FLIPPED if mirrored and mirror else other
                away = points - source
                shift = away[0, 0]
                if np.abs(away - shift).max() <= _SAME:
                    return {"copy": number, "shift": shift.tolist(), "mirrored": mirrored}
        return None


def _filled(points: Array) -> Array:
    """Replace absent points by their position in the frame before, or in the next one in which they are present."""
    present = np.isfinite(points).all(-1)
    if present.all():
        return points
    frames = np.arange(len(points))[:, None]
    before = np.maximum.accumulate(np.where(present, frames, -1))
    source = np.where(before >= 0, before, np.argmax(present, axis=0))
    filled = np.take_along_axis(points, source[..., None], axis=0)
    return np.where(np.isfinite(filled), filled, 0.0)


Piece = tuple[str, list[tuple[int, int]]]
"""Text, and the segments that it describes: number of the actor, and of the actor's segment."""

_ENDS = frozenset({"then", "while", "list", "after", "both", "person", "again", "during"})
"""Kinds of phrases that end a clause."""
_STOPS = frozenset(".;!?,")


def pieces_of(text: str, statements: Sequence[Mapping[str, Any]], library: Library) -> list[Piece]:
    """Divide a caption into pieces, each of which describes some segments, or none.

    Parameters
    ----------
    text : str
    statements : sequence of mappings
        Those of the caption.
    library : Library
        Its language has the words of the actions.

    Returns
    -------
    list of (str, list of (int, int))
        The texts, joined, are the caption.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> def statement(segment, action):
    ...     return {"actor": 0, "kind": "action", "segment": segment, "action": action, "value": ""}
    >>> pieces_of("A man walks, then waves.", [statement(0, "walk"), statement(1, "wave")], load_library())
    [('A man ', []), ('walks', [(0, 0)]), (', then ', []), ('waves', [(0, 1)]), ('.', [])]
    """
    stated = [statement for statement in statements if statement["kind"] == "action"]
    pieces: list[Piece] = []
    done, begin, shown = 0, 0, list[tuple[int, int]]()
    end = 0
    for first, last, meanings in [*_phrases(text, lexicon_of(library)), (len(text), len(text), None)]:
        described = _described(meanings or [], stated, lexicon_of(library))
        if shown and (described or meanings is None or _ends_clause(text[first:last], meanings)):
            pieces += [(text[done:begin], []), (text[begin:end], shown)]
            done, shown = end, []
        if described:
            begin, shown = first, described
        end = last
    return [piece for piece in [*pieces, (text[done:], [])] if piece[0]]


def _phrases(text: str, lexicon: Lexicon) -> Iterator[tuple[int, int, list[Meaning]]]:
    """Yield the start and end of the longest known phrase at each word, and what it may mean."""
    found = [(match.group().lower(), *match.span()) for match in WORD.finditer(text)]
    words = [word for word, _, _ in found]
    at = 0
    while at < len(words):
        length = lexicon.longest(words, at)
        yield found[at][1], found[at + max(length, 1) - 1][2], lexicon.phrases[tuple(words[at : at + length])] if length else []
        at += max(length, 1)


def _ends_clause(phrase: str, meanings: Sequence[Meaning]) -> bool:
    return phrase[0] in _STOPS or any(meaning.kind in _ENDS for meaning in meanings)


def _described(meanings: Sequence[Meaning], stated: list[Mapping[str, Any]], lexicon: Lexicon) -> list[tuple[int, int]]:
    """Return the segments that a phrase describes, and remove their statements from those that are still to be found."""
    for meaning in meanings:
        if meaning.kind == "verb":
            required: list[tuple[int | None, str]] = [(None, meaning.action)]
        elif meaning.kind == "joint":
            required = [(actor, name) for actor, names in enumerate(lexicon.interactions[meaning.action]) for name in names]
        else:
            continue
        found = []
        for actor, action in required:
            match = next((s for s in stated if s["action"] == action and actor in (None, s["actor"])), None)
            if match is not None:
                stated.remove(match)
                found.append((int(match["actor"]), int(match["segment"])))
        if found:
            return found
    return []
