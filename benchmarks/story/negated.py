"""Negated statements: each states of the same frames something that they do not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["negations"]

Statement = Mapping[str, Any]

OTHERS = {
    "side": ("left", "right"),
    "direction": ("left", "right", "around"),
    "path": ("straight", "left", "right"),
    "speed": ("slow", "normal", "fast"),
}


def negations(statement: Statement, row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all negations of a statement: another side, speed or path, one more, one less, the other order.

    The statement that one segment is after, or during, another one becomes the statement that the other one is after it.
    Statements of other kinds have no negation.
    """
    kind, value = statement["kind"], str(statement["value"])
    if kind in OTHERS:
        for other in OTHERS[kind]:
            if other != value:
                yield {**statement, "value": other}
    elif kind == "count" or (kind == "people" and statement["actor"] < 0):
        for other_number in (int(value) - 1, int(value) + 1):
            if other_number > 0:
                yield {**statement, "value": str(other_number)}
    elif kind == "order":
        other_segment = int(value.split()[1])
        action = row["actors"][statement["actor"]]["segments"][other_segment]["action"]
        yield {**statement, "segment": other_segment, "action": action, "value": f"after {statement['segment']}"}
