"""Statements: the checkable claims of a caption as data, and the facts of a segment that they are made from.

Putting statements into words is done in :mod:`posegen.captions.grammar`, checking them in :mod:`posegen.checks.statements`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posegen.arrays import Array
from posegen.captions.segments import Segments
from posegen.library.load import Library
from posegen.planning.repertoire import repertoire
from posegen.scene import BOTH

MOST_SEGMENTS = 1 << 12
"""Exclusive upper bound of the number of segments of an actor."""

Statement = dict[str, int | str]
"""A claim: actor, kind, segment, action and value; see :mod:`posegen.captions.captions`."""


class Facts(NamedTuple):
    """What a caption may state about one segment; see :class:`posegen.captions.segments.Segments`.

    `times` is 0 where repetitions are not counted, `together` is whether it is done with the partner, and `style` is empty
    where no style is stated.
    """

    action: int
    side: int = BOTH
    times: int = 0
    pace: int = 0
    path: int = 0
    direction: int = 0
    finished: bool = False
    together: bool = False
    style: str = ""


class SegmentFacts(NamedTuple):
    """The facts of some segments: the `distinct` ones, which are few, and for each segment its `number` among them."""

    distinct: list[Facts]
    number: Array


def segment_facts(segments: Segments, library: Library, unfinished: Array | None = None) -> SegmentFacts:
    """Collect the facts of each segment.

    Parameters
    ----------
    segments : Segments
    library : Library
    unfinished : bool [segments], optional
        Segments whose end is not stated.

    Returns
    -------
    SegmentFacts
    """
    ended = segments.finished & repertoire(library).seated[segments.action]
    if unfinished is not None:
        ended &= ~unfinished
    times = np.where(segments.exact, segments.repetitions, 0)
    columns = [
        segments.action,
        segments.side,
        times,
        segments.pace,
        segments.path,
        segments.direction,
        ended,
        segments.together,
    ]
    code = np.zeros(len(ended), np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return SegmentFacts([Facts(*row) for row in rows], number)


def segment_keys(segments: Segments, owner: Array, most: int) -> Array:
    """Return ``actor * MOST_SEGMENTS + segment`` for each segment; `most` is the number of actors of a sequence."""
    return owner % most * MOST_SEGMENTS + np.arange(len(owner)) - segments.bounds[owner]


@lru_cache(maxsize=1 << 14)
def with_style(facts: Facts, style: str) -> Facts:
    """Return the same facts with a style."""
    return facts._replace(style=style)


@lru_cache(maxsize=1 << 12)
def order_statement(actor: int, segment: int, action: str, relation: str, other: int) -> Statement:
    """Return the statement that a segment is `after` or `during` another one."""
    return make_statement(actor, "order", segment, action, f"{relation} {other}")


@lru_cache(maxsize=1 << 14)
def make_statement(actor: int, kind: str, segment: int, action: str, value: str) -> Statement:
    """Return a statement. Equal statements share one object, which must not be changed: a dataset has millions of them."""
    return {"actor": actor, "kind": kind, "segment": segment, "action": action, "value": value}
