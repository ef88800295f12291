"""Of which texts' sequences what other texts claim is true, or false.

A claim is a number: that an action is done, with a side, so often, in a direction, along a path, after or during another one,
or what else a caption says. Of a sequence all actions are known, with their sides, counts, turns and order; so a claim about
those is true or known to be false. Of what else is said (speed, style, people, partners) only what some caption of the sequence
says is known to be true, and nothing to be false.

A text may stand for several sequences. Another text is false of them where one of its claims is false of every one; it is true
of them where each of its claims is true of every one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from posegen.embedding.pairs_labels import ANY, KINDS, Numbering, labels_of

__all__ = ["Claims", "Gathering"]

Array = NDArray[Any]

_CLAIMS = 1 << 24
"""More than there are different claims; a text and a claim are one number."""


class Lists(NamedTuple):
    """Claims of all texts in one array, of each at least one: of text t those from ``first[t]`` on, ``number[t]`` of them."""

    values: Array
    first: Array
    number: Array


@dataclass(frozen=True)
class Claims:
    """Claims by text. The last claim is one that every text makes and that is true of everything.

    Attributes
    ----------
    kinds : int8 [claims]
        Index into :data:`posegen.embedding.pairs_labels.KINDS`, or its length.
    claimed, surely : Lists
        Claims of each text: all that any of its captions makes, and those that each of them makes and that can be false.
    possible, known : uint8 [texts, claims / 8]
        For each claim a bit: whether it may be true of one of the text's sequences, whether it is true of all of them.
    """

    kinds: Array
    claimed: Lists
    surely: Lists
    possible: Array
    known: Array

    def false(self, rows: Array, others: Array) -> Array:
        """Tell which texts are false of the sequences of others, and by what.

        Parameters
        ----------
        rows : int64 [n]
            Texts whose sequences are meant.
        others : int64 [n, some]
            For each, texts that are held against them.

        Returns
        -------
        int8 [n, some]
            Index into ``KINDS`` of the plainest kind of claim that is false, ``len(KINDS)`` where none is.
        """
        claim, holds, starts = _held(self.surely, self.possible, rows, others)
        wrong = np.where(holds, np.int8(len(KINDS)), self.kinds[claim])
        return np.minimum.reduceat(wrong, starts).reshape(others.shape)

    def true(self, rows: Array, others: Array) -> Array:
        """Tell which texts are true of the sequences of others, in all that they claim; arguments as for :meth:`false`."""
        _, holds, starts = _held(self.claimed, self.known, rows, others)
        found: Array = np.logical_and.reduceat(holds, starts).reshape(others.shape)
        return found


def _held(lists: Lists, bits: Array, rows: Array, others: Array) -> tuple[Array, Array, Array]:
    """Look up the bit of each claim of `others`: the claims one after another, their bits, and where those of each begin."""
    flat = others.ravel()
    counts = lists.number[flat]
    starts = np.cumsum(counts) - counts
    claim = lists.values[np.arange(counts.sum()) + np.repeat(lists.first[flat] - starts, counts)]
    row = np.repeat(np.repeat(rows, others.shape[1]), counts)
    holds = bits[row, claim >> 3] >> (claim & 7).astype(np.uint8) & 1
    return claim, holds.astype(bool), starts


@dataclass
class Gathering:
    """Claims on their way: shard by shard, each text and claim as one number, and how many captions make it."""

    numbering: Numbering = field(default_factory=Numbering)
    captions: list[Array] = field(default_factory=list)
    parts: dict[str, list[tuple[Array, Array]]] = field(default_factory=lambda: {"claimed": [], "known": [], "possible": []})

    def add(self, table: pa.Table, rows: Array) -> None:
        """Take up a shard.

        Parameters
        ----------
        table : pyarrow.Table
            Its sequences.
        rows : int64 [captions]
            The text of each caption, through all sequences; -1 for one that is left out.
        """
        labels = labels_of(table, self.numbering)
        self.captions.append(rows[rows >= 0])
        caption = np.arange(len(rows))
        self._keep("claimed", rows, *labels.claimed)
        first = np.cumsum(labels.captions) - labels.captions
        for name, (sequence, claim) in (("known", labels.known), ("possible", labels.possible)):
            pairs = _distinct(sequence * _CLAIMS + claim)[0]
            sequence, claim = pairs // _CLAIMS, pairs % _CLAIMS
            counts = labels.captions[sequence]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            self._keep(name, rows, caption[np.repeat(first[sequence], counts) + within], np.repeat(claim, counts))

    def _keep(self, name: str, rows: Array, caption: Array, claim: Array) -> None:
        pairs = _distinct(caption * _CLAIMS + claim)[0] if name == "claimed" else caption * _CLAIMS + claim
        text, claim = rows[pairs // _CLAIMS], pairs % _CLAIMS
        self.parts[name].append(_distinct(text[text >= 0] * _CLAIMS + claim[text >= 0]))

    def finish(self, texts: int) -> Claims:
        """Put together what was gathered of so many texts."""
        captions = np.bincount(np.concatenate([np.zeros(0, np.int64), *self.captions]), minlength=texts)
        claimed, times = _summed(self.parts["claimed"])
        always = times == captions[claimed // _CLAIMS]
        known, of = _summed(self.parts["known"])
        known = known[of == captions[known // _CLAIMS]]
        possible = self._opened(_summed(self.parts["possible"])[0], _distinct(claimed % _CLAIMS)[0])
        kinds = np.array([*(claim.kind for claim in self.numbering.claims), len(KINDS)], np.int64)
        surely = claimed[always & (kinds[claimed % _CLAIMS] < len(KINDS))]
        everything = np.arange(texts) * _CLAIMS + len(kinds) - 1
        claimed, surely, possible, known = (np.concatenate([each, everything]) for each in (claimed, surely, possible, known))
        bits = (_bits(possible, texts, len(kinds)), _bits(known, texts, len(kinds)))
        return Claims(np.minimum(kinds, len(KINDS)).astype(np.int8), _lists(claimed, texts), _lists(surely, texts), *bits)

    def _opened(self, possible: Array, claims: Array) -> Array:
        """Put all claims in the place of those that stand for every value."""
        table = list(self.numbering.claims)
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
    """Give the different numbers in order, and how often each is there: as `numpy.unique`, but several times as fast."""
    ordered = np.sort(numbers)
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[first], np.diff(first, append=len(ordered))


def _summed(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Add up how often each number was counted."""
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
