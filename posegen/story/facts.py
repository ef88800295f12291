"""Facts: what is to be said of one segment, and the statements that are made of it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from posegen.scene import BOTH

__all__ = ["Facts", "Statement", "facts_from", "order", "statement", "styled", "unfinished"]

Statement = dict[str, int | str]
"""A claim: actor, kind, segment, action and value."""


class Facts(NamedTuple):
    """What is to be said of one segment; see :class:`posegen.story.telling.Told`.

    What is done 0 times is not counted. `style` is empty where the style is not to be told. What is done `together` is done
    with the partner.
    """

    action: int
    side: int = BOTH
    times: int = 0
    pace: int = 0
    path: int = 0
    direction: int = 0
    finished: bool = False
    style: str = ""
    together: bool = False


@cache
def facts_from(row: tuple[int, int, int, int, int, int, bool, bool]) -> Facts:
    """Make facts, of which the style is not told. Equal ones are one object: there are few, and they are looked up by it."""
    return Facts(*row[:7], style="", together=row[7])


@cache
def styled(facts: Facts, style: str) -> Facts:
    """Give the same facts with a style to be told."""
    return facts._replace(style=style)


@cache
def unfinished(facts: Facts) -> Facts:
    """Give the same facts without the end."""
    return facts._replace(finished=False)


@lru_cache(maxsize=1 << 12)
def order(actor: int, segment: int, action: str, relation: str, other: int) -> Statement:
    """Claim that a segment is `after` or `during` another one."""
    return statement(actor, "order", segment, action, f"{relation} {other}")


@lru_cache(maxsize=1 << 14)
def statement(actor: int, kind: str, segment: int, action: str, value: str) -> Statement:
    """Make a claim. Equal ones are one object, which is not to be changed: a dataset has millions of them."""
    return {"actor": actor, "kind": kind, "segment": segment, "action": action, "value": value}
