"""What the sequences of a shard are known to hold, and what their captions claim, as numbers for claims.

All is read from columns of the table of sequences at once: it takes a second for ten thousand sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from posegen.checks.statements import CURVE, FACING
from posegen.library.terms import AROUND

__all__ = ["KINDS", "Labels", "Numbering", "labels_of"]

Array = NDArray[Any]

KINDS = ("action", "side", "direction", "path", "count", "order")
"""Kinds of claims that can be known to be false, the plainest first."""
MARGIN = 10.0
"""Degrees of a turn within which two words for it are both possible."""
ANY = 0
"""The value that stands for every value: nothing is known of it, so none is false."""
DONE = 1
"""The value of the claim that an action is done."""
_RELATIONS = ("after", "during")
_ORDER = 1 << 20
"""The value of a claim of order is its relation times this, and the other action."""
_WORDS, _VALUES = 1 << 20, 1 << 22
"""More than there are words, and values."""


class Claim(NamedTuple):
    """Kind, action and value, each by its number."""

    kind: int
    action: int
    value: int


@dataclass
class Numbering:
    """Numbers of words and of claims, given out as they come."""

    words: dict[str, int] = field(default_factory=dict)
    claims: dict[Claim, int] = field(default_factory=dict)

    def words_of(self, column: pa.Array) -> Array:
        """Number the words of a column, from 1 on."""
        encoded = column.dictionary_encode()
        numbers = [self.words.setdefault(word, len(self.words) + 1) for word in encoded.dictionary.to_pylist()]
        found: Array = np.array([*numbers, 0], np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
        return found

    def word(self, word: str) -> int:
        """Number a word."""
        return self.words.setdefault(word, len(self.words) + 1)

    def claims_of(self, kind: Array | int, action: Array, value: Array | int) -> Array:
        """Number claims, given kind, action and value of each."""
        code = (np.asarray(kind, np.int64) * _WORDS + action) * _VALUES + value
        distinct, where = np.unique(code, return_inverse=True)
        columns = zip(distinct // (_VALUES * _WORDS), distinct // _VALUES % _WORDS, distinct % _VALUES, strict=True)
        numbers = [self.claims.setdefault(Claim(*map(int, claim)), len(self.claims)) for claim in columns]
        found: Array = np.array([*numbers, 0], np.int64)[where.reshape(-1)]
        return found


@dataclass(frozen=True)
class Labels:
    """Claims of a shard, each as the number of who makes it, or of whom it holds, and its own number.

    Attributes
    ----------
    claimed : (int64 [n], int64 [n])
        Captions, numbered through the shard, and what each claims.
    known, possible : (int64 [n], int64 [n])
        Sequences, and what is true of each; what is not known to be false of it.
    captions : int64 [sequences]
        How many captions each sequence has.
    """

    claimed: tuple[Array, Array]
    known: tuple[Array, Array]
    possible: tuple[Array, Array]
    captions: Array


class _Segments(NamedTuple):
    """Segments of a shard, in the order of their sequences and actors; `actor` is numbered through the shard."""

    sequence: Array
    actor: Array
    action: Array
    side: Array
    start: Array
    end: Array
    turn: Array
    times: Array
    statements: pa.ListArray


def labels_of(table: pa.Table, numbering: Numbering) -> Labels:
    """Gather the claims and the truth of a shard.

    Parameters
    ----------
    table : pyarrow.Table
        Its sequences.
    numbering : Numbering
        Of all shards.
    """
    lists = _whole(table.column("captions"))
    counts = _lengths(lists)
    of_caption = np.repeat(np.arange(len(table)), counts)
    actors = _whole(table.column("actors"))
    first_actor = np.cumsum(_lengths(actors)) - _lengths(actors)
    segments = _segments(actors, numbering)
    caption, told = _statements(_field(lists.flatten(), "statements"), of_caption, first_actor, segments, numbering)
    speaker, told_by_segments = _statements(segments.statements, segments.sequence, first_actor, segments, numbering)
    said = [(of_caption[caption], told), (segments.sequence[speaker], told_by_segments)]
    sure = [*said, *_labelled(segments, numbering), *_ordered(segments, numbering)]
    return Labels((caption, told), _joined(sure), _joined([*sure, *_open(segments, numbering)]), counts)


def _segments(actors: pa.ListArray, numbering: Numbering) -> _Segments:
    lists = _field(actors.flatten(), "segments")
    counts = _lengths(lists)
    sequence = np.repeat(np.arange(len(actors)), _lengths(actors))
    values = lists.flatten()
    start, end, turn, times = (
        _field(values, name).to_numpy(zero_copy_only=False) for name in ("start", "end", "turn", "repetitions")
    )
    return _Segments(
        np.repeat(sequence, counts),
        np.repeat(np.arange(len(counts)), counts),
        numbering.words_of(_field(values, "action")),
        numbering.words_of(_field(values, "side")),
        start,
        end,
        turn,
        times,
        _field(values, "statements"),
    )


def _statements(
    lists: pa.ListArray, of: Array, first_actor: Array, segments: _Segments, numbering: Numbering
) -> tuple[Array, Array]:
    """Number the claims of statements: who makes each, as the position of its list, and its number.

    `of` is the sequence of each list.
    """
    who = np.repeat(np.arange(len(lists)), _lengths(lists))
    values = lists.flatten()
    kind, action, word = (numbering.words_of(_field(values, name)) for name in ("kind", "action", "value"))
    own = [numbering.word(name) for name in KINDS]
    kinds = len(KINDS) + np.arange(len(numbering.words) + 1)
    kinds[own] = np.arange(len(KINDS))
    number = kinds[kind]
    done = (number == KINDS.index("action")) & (word == numbering.word(""))
    number = np.where((number == KINDS.index("action")) & ~done, len(KINDS), number)  # how it ends: never known to be false
    value = np.where(done, DONE, word)
    actor = first_actor[of[who]] + _field(values, "actor").to_numpy(zero_copy_only=False)
    order = np.flatnonzero(number == KINDS.index("order"))
    texts = _field(values, "value").take(pa.array(order)).to_pylist()
    value[order] = _order_values(texts, actor[order], segments)
    return who, numbering.claims_of(number, action, value)


def _order_values(texts: Sequence[str], actor: Array, segments: _Segments) -> Array:
    """Turn ``after 2`` into its number, with the action of the actor's segment 2 in the place of the 2."""
    split = [text.partition(" ") for text in texts]
    relation = np.array([_RELATIONS.index(head) for head, _, _ in split], np.int64)
    other = np.searchsorted(segments.actor, actor) + np.array([int(tail) for _, _, tail in split], np.int64)
    return relation * _ORDER + segments.action[other]


def _labelled(segments: _Segments, numbering: Numbering) -> list[tuple[Array, Array]]:
    """Say what the labels of segments make true: actions, sides, counts, and words for turns."""
    who, action = segments.sequence, segments.action
    sided = segments.side != numbering.word("")
    counted = segments.times > 0
    words = numbering.words_of(pa.array([str(times) for times in segments.times.tolist()], pa.string()))
    found = [
        (who, numbering.claims_of(KINDS.index("action"), action, DONE)),
        (who[sided], numbering.claims_of(KINDS.index("side"), action[sided], segments.side[sided])),
        (who[counted], numbering.claims_of(KINDS.index("count"), action[counted], words[counted])),
    ]
    return found + _turned(segments, numbering, 0.0)


def _open(segments: _Segments, numbering: Numbering) -> list[tuple[Array, Array]]:
    """Say what is possible beyond what is known: what has no label, and turns that may be called otherwise."""
    who, action = segments.sequence, segments.action
    found = _turned(segments, numbering, MARGIN)
    unknown = {"side": segments.side == numbering.word(""), "count": segments.times <= 0}
    unknown |= dict.fromkeys(("direction", "path"), ~np.isfinite(segments.turn))
    for kind, here in unknown.items():
        found.append((who[here], numbering.claims_of(KINDS.index(kind), action[here], ANY)))
    return found


def _turned(segments: _Segments, numbering: Numbering, margin: float) -> list[tuple[Array, Array]]:
    """Say which words for their turns fit segments, each within a margin in degrees."""
    turn = segments.turn
    beside = np.abs(turn) <= AROUND + margin
    words = {
        ("direction", "left"): (turn > FACING - margin) & beside,
        ("direction", "right"): (turn < margin - FACING) & beside,
        ("direction", "around"): np.abs(turn) > AROUND - margin,
        ("path", "straight"): np.abs(turn) <= CURVE + margin,
        ("path", "left"): turn > CURVE - margin,
        ("path", "right"): turn < margin - CURVE,
    }
    found = []
    for (kind, word), fits in words.items():
        claims = numbering.claims_of(KINDS.index(kind), segments.action[fits], numbering.word(word))
        found.append((segments.sequence[fits], claims))
    return found


def _ordered(segments: _Segments, numbering: Numbering) -> list[tuple[Array, Array]]:
    """Say which actions come after, and during, which others of the same actor."""
    counts = np.bincount(segments.actor) if len(segments.actor) else np.zeros(0, np.int64)
    first = np.cumsum(counts) - counts
    here = np.repeat(np.arange(len(segments.actor)), counts[segments.actor])
    there = np.arange(len(here)) - np.repeat(np.cumsum(counts[segments.actor]) - counts[segments.actor], counts[segments.actor])
    there += first[segments.actor[here]]
    after = segments.start[there] < segments.start[here]
    during = (segments.start[here] < segments.end[there]) & (segments.start[there] < segments.end[here]) & (here != there)
    found = []
    for relation, holds in enumerate((after, during)):
        value = relation * _ORDER + segments.action[there[holds]]
        claims = numbering.claims_of(KINDS.index("order"), segments.action[here[holds]], value)
        found.append((segments.sequence[here[holds]], claims))
    return found


def _joined(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _whole(column: pa.ChunkedArray) -> pa.ListArray:
    return pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()


def _field(structs: pa.StructArray, name: str) -> Any:
    return pc.struct_field(structs, name)


def _lengths(lists: pa.ListArray) -> Array:
    return np.asarray(lists.value_lengths().to_numpy(zero_copy_only=False), np.int64)
