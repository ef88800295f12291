"""Comparing what two texts claim."""

from __future__ import annotations

from collections.abc import Sequence

from posegen.captions.grammar import Statement

__all__ = ["as_told", "same_claims"]


def as_told(statements: Sequence[Statement]) -> list[Statement]:
    """Number segments in the order in which they are mentioned, and sort: a text cannot tell the numbers that the rows have.

    Parameters
    ----------
    statements : sequence of dict
        As captions have them, or :func:`posegen.captions.reading.read_caption` reads them.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> waves = {"actor": 0, "kind": "action", "segment": 3, "action": "wave", "value": ""}
    >>> as_told([waves])[0]["segment"]
    0
    """
    numbers: dict[int, dict[int, int]] = {}
    for claim in statements:
        if int(claim["segment"]) >= 0:
            of_actor = numbers.setdefault(int(claim["actor"]), {})
            of_actor.setdefault(int(claim["segment"]), len(of_actor))
    told = []
    for claim in statements:
        known = numbers.get(int(claim["actor"]), {})
        value = str(claim["value"])
        if claim["kind"] == "order":
            relation, _, other = value.partition(" ")
            value = f"{relation} {known.get(int(other), -1)}"
        told.append(claim | {"segment": known.get(int(claim["segment"]), -1), "value": value})
    return sorted(told, key=_key)


def same_claims(one: Sequence[Statement], other: Sequence[Statement]) -> bool:
    """Whether two texts claim the same, as far as texts can tell."""
    return as_told(one) == as_told(other)


def _key(claim: Statement) -> tuple[int, int, str, str, str]:
    return int(claim["actor"]), int(claim["segment"]), str(claim["kind"]), str(claim["action"]), str(claim["value"])
