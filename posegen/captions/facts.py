"""Facts: what is to be said of one segment, and the statements that are made of it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.captions.telling import Told
from posegen.library import Library
from posegen.planning.repertoire import repertoire
from posegen.scene import BOTH

__all__ = ["MOST_SEGMENTS", "Facts", "Known", "Statement", "facts_of", "order", "place_of", "statement", "styled"]

Array = NDArray[Any]

MOST_SEGMENTS = 1 << 12
"""An actor has fewer."""

Statement = dict[str, int | str]
"""A claim: actor, kind, segment, action and value."""


class Facts(NamedTuple):
    """What is to be said of one segment; see :class:`posegen.captions.telling.Told`.

    What is done 0 times is not counted, what is done `together` is done with the partner. `style` is empty where the style is
    not to be told.
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


class Known(NamedTuple):
    """The facts of some segments: the `distinct` ones, which are few, and the `number` of each segment's among them."""

    distinct: list[Facts]
    number: Array


def facts_of(told: Told, library: Library, unfinished: Array | None = None) -> Known:
    """Gather what is to be said of each told segment; `unfinished`, bool [segments], are those of which the end is not told."""
    ended = told.finished & repertoire(library).seated[told.action]
    if unfinished is not None:
        ended &= ~unfinished
    times = np.where(told.exact, told.repetitions, 0)
    columns = [told.action, told.side, times, told.pace, told.path, told.direction, ended, told.together]
    code = np.zeros(len(ended), np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return Known([Facts(*row) for row in rows], number)


def place_of(told: Told, owner: Array, most: int) -> Array:
    """Number the places of told segments: that of segment s of actor a is ``a * MOST_SEGMENTS + s``."""
    return owner % most * MOST_SEGMENTS + np.arange(len(owner)) - told.bounds[owner]


@cache
def styled(facts: Facts, style: str) -> Facts:
    """Give the same facts with a style to be told."""
    return facts._replace(style=style)


@lru_cache(maxsize=1 << 12)
def order(actor: int, segment: int, action: str, relation: str, other: int) -> Statement:
    """Claim that a segment is `after` or `during` another one."""
    return statement(actor, "order", segment, action, f"{relation} {other}")


@lru_cache(maxsize=1 << 14)
def statement(actor: int, kind: str, segment: int, action: str, value: str) -> Statement:
    """Make a claim. Equal ones are one object, which is not to be changed: a dataset has millions of them."""
    return {"actor": actor, "kind": kind, "segment": segment, "action": action, "value": value}
