"""Determine of which texts' sequences the claims of other texts are true, and of which they are false.

A claim is a number for: an action is done, with a side, a number of times, in a direction, along a path, after or during
another action, or anything else a caption states. All actions of a sequence are known, with their sides, counts, turns and
order, so a claim about these is known to be true or false. Of other claims (speed, style, people, partners) only those that a
caption of the sequence makes are known to be true, and none is known to be false.

Several sequences may share a text. Another text is false of them if one of its claims is false of each of them; it is true of
them if each of its claims is true of each of them. All claims are read from whole columns of the table of sequences, which
takes a second for ten thousand sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.arrays import Array
from posegen.checks.statements import CURVE, FACING
from posegen.constants import AROUND

KINDS = ("action", "side", "direction", "path", "count", "order")
"""Kinds of claims that can be known to be false, the most obvious first."""
MARGIN = 10.0
"""Degrees of a turn within which two words for it are both possible."""
ANY = 0
"""Value of a claim that stands for every value: nothing is known, so no value is false."""
DONE = 1
"""Value of the claim that an action is done."""
_RELATIONS = ("after", "during")
_ORDER = 1 << 20
"""The value of a claim of order is its relation times this, plus the other action."""
_WORDS, _VALUES = 1 << 20, 1 << 22
"""Upper bounds of the numbers of words and of values."""


@dataclass
class ClaimIndex:
    """Numbers of words and of claims (kind, action, value), in the order of first appearance."""

    words: dict[str, int] = field(default_factory=dict)
    claims: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def number_words(self, column: pa.Array) -> Array:
        """Return the numbers, from 1, of the words of a column."""
        encoded = column.dictionary_encode()
        numbers = [self.words.setdefault(word, len(self.words) + 1) for word in encoded.dictionary.to_pylist()]
        found: Array = np.array([*numbers, 0], np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
        return found

    def number_word(self, word: str) -> int:
        """Return the number of a word."""
        return self.words.setdefault(word, len(self.words) + 1)

    def number_claims(self, kind: Array | int, action: Array, value: Array | int) -> Array:
        """Return the numbers of claims, given kind, action and value of each."""
        code = (np.asarray(kind, np.int64) * _WORDS + action) * _VALUES + value
        distinct, where = np.unique(code, return_inverse=True)
        columns = (distinct // (_VALUES * _WORDS), distinct // _VALUES % _WORDS, distinct % _VALUES)
        claims = zip(*(column.tolist() for column in columns), strict=True)
        numbers = [self.claims.setdefault(claim, len(self.claims)) for claim in claims]
        found: Array = np.array([*numbers, 0], np.int64)[where.reshape(-1)]
        return found


@dataclass(frozen=True)
class Labels:
    """Claims of a shard, as sparse matrices that are 1 where a claim is made, true or possible.

    Attributes
    ----------
    claimed : csr_array [captions, claims]
        Claims that captions make.
    known, possible : csr_array [sequences, claims]
        Claims that are true of sequences, and those that are not known to be false of them.
    sequence : int64 [captions]
        Sequence of each caption.
    """

    claimed: Any
    known: Any
    possible: Any
    sequence: Array


class _Segments(NamedTuple):
    """Segments of a shard, sorted by sequence and actor; `actor` is numbered through the shard."""

    sequence: Array
    actor: Array
    action: Array
    side: Array
    start: Array
    end: Array
    turn: Array
    times: Array
    statements: pa.ListArray

    def claims(self, index: ClaimIndex, kind: str, chosen: Array | slice, value: Array | int) -> tuple[Array, Array]:
        """Return the sequences of some of the segments, and the claims with this kind and value about their actions."""
        return self.sequence[chosen], index.number_claims(KINDS.index(kind), self.action[chosen], value)


def extract_labels(table: pa.Table, index: ClaimIndex) -> Labels:
    """Return what the captions of a shard claim, and what is true of its sequences.

    Parameters
    ----------
    table : pyarrow.Table
        Sequences of the shard.
    index : ClaimIndex
        Index for all shards.
    """
    captions, actors = (table.column(name).combine_chunks() for name in ("captions", "actors"))
    of_caption, first_actor = _owners(captions), np.searchsorted(_owners(actors), np.arange(len(table)))
    segments = _segments(actors, index)
    caption, claim = _statements(_field(captions.flatten(), "statements"), of_caption, first_actor, segments, index)
    speaker, segment_claim = _statements(segments.statements, segments.sequence, first_actor, segments, index)
    stated = [(of_caption[caption], claim), (segments.sequence[speaker], segment_claim)]
    known = [*stated, *_label_claims(segments, index), *_order_claims(segments, index)]
    possible = [*known, *_unknown_claims(segments, index)]
    claims = len(index.claims)
    return Labels(
        incidence([(caption, claim)], (len(of_caption), claims)),
        incidence(known, (len(table), claims)),
        incidence(possible, (len(table), claims)),
        of_caption,
    )


def _segments(actors: pa.ListArray, index: ClaimIndex) -> _Segments:
    lists = _field(actors.flatten(), "segments")
    actor, values = _owners(lists), lists.flatten()
    start, end, turn, times = (
        _field(values, name).to_numpy(zero_copy_only=False) for name in ("start", "end", "turn", "repetitions")
    )
    action, side = (index.number_words(_field(values, name)) for name in ("action", "side"))
    return _Segments(_owners(actors)[actor], actor, action, side, start, end, turn, times, _field(values, "statements"))


def _statements(
    lists: pa.ListArray, sequence: Array, first_actor: Array, segments: _Segments, index: ClaimIndex
) -> tuple[Array, Array]:
    """Return the claims of lists of statements: position of the list, and number of the claim.

    `sequence` is the sequence of each list.
    """
    who, values = _owners(lists), lists.flatten()
    kind, action, word = (index.number_words(_field(values, name)) for name in ("kind", "action", "value"))
    own = [index.number_word(name) for name in KINDS]
    kinds = len(KINDS) + np.arange(len(index.words) + 1)
    kinds[own] = np.arange(len(KINDS))
    number = kinds[kind]
    done = (number == KINDS.index("action")) & (word == index.number_word(""))
    # A claim about the result of an action is never known to be false.
    number = np.where((number == KINDS.index("action")) & ~done, len(KINDS), number)
    value = np.where(done, DONE, word)
    actor = first_actor[sequence[who]] + _field(values, "actor").to_numpy(zero_copy_only=False)
    order = np.flatnonzero(number == KINDS.index("order"))
    texts = _field(values, "value").take(pa.array(order)).to_pylist()
    value[order] = _order_values(texts, actor[order], segments)
    return who, index.number_claims(number, action, value)


def _order_values(texts: Sequence[str], actor: Array, segments: _Segments) -> Array:
    """Return the values of claims such as ``after 2``, where 2 is replaced by the action of the actor's segment 2."""
    split = [text.partition(" ") for text in texts]
    relation = np.array([_RELATIONS.index(head) for head, _, _ in split], np.int64)
    other = np.searchsorted(segments.actor, actor) + np.array([int(tail) for _, _, tail in split], np.int64)
    return relation * _ORDER + segments.action[other]


def _label_claims(segments: _Segments, index: ClaimIndex) -> list[tuple[Array, Array]]:
    """Return the claims that labels of segments make true: actions, sides, counts, and words for turns."""
    sided, counted = segments.side != index.number_word(""), segments.times > 0
    return [
        segments.claims(index, "action", slice(None), DONE),
        segments.claims(index, "side", sided, segments.side[sided]),
        segments.claims(index, "count", counted, index.number_words(pa.array(segments.times[counted]).cast(pa.string()))),
        *_turn_claims(segments, index, 0.0),
    ]


def _unknown_claims(segments: _Segments, index: ClaimIndex) -> list[tuple[Array, Array]]:
    """Return further claims that are not known to be false: unlabelled properties, and turns near a threshold."""
    unknown = {"side": segments.side == index.number_word(""), "count": segments.times <= 0}
    unknown |= dict.fromkeys(("direction", "path"), ~np.isfinite(segments.turn))
    return [
        *_turn_claims(segments, index, MARGIN),
        *(segments.claims(index, kind, here, ANY) for kind, here in unknown.items()),
    ]


def _turn_claims(segments: _Segments, index: ClaimIndex, margin: float) -> list[tuple[Array, Array]]:
    """Return the claims about turns and paths that fit segments, within a margin in degrees."""
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
    return [segments.claims(index, kind, fits, index.number_word(word)) for (kind, word), fits in words.items()]


def _order_claims(segments: _Segments, index: ClaimIndex) -> list[tuple[Array, Array]]:
    """Return the claims about actions of the same actor that follow or overlap each other."""
    count = len(segments.actor)
    of_actor = incidence([(np.arange(count), segments.actor)], (count, int(segments.actor.max(initial=0)) + 1))
    here, there = (of_actor @ of_actor.T).nonzero()
    after = segments.start[there] < segments.start[here]
    during = (segments.start[here] < segments.end[there]) & (segments.start[there] < segments.end[here]) & (here != there)
    return [
        segments.claims(index, "order", here[holds], relation * _ORDER + segments.action[there[holds]])
        for relation, holds in enumerate((after, during))
    ]


def incidence(pairs: Sequence[tuple[Array, Array]], shape: tuple[int, int]) -> Any:
    """Return a sparse matrix (csr_array, int32) that is 1 at each of the pairs of row and column."""
    from scipy.sparse import csr_array

    rows, columns = (np.concatenate(each) for each in zip(*pairs, strict=True))
    matrix = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _owners(lists: pa.ListArray) -> Array:
    """Return the list that each value of `lists.flatten()` belongs to."""
    return np.asarray(pc.list_parent_indices(lists), np.int64)


def _field(structs: pa.StructArray, name: str) -> Any:
    return pc.struct_field(structs, name)


@dataclass(frozen=True)
class Claims:
    """Claims by text. The last claim is an artificial one that every text makes and that is true of everything.

    Attributes
    ----------
    kinds : int8 [claims]
        Index into :data:`KINDS`, or its length for claims that are never known to be false.
    claimed, surely : csr_array [texts, claims]
        Claims of each text: those that any of its captions makes; those that all of them make and that can be false.
    possible, known : uint8 [texts, claims / 8]
        One bit per claim: whether it may be true of one of the text's sequences; whether it is true of all of them.
    """

    kinds: Array
    claimed: Any
    surely: Any
    possible: Array
    known: Array

    def find_false(self, rows: Array, others: Array) -> Array:
        """Return which texts are false of the sequences of other texts, and by which kind of claim.

        Parameters
        ----------
        rows : int64 [n]
            Texts whose sequences decide.
        others : int64 [n, m]
            For each of them, the texts to judge.

        Returns
        -------
        int8 [n, m]
            Index into ``KINDS`` of the most obvious kind of false claim; ``len(KINDS)`` if none is false.
        """
        claim, holds, starts = _look_up(self.surely, self.possible, rows, others)
        wrong = np.where(holds, np.int8(len(KINDS)), self.kinds[claim])
        return np.minimum.reduceat(wrong, starts).reshape(others.shape)

    def find_true(self, rows: Array, others: Array) -> Array:
        """Return whether all claims of `others` are true of the sequences of `rows`: bool [n, m]; see :meth:`find_false`."""
        _, holds, starts = _look_up(self.claimed, self.known, rows, others)
        found: Array = np.logical_and.reduceat(holds, starts).reshape(others.shape)
        return found


def _look_up(made: Any, bits: Array, rows: Array, others: Array) -> tuple[Array, Array, Array]:
    """Return the claims that `others` make, concatenated, the bit of each, and the start of the claims of each text."""
    own = made[others.ravel()]
    row = np.repeat(np.repeat(rows, others.shape[1]), np.diff(own.indptr))
    holds = bits[row, own.indices >> 3] >> (own.indices & 7).astype(np.uint8) & 1
    return own.indices, holds.astype(bool), own.indptr[:-1]


class ClaimCollector:
    """Counts, shard by shard, how many captions of each text make a claim, or are of a sequence of which it is true."""

    def __init__(self, texts: int) -> None:
        self._index = ClaimIndex()
        self._captions = np.zeros(texts, np.int64)
        self._counts: list[tuple[Any, Any, Any]] = []

    def add(self, table: pa.Table, rows: Array) -> None:
        """Add a shard.

        Parameters
        ----------
        table : pyarrow.Table
            Sequences of the shard.
        rows : int64 [captions]
            Text of each caption of all sequences.
        """
        labels, captions = extract_labels(table, self._index), np.arange(len(rows))
        of_text = incidence([(rows, captions)], (len(self._captions), len(rows)))
        of_sequence = of_text @ incidence([(captions, labels.sequence)], (len(rows), len(table)))
        self._captions += np.bincount(rows, minlength=len(self._captions))
        self._counts.append((of_text @ labels.claimed, of_sequence @ labels.known, of_sequence @ labels.possible))

    def finish(self) -> Claims:
        """Return the claims of all texts."""
        from scipy.sparse import eye_array

        table = np.array([*self._index.claims, (len(KINDS), 0, DONE)], np.int64)
        kinds = np.minimum(table[:, 0], len(KINDS))
        shape = len(self._captions), len(table)
        claimed, known, possible = (_total(parts, shape) for parts in zip(*self._counts, strict=True))
        # A claim whose value is ANY makes all claims of its kind and action possible.
        of_action = table[:, 0] * _WORDS + table[:, 1]
        unknown = np.flatnonzero(table[:, 2] == ANY)
        position, claim = np.nonzero(of_action[unknown][:, None] == of_action)
        fitting = incidence([(unknown[position], claim)], (len(table), len(table)))
        possible = possible @ (fitting + eye_array(len(table), dtype=np.int32, format="csr"))
        everything = np.arange(shape[0]), np.full(shape[0], shape[1] - 1)
        text, claim = claimed.nonzero()
        surely = (claimed.data == self._captions[text]) & (kinds[claim] < len(KINDS))
        always = known.data == self._captions[known.nonzero()[0]]
        return Claims(
            kinds.astype(np.int8),
            incidence([(text, claim), everything], shape),
            incidence([(text[surely], claim[surely]), everything], shape),
            _bits([possible.nonzero(), everything], shape),
            _bits([tuple(each[always] for each in known.nonzero()), everything], shape),
        )


def _total(parts: Sequence[Any], shape: tuple[int, int]) -> Any:
    """Return the sum of matrices, the later of which have more columns."""
    from scipy.sparse import csr_array

    wide = [part.tocoo() for part in parts]
    data, row, column = (np.concatenate([getattr(part, name) for part in wide]) for name in ("data", "row", "col"))
    total = csr_array((data, (row, column)), shape=shape)
    total.sum_duplicates()
    return total


def _bits(pairs: Sequence[tuple[Array, Array]], shape: tuple[int, int]) -> Array:
    bits = np.zeros((shape[0], -(-shape[1] // 8)), np.uint8)
    for text, claim in pairs:
        np.bitwise_or.at(bits, (text, claim >> 3), (1 << (claim & 7)).astype(np.uint8))
    return bits
