"""Sequences as the page shows them: paths of points, captions in pieces, intervals of labels and contacts, as bytes.

The page reads the bytes in `posegen/viewing/page/source.js`. Not responsible for where sequences come from.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posegen.captions.lexicon import Lexicon, Meaning, known_phrases, lexicon_of
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, mirror_order, sole_points
from posegen.library.load import Library
from posegen.library.schema import OBJECTS
from posegen.viewing.clip import CONTACT_JOINTS, OBJECT_ARRAYS, Clip, fill_absent, label_intervals

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


def encode_sample(sample: int, clips: Sequence[Clip], library: Library | None) -> bytes:
    """Return a sample as the page reads it.

    Parameters
    ----------
    sample : int
    clips : sequence of Clip
        Its variants, with their rows.
    library : Library, optional
        The library of the captions; without it, captions are not divided.

    Returns
    -------
    bytes
        zlib of: length of the description (4 bytes, little-endian), the description as JSON, and the points of
        :meth:`PointBlocks.encode`.
    """
    blocks = PointBlocks()
    variants = [_variant(clip, blocks, library) for clip in clips]
    grid, points = blocks.encode()
    description = {"sample": sample, "grid": grid, "blocks": blocks.blocks, "variants": variants}
    head = json.dumps(description, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()
    return zlib.compress(struct.pack("<I", len(head)) + head + points, _LEVEL)


def _variant(clip: Clip, blocks: PointBlocks, library: Library | None) -> dict[str, Any]:
    row = clip.row
    known = {key: row[key] for key in ("theme", "parameters", "attempt", "dropped") if key in row}
    return known | {
        "name": row["variant"],
        "title": clip.title,
        "fps": clip.fps,
        "frames": clip.frames,
        "captions": [_caption(caption, library) for caption in row["captions"]],
        "actors": [_actor(clip, number, actor, blocks) for number, actor in enumerate(row["actors"])],
        # The centre of the top of each box, its size and its thickness, all in metres.
        "seats": [(*seat.top, seat.size, seat.top[1] if seat.thickness is None else seat.thickness) for seat in clip.seats],
    }


def _caption(caption: Mapping[str, Any], library: Library | None) -> dict[str, Any]:
    text, statements = caption["text"], caption.get("statements", ())
    return {"kind": caption.get("kind", ""), "pieces": pieces_of(text, statements, library) if library else [(text, [])]}


def _actor(clip: Clip, number: int, actor: Mapping[str, Any], blocks: PointBlocks) -> dict[str, Any]:
    joints = clip.joints[number]
    present = np.isfinite(joints).all((1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):  # of an actor whose ankle and foot are one point
        points = np.concatenate([joints, sole_points(joints)], axis=1)
    segments = [
        {key: segment[key] for key in ("action", "parts", "start", "end", "side", "speed", "turn", "repetitions", "text")}
        for segment in actor["segments"]
    ]
    prefix = f"{number + 1} " if len(clip.joints) > 1 else ""
    tracks = [(name.removeprefix(prefix), _runs(labels)) for name, labels in clip.tracks.items() if name.startswith(prefix)]
    contacts = [] if clip.contacts is None else clip.contacts[number].T == 1
    return {key: actor.get(key) for key in ("person", "stature", "age", "male", "left_handed", "style")} | {
        "segments": segments,
        "present": _intervals(present),
        "block": blocks.add(points, MIRROR_POINTS),
        "tracks": tracks,
        "contacts": [_intervals(touching) for touching in contacts],
        "objects": _objects(clip, number, blocks),
    }


def _runs(labels: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return the intervals of equal labels, without those of no label."""
    return [(first, last, label) for label, first, last in label_intervals(labels) if label]


def _intervals(true: Array) -> list[tuple[int, int]]:
    """Return the first frame of each interval of True, and the frame after its last."""
    return [(first, last) for value, first, last in label_intervals(true.tolist()) if value]


def _objects(clip: Clip, number: int, blocks: PointBlocks) -> dict[str, Any] | None:
    if not clip.objects:
        return None
    kinds, states, places = (clip.objects[name][number, : clip.frames] for name in OBJECT_ARRAYS)
    labels = [
        f"{OBJECTS[kind]} {_STATES[state]}" if kind < len(OBJECTS) and state < len(_STATES) else ""
        for kind, state in zip(kinds.tolist(), states.tolist(), strict=True)
    ]
    return {"intervals": _runs(labels), "block": blocks.add(places[:, None])} if any(labels) else None


GRID = 1024
"""Steps per metre: positions are shown within half a millimetre."""
_LARGEST = 32_767
_SAME = 1e-4
"""Largest difference of positions of copies, metres: less than the grid can show."""
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
        points = fill_absent(np.asarray(points, np.float64))
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


Piece = tuple[str, list[tuple[int, int]]]
"""Text, and the segments that it describes: number of the actor, and of the actor's segment."""

_ENDS = frozenset({"then", "while", "list", "after", "both", "person", "again", "during"})
"""Kinds of phrases that end a clause."""
_STOPS = frozenset(".;!?,")


def pieces_of(text: str, statements: Sequence[Mapping[str, Any]], library: Library) -> list[Piece]:
    """Divide a caption into pieces that each describe some segments, or none.

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
    pieces, shown = list[Piece](), list[tuple[int, int]]()
    done = begin = end = 0
    for first, last, meanings in [*known_phrases(text, library), (len(text), len(text), None)]:
        described = _described(meanings or [], stated, lexicon_of(library))
        ends = meanings is None or text[first] in _STOPS or any(meaning.kind in _ENDS for meaning in meanings)
        if shown and (described or ends):
            pieces += [(text[done:begin], []), (text[begin:end], shown)]
            done, shown = end, []
        if described:
            begin, shown = first, described
        end = last
    return [piece for piece in [*pieces, (text[done:], [])] if piece[0]]


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
            for match in [s for s in stated if s["action"] == action and actor in (None, s["actor"])][:1]:
                stated.remove(match)
                found.append((int(match["actor"]), int(match["segment"])))
        if found:
            return found
    return []
