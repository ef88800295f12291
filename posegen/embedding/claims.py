"""Find out which texts are true, and which are false, of the sequences that have another text as caption.

A claim is a text with a kind, an action and a value: an action is done, with a side, a number of times, in a direction, along
a path, after or during another action, or anything else a caption states. All actions of a sequence are known, with their
sides, counts, turns and order, so a claim about these is known to be true or false. Of other claims (speed, style, people,
partners) only those that a caption of the sequence makes are known to be true, and none is known to be false.

Several sequences may share a text. Another text is false of them if one of its claims is false of each of them; it is true of
them if each of its claims is true of each of them. All claims are read from whole columns of the table of sequences, which
takes a second for ten thousand sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.checks.statements import CURVE, FACING
from posegen.dataset.tables import field_of, owners
from posegen.foundations.arrays import Array
from posegen.foundations.constants import AROUND

KINDS = ("action", "side", "direction", "path", "count", "order")
"""Kinds of claims that can be known to be false, the most obvious first."""
MARGIN = 10.0
"""Degrees of a turn within which two words for it are both possible."""
ANY = "*"
"""Value of a claim that means every value: nothing is known, so no value is false."""
_SEPARATOR = "\t"
_Pairs = tuple[Array, Any]
"""Sequences or lists, and a claim of each."""


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
    values: pa.StructArray

    @property
    def action(self) -> pa.Array:
        """Their actions."""
        return field_of(self.values, "action")

    def numbers(self, name: str) -> Array:
        """Return the numbers in a field."""
        return np.asarray(field_of(self.values, name).to_numpy(zero_copy_only=False))

    def claims(self, kind: str, chosen: Array, value: Any) -> _Pairs:
        """Return the sequences of some segments, and the claims with this kind and value about their actions."""
        return self.sequence[chosen], _claims(kind, self.action.take(pa.array(chosen)), value)


def parse_claims(claims: Iterable[str]) -> list[tuple[str, ...]]:
    """Return kind, action and value of claims."""
    return [tuple(claim.split(_SEPARATOR)) for claim in claims]


def _claims(kind: Any, action: pa.Array, value: Any) -> Any:
    return pc.binary_join_element_wise(kind, action, value, _SEPARATOR, null_handling="replace")


def extract_labels(table: pa.Table, index: dict[str, int]) -> Labels:
    """Return what the captions of a shard claim, and what is true of its sequences.

    Parameters
    ----------
    table : pyarrow.Table
        Sequences of the shard.
    index : dict of str to int
        Numbers of claims in the order of first appearance; new claims are added.
    """
    captions, actors = (table.column(name).combine_chunks() for name in ("captions", "actors"))
    of_caption, first_actor = owners(captions), np.searchsorted(owners(actors), np.arange(len(table)))
    lists = field_of(actors.flatten(), "segments")
    segments = _Segments(owners(actors)[owners(lists)], owners(lists), lists.flatten())
    caption, claim = _statements(field_of(captions.flatten(), "statements"), of_caption, first_actor, segments)
    speaker, segment_claim = _statements(field_of(segments.values, "statements"), segments.sequence, first_actor, segments)
    stated = [(of_caption[caption], claim), (segments.sequence[speaker], segment_claim)]
    known = [*stated, *_label_claims(segments), *_order_claims(segments)]
    return Labels(
        _matrix([(caption, claim)], len(of_caption), index),
        _matrix(known, len(table), index),
        _matrix([*known, *_unknown_claims(segments)], len(table), index),
        of_caption,
    )


def _statements(lists: pa.ListArray, sequence: Array, first_actor: Array, segments: _Segments) -> _Pairs:
    """Return the claims of lists of statements, and the position of the list of each.

    `sequence` is the sequence of each list. In the value of an order, such as ``after 2``, the number is replaced by the action
    of the actor's segment 2.
    """
    who, values = owners(lists), lists.flatten()
    kind, action, value = (field_of(values, name) for name in ("kind", "action", "value"))
    # A claim about the result of an action is never known to be false.
    kind = pc.if_else(pc.and_(pc.equal(kind, "action"), pc.not_equal(value, "")), "result", kind)
    is_order = pc.equal(kind, "order")
    words = pc.split_pattern(value.filter(is_order), " ", max_splits=1)
    actor = first_actor[sequence[who]] + field_of(values, "actor").to_numpy(zero_copy_only=False)
    first = np.searchsorted(segments.actor, actor[is_order.to_numpy(zero_copy_only=False)])
    other = pc.add(pc.list_element(words, 1).cast(pa.int64()), pa.array(first))
    order = pc.binary_join_element_wise(pc.list_element(words, 0), segments.action.take(other), " ")
    return who, _claims(kind, action, pc.replace_with_mask(value, is_order, order))


def _label_claims(segments: _Segments) -> list[_Pairs]:
    """Return the claims that labels of segments make true: actions, sides, counts, and words for turns."""
    side, times = field_of(segments.values, "side"), segments.numbers("repetitions")
    sided, counted = np.flatnonzero(pc.not_equal(side, "")), np.flatnonzero(times > 0)
    return [
        segments.claims("action", np.arange(len(segments.actor)), ""),
        segments.claims("side", sided, side.take(pa.array(sided))),
        segments.claims("count", counted, pa.array(times[counted]).cast(pa.string())),
        *_turn_claims(segments, 0.0),
    ]


def _unknown_claims(segments: _Segments) -> list[_Pairs]:
    """Return further claims that are not known to be false: unlabelled properties, and turns near a threshold."""
    unknown = {"side": pc.equal(field_of(segments.values, "side"), ""), "count": segments.numbers("repetitions") <= 0}
    unknown |= dict.fromkeys(("direction", "path"), ~np.isfinite(segments.numbers("turn")))
    return [
        *_turn_claims(segments, MARGIN),
        *(segments.claims(kind, np.flatnonzero(here), ANY) for kind, here in unknown.items()),
    ]


def _turn_claims(segments: _Segments, margin: float) -> list[_Pairs]:
    """Return the claims about turns and paths that fit segments, within a margin in degrees."""
    turn = segments.numbers("turn")
    beside = np.abs(turn) <= AROUND + margin
    words = {
        ("direction", "left"): (turn > FACING - margin) & beside,
        ("direction", "right"): (turn < margin - FACING) & beside,
        ("direction", "around"): np.abs(turn) > AROUND - margin,
        ("path", "straight"): np.abs(turn) <= CURVE + margin,
        ("path", "left"): turn > CURVE - margin,
        ("path", "right"): turn < margin - CURVE,
    }
    return [segments.claims(kind, np.flatnonzero(fits), word) for (kind, word), fits in words.items()]


def _order_claims(segments: _Segments) -> list[_Pairs]:
    """Return the claims about actions of the same actor that follow or overlap each other."""
    count = len(segments.actor)
    of_actor = incidence(np.arange(count), segments.actor, (count, int(segments.actor.max(initial=0)) + 1))
    here, there = (of_actor @ of_actor.T).nonzero()
    start, end = segments.numbers("start"), segments.numbers("end")
    after = start[there] < start[here]
    during = (start[here] < end[there]) & (start[there] < end[here]) & (here != there)
    return [
        segments.claims("order", here[holds], pc.binary_join_element_wise(word, segments.action.take(there[holds]), " "))
        for word, holds in (("after", after), ("during", during))
    ]


def _matrix(pairs: Sequence[_Pairs], rows: int, index: dict[str, int]) -> Any:
    """Return the matrix of owners and claims, and number new claims."""
    encoded = pa.concat_arrays([claims for _, claims in pairs]).dictionary_encode()
    numbers = np.array([index.setdefault(claim, len(index)) for claim in encoded.dictionary.to_pylist()], np.int64)
    return incidence(np.concatenate([owners for owners, _ in pairs]), numbers[encoded.indices], (rows, len(index)))


def incidence(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix (csr_array, int32) that is 1 at each of the pairs of row and column."""
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
    matrix.data[:] = 1  # pairs that occur several times were added up
    return matrix


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
    """Counts, shard by shard, how many captions of each text make a claim, or belong to a sequence of which it is true."""

    def __init__(self, texts: int) -> None:
        self._index: dict[str, int] = {}
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
        of_text = incidence(rows, captions, (len(self._captions), len(rows)))
        of_sequence = of_text @ incidence(captions, labels.sequence, (len(rows), len(table)))
        self._captions += np.bincount(rows, minlength=len(self._captions))
        self._counts.append((of_text @ labels.claimed, of_sequence @ labels.known, of_sequence @ labels.possible))

    def finish(self) -> Claims:
        """Return the claims of all texts."""
        from scipy.sparse import eye_array

        shape = len(self._captions), len(self._index) + 1
        claimed, known, possible = (_total(parts, shape) for parts in zip(*self._counts, strict=True))
        table = [*parse_claims(self._index), ("true of everything", "", "")]
        kinds = np.array([KINDS.index(kind) if kind in KINDS else len(KINDS) for kind, _, _ in table], np.int8)
        # A claim whose value is ANY makes all claims of its kind and action possible.
        of_action = np.unique([f"{kind} {action}" for kind, action, _ in table], return_inverse=True)[1]
        unknown = np.flatnonzero([value == ANY for _, _, value in table])
        position, claim = np.nonzero(of_action[unknown][:, None] == of_action)
        fitting = incidence(unknown[position], claim, (len(table), len(table)))
        possible = possible @ (fitting + eye_array(len(table), dtype=np.int32, format="csr"))
        text, claim = claimed.nonzero()
        surely = (claimed.data == self._captions[text]) & (kinds[claim] < len(KINDS))
        of_text, always = known.nonzero()
        likely, fits = possible.nonzero()
        is_known = known.data == self._captions[of_text]
        return Claims(
            kinds,
            _with_last(text, claim, shape),
            _with_last(text[surely], claim[surely], shape),
            _bits(_with_last(likely, fits, shape)),
            _bits(_with_last(of_text[is_known], always[is_known], shape)),
        )


def _total(parts: Sequence[Any], shape: tuple[int, int]) -> Any:
    """Return the sum of matrices, the later of which have more columns."""
    from scipy.sparse import csr_array

    wide = [part.tocoo() for part in parts]
    data, row, column = (np.concatenate([getattr(part, name) for part in wide]) for name in ("data", "row", "col"))
    return csr_array((data, (row, column)), shape=shape)


def _with_last(text: Array, claim: Array, shape: tuple[int, int]) -> Any:
    """Return the matrix of claims by text, with the claim that every text makes."""
    texts = np.arange(shape[0])
    return incidence(np.concatenate([text, texts]), np.concatenate([claim, np.full_like(texts, shape[1] - 1)]), shape)


def _bits(matrix: Any) -> Array:
    bits = np.zeros((matrix.shape[0], -(-matrix.shape[1] // 8)), np.uint8)
    text, claim = matrix.nonzero()
    np.bitwise_or.at(bits, (text, claim >> 3), (1 << (claim & 7)).astype(np.uint8))
    return bits
