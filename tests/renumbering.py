"""Compare what two texts state, apart from the numbers of segments."""

from __future__ import annotations

from collections.abc import Sequence

from posegen.captions.segments import Statement


def renumber_statements(statements: Sequence[Statement]) -> list[Statement]:
    """Number segments in the order in which they are mentioned, and sort: a text does not contain the numbers of the rows."""
    numbers: dict[int, dict[int, int]] = {}
    for statement in statements:
        if int(statement["segment"]) >= 0:
            of_actor = numbers.setdefault(int(statement["actor"]), {})
            of_actor.setdefault(int(statement["segment"]), len(of_actor))
    renumbered = []
    for statement in statements:
        known = numbers.get(int(statement["actor"]), {})
        value = str(statement["value"])
        if statement["kind"] == "order":
            relation, _, other = value.partition(" ")
            value = f"{relation} {known.get(int(other), -1)}"
        renumbered.append(statement | {"segment": known.get(int(statement["segment"]), -1), "value": value})
    return sorted(renumbered, key=_sort_key)


def same_statements(one: Sequence[Statement], other: Sequence[Statement]) -> bool:
    """Return whether two texts state the same, apart from the numbers of segments."""
    return renumber_statements(one) == renumber_statements(other)


def _sort_key(statement: Statement) -> tuple[int, int, str, str, str]:
    actor, segment = int(statement["actor"]), int(statement["segment"])
    return actor, segment, str(statement["kind"]), str(statement["action"]), str(statement["value"])
