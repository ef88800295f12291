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
from numpy.typing import NDArray

from posegen.checks.statements import CURVE, FACING
from posegen.constants import AROUND

Array = NDArray[Any]

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
_CLAIMS = 1 << 24
"""Upper bound of the number of claims; a text and a claim are packed into one integer."""


class Claim(NamedTuple):
    """Numbers of kind, action and value."""

    kind: int
    action: int
    value: int


@dataclass
class ClaimIndex:
    """Numbers of words and of claims, in the order of first appearance."""

    words: dict[str, int] = field(default_factory=dict)
    claims: dict[Claim, int] = field(default_factory=dict)

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
        columns = zip(distinct // (_VALUES * _WORDS), distinct // _VALUES % _WORDS, distinct % _VALUES, strict=True)
        numbers = [self.claims.setdefault(Claim(*map(int, claim)), len(self.claims)) for claim in columns]
        found: Array = np.array([*numbers, 0], np.int64)[where.reshape(-1)]
        return found


@dataclass(frozen=True)
class Labels:
    """Claims of a shard, as pairs of owner and claim.

    Attributes
    ----------
    claimed : (int64 [n], int64 [n])
        Captions, numbered through the shard, and a claim that each makes.
    known, possible : (int64 [n], int64 [n])
        Sequences, and a claim that is true of each, or not known to be false of it.
    captions : int64 [sequences]
        Number of captions of each sequence.
    """

    claimed: tuple[Array, Array]
    known: tuple[Array, Array]
    possible: tuple[Array, Array]
    captions: Array


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


def extract_labels(table: pa.Table, index: ClaimIndex) -> Labels:
    """Return what the captions of a shard claim, and what is true of its sequences.

    Parameters
    ----------
    table : pyarrow.Table
        Sequences of the shard.
    index : ClaimIndex
        Index for all shards.
    """
    lists = _whole(table.column("captions"))
    counts = _lengths(lists)
    of_caption = np.repeat(np.arange(len(table)), counts)
    actors = _whole(table.column("actors"))
    first_actor = np.cumsum(_lengths(actors)) - _lengths(actors)
    segments = _segments(actors, index)
    caption, claim = _statements(_field(lists.flatten(), "statements"), of_caption, first_actor, segments, index)
    speaker, segment_claim = _statements(segments.statements, segments.sequence, first_actor, segments, index)
    stated = [(of_caption[caption], claim), (segments.sequence[speaker], segment_claim)]
    sure = [*stated, *_label_claims(segments, index), *_order_claims(segments, index)]
    return Labels((caption, claim), _joined(sure), _joined([*sure, *_unknown_claims(segments, index)]), counts)


def _segments(actors: pa.ListArray, index: ClaimIndex) -> _Segments:
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
        index.number_words(_field(values, "action")),
        index.number_words(_field(values, "side")),
        start,
        end,
        turn,
        times,
        _field(values, "statements"),
    )


def _statements(
    lists: pa.ListArray, sequence: Array, first_actor: Array, segments: _Segments, index: ClaimIndex
) -> tuple[Array, Array]:
    """Return the claims of lists of statements: position of the list, and number of the claim.

    `sequence` is the sequence of each list.
    """
    who = np.repeat(np.arange(len(lists)), _lengths(lists))
    values = lists.flatten()
    kind, action, word = (index.number_words(_field(values, name)) for name in ("kind", "action", "value"))
    own = [index.number_word(name) for name in KINDS]
    kinds = len(KINDS) + np.arange(len(index.words) + 1)
    kinds[own] = np.arange(len(KINDS))
    number = kinds[kind]
    done = (number == KINDS.index("action")) & (word == index.number_word(""))
    number = np.where(
        (number == KINDS.index("action")) & ~done,
        len(KINDS),
        number,
        # A claim about the result of an action is never known to be false.
    )
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
    who, action = segments.sequence, segments.action
    sided = segments.side != index.number_word("")
    counted = segments.times > 0
    words = index.number_words(pa.array([str(times) for times in segments.times.tolist()], pa.string()))
    found = [
        (who, index.number_claims(KINDS.index("action"), action, DONE)),
        (who[sided], index.number_claims(KINDS.index("side"), action[sided], segments.side[sided])),
        (who[counted], index.number_claims(KINDS.index("count"), action[counted], words[counted])),
    ]
    return found + _turn_claims(segments, index, 0.0)


def _unknown_claims(segments: _Segments, index: ClaimIndex) -> list[tuple[Array, Array]]:
    """Return further claims that are not known to be false: unlabelled properties, and turns near a threshold."""
    who, action = segments.sequence, segments.action
    found = _turn_claims(segments, index, MARGIN)
    unknown = {"side": segments.side == index.number_word(""), "count": segments.times <= 0}
    unknown |= dict.fromkeys(("direction", "path"), ~np.isfinite(segments.turn))
    for kind, here in unknown.items():
        found.append((who[here], index.number_claims(KINDS.index(kind), action[here], ANY)))
    return found


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
    found = []
    for (kind, word), fits in words.items():
        claims = index.number_claims(KINDS.index(kind), segments.action[fits], index.number_word(word))
        found.append((segments.sequence[fits], claims))
    return found


def _order_claims(segments: _Segments, index: ClaimIndex) -> list[tuple[Array, Array]]:
    """Return the claims about actions of the same actor that follow or overlap each other."""
    counts = np.bincount(segments.actor) if len(segments.actor) else np.zeros(0, np.int64)
    first = np.cumsum(counts) - counts
    here = np.repeat(np.arange(len(segments.actor)), counts[segments.actor])
    there = _within(counts[segments.actor]) + first[segments.actor[here]]
    after = segments.start[there] < segments.start[here]
    during = (segments.start[here] < segments.end[there]) & (segments.start[there] < segments.end[here]) & (here != there)
    found = []
    for relation, holds in enumerate((after, during)):
        value = relation * _ORDER + segments.action[there[holds]]
        claims = index.number_claims(KINDS.index("order"), segments.action[here[holds]], value)
        found.append((segments.sequence[here[holds]], claims))
    return found


def _within(counts: Array) -> Array:
    """Return 0, 1, ..., count - 1 for each count, concatenated."""
    return np.asarray(np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts))


def _joined(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _whole(column: pa.ChunkedArray) -> pa.ListArray:
    return pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()


def _field(structs: pa.StructArray, name: str) -> Any:
    return pc.struct_field(structs, name)


def _lengths(lists: pa.ListArray) -> Array:
    return np.asarray(lists.value_lengths().to_numpy(zero_copy_only=False), np.int64)


class Lists(NamedTuple):
    """Claims of all texts in one array: those of text t start at ``first[t]``, and ``number[t]`` >= 1 is their count."""

    values: Array
    first: Array
    number: Array


@dataclass(frozen=True)
class Claims:
    """Claims by text. The last claim is an artificial one that every text makes and that is true of everything.

    Attributes
    ----------
    kinds : int8 [claims]
        Index into :data:`KINDS`, or its length for claims that are never known to be false.
    claimed, surely : Lists
        Claims of each text: those that any of its captions makes; those that all of them make and that can be false.
    possible, known : uint8 [texts, claims / 8]
        One bit per claim: whether it may be true of one of the text's sequences; whether it is true of all of them.
    """

    kinds: Array
    claimed: Lists
    surely: Lists
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


def _look_up(lists: Lists, bits: Array, rows: Array, others: Array) -> tuple[Array, Array, Array]:
    """Return the claims of `others`, concatenated, the bit of each, and the start of the claims of each text."""
    flat = others.ravel()
    counts = lists.number[flat]
    starts = np.cumsum(counts) - counts
    claim = lists.values[np.arange(counts.sum()) + np.repeat(lists.first[flat] - starts, counts)]
    row = np.repeat(np.repeat(rows, others.shape[1]), counts)
    holds = bits[row, claim >> 3] >> (claim & 7).astype(np.uint8) & 1
    return claim, holds.astype(bool), starts


@dataclass
class ClaimCollector:
    """Collects claims shard by shard: each text and claim packed into one integer, with the number of captions that make it."""

    index: ClaimIndex = field(default_factory=ClaimIndex)
    captions: list[Array] = field(default_factory=list)
    parts: dict[str, list[tuple[Array, Array]]] = field(default_factory=lambda: {"claimed": [], "known": [], "possible": []})

    def add(self, table: pa.Table, rows: Array) -> None:
        """Add a shard.

        Parameters
        ----------
        table : pyarrow.Table
            Sequences of the shard.
        rows : int64 [captions]
            Text of each caption of all sequences; -1 for captions to ignore.
        """
        labels = extract_labels(table, self.index)
        self.captions.append(rows[rows >= 0])
        caption = np.arange(len(rows))
        self._keep("claimed", rows, *labels.claimed)
        first = np.cumsum(labels.captions) - labels.captions
        for name, (sequence, claim) in (("known", labels.known), ("possible", labels.possible)):
            pairs = _distinct(sequence * _CLAIMS + claim)[0]
            sequence, claim = pairs // _CLAIMS, pairs % _CLAIMS
            counts = labels.captions[sequence]
            self._keep(name, rows, caption[np.repeat(first[sequence], counts) + _within(counts)], np.repeat(claim, counts))

    def _keep(self, name: str, rows: Array, caption: Array, claim: Array) -> None:
        pairs = _distinct(caption * _CLAIMS + claim)[0] if name == "claimed" else caption * _CLAIMS + claim
        text, claim = rows[pairs // _CLAIMS], pairs % _CLAIMS
        self.parts[name].append(_distinct(text[text >= 0] * _CLAIMS + claim[text >= 0]))

    def finish(self, texts: int) -> Claims:
        """Return the claims of texts 0 to `texts` - 1."""
        captions = np.bincount(np.concatenate([np.zeros(0, np.int64), *self.captions]), minlength=texts)
        claimed, times = _summed(self.parts["claimed"])
        always = times == captions[claimed // _CLAIMS]
        known, of = _summed(self.parts["known"])
        known = known[of == captions[known // _CLAIMS]]
        possible = self._expand_any(_summed(self.parts["possible"])[0], _distinct(claimed % _CLAIMS)[0])
        kinds = np.array([*(claim.kind for claim in self.index.claims), len(KINDS)], np.int64)
        surely = claimed[always & (kinds[claimed % _CLAIMS] < len(KINDS))]
        everything = np.arange(texts) * _CLAIMS + len(kinds) - 1
        claimed, surely, possible, known = (np.concatenate([each, everything]) for each in (claimed, surely, possible, known))
        bits = (_bits(possible, texts, len(kinds)), _bits(known, texts, len(kinds)))
        return Claims(np.minimum(kinds, len(KINDS)).astype(np.int8), _lists(claimed, texts), _lists(surely, texts), *bits)

    def _expand_any(self, possible: Array, claims: Array) -> Array:
        """Replace claims whose value is :data:`ANY` by the claims of all values."""
        table = list(self.index.claims)
        fitting: dict[tuple[int, int], list[int]] = {}
        for number in claims.tolist():
            fitting.setdefault(table[number][:2], []).append(number)
        parts = [possible]
        for number in _distinct(possible % _CLAIMS)[0].tolist():
            claim = table[number]
            if claim.value == ANY:
                texts = possible[possible % _CLAIMS == number] - number
                parts += [texts + other for other in fitting.get(claim[:2], [])]
        return np.concatenate(parts)


def _distinct(numbers: Array) -> tuple[Array, Array]:
    """Return the sorted distinct numbers and their counts, as `numpy.unique` does, but several times faster."""
    ordered = np.sort(numbers)
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[first], np.diff(first, append=len(ordered))


def _summed(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the distinct numbers of all parts, with the sums of their counts."""
    numbers = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    counts = np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)])
    distinct, where = np.unique(numbers, return_inverse=True)
    return distinct, np.bincount(where.reshape(-1), counts, minlength=len(distinct)).astype(np.int64)


def _lists(pairs: Array, texts: int) -> Lists:
    pairs = np.sort(pairs)
    counts = np.bincount(pairs // _CLAIMS, minlength=texts)
    return Lists((pairs % _CLAIMS).astype(np.int32), np.cumsum(counts) - counts, counts)


def _bits(pairs: Array, texts: int, claims: int) -> Array:
    bits = np.zeros((texts, -(-claims // 8)), np.uint8)
    claim = pairs % _CLAIMS
    np.bitwise_or.at(bits, (pairs // _CLAIMS, claim >> 3), (1 << (claim & 7)).astype(np.uint8))
    return bits
