"""Statements turned round: each says of the same frames what they do not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["turned_round"]

Statement = Mapping[str, Any]

OTHERS = {
    "side": ("left", "right"),
    "direction": ("left", "right", "around"),
    "path": ("straight", "left", "right"),
    "speed": ("slow", "normal", "fast"),
}


def turned_round(statement: Statement, row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Turn a statement of a sequence round in every way: another side, speed or path, one more, one less, the other order.

    What says of an order that the one comes after, or during, the other is turned into saying that the other comes after it.
    Statements of other kinds are not turned.
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
