"""Sequences of commands that are disturbed, as figures."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict

from benchmarks.figures import Figure
from tests.faults.commands import Outcome

__all__ = ["figures", "outcomes"]


def outcomes(run: Callable[[str, int], Outcome], names: Collection[str], sequences: int, what: str) -> list[Outcome]:
    """Run a number of sequences, the commands in turn."""
    found, listed = list[Outcome](), list(names)
    for number in range(sequences):
        found.append(run(listed[number % len(listed)], number))
        if found[-1].wrong or found[-1].refused:
            print(f"{number}: {found[-1]}", file=sys.stderr, flush=True)
        if number % 20 == 19:
            wrong = sum(bool(each.wrong) for each in found)
            print(f"{number + 1} {what}, {wrong} wrong", file=sys.stderr, flush=True)
    return found


def figures(found: Sequence[Outcome], what: str, counted: str, value: str) -> Iterator[Figure]:
    """Yield what was disturbed, what is wrong after exit code 0, and what one more run does not complete."""
    name = f"{len(found)} sequences of {what}, over {len({each.command for each in found})} commands"
    yield Figure(f"{name}: {counted}", value, "", detail=dict(Counter(each.command for each in found)))
    wrong, refused = ([asdict(each) for each in found if getattr(each, kind)] for kind in ("wrong", "refused"))
    yield Figure(f"{name}: wrong after exit code 0", str(len(wrong)), "0", not wrong, wrong)
    yield Figure(f"{name}: not completed by one more run", str(len(refused)), "0", not refused, refused)
