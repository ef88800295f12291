"""200 sequences of commands with losses of power, and 200 with disturbed requests to a bucket: no false success, no loss.

Losses of power strike the commands that write to folders; a proxy delays, repeats and reorders the requests of those that write
to buckets. POSEGEN_JUDGE_SCALE=0.1 takes a tenth.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from random import Random
from unittest.mock import patch

from benchmarks.figures import Figure
from benchmarks.measure import SCALE
from tests.buckets import disorder
from tests.buckets.servers import Server
from tests.faults import losses
from tests.faults.commands import Outcome
from tests.faults.forks import Forks
from tests.faults.injection import COMPILER

SEQUENCES = round(200 * SCALE)


def measure(folder: Path) -> Iterator[Figure]:
    """Run sequences of a command that is disturbed, or two at once, and the command once more."""
    for name in ("power", "forks-0", "forks-1", "disorders"):
        (folder / name).mkdir()
    if COMPILER:
        with closing(Forks(folder / "power")) as forks:
            lost = losses.Losses(folder / "power" / "losses", forks)
            found = _outcomes(lambda name, number: lost.run(name, Random(number)), losses.COMMANDS, "losses of power")
        killed, dropped = sum(code < 0 for each in found for code in each.codes), sum(each.disturbances for each in found)
        counted = "runs killed / changes dropped"
        yield from _figures(found, "a command and losses of power", counted, f"{killed:,} / {dropped:,}")
    else:
        yield Figure("losses of power", "not measured: there is no C compiler", "0 wrong")
    server = Server.start()
    try:
        with (
            patch.dict(os.environ, server.environment()),
            closing(Forks(folder / "forks-0")) as one,
            closing(Forks(folder / "forks-1")) as other,
        ):
            disorders = disorder.Disorders(folder / "disorders", server, (one, other))
            found = _outcomes(disorders.run, disorder.COMMANDS, "disturbed sequences")
    finally:
        server.stop()
    late, failed = sum(each.disturbances for each in found), sum(any(each.codes) for each in found)
    counted = "requests passed on late or twice / runs that ended with an error"
    yield from _figures(found, "commands and disturbed requests to a bucket", counted, f"{late:,} / {failed:,}")


def _outcomes(run: Callable[[str, int], Outcome], names: Collection[str], what: str) -> list[Outcome]:
    """Run a number of sequences, the commands in turn."""
    found, listed = list[Outcome](), list(names)
    for number in range(SEQUENCES):
        found.append(run(listed[number % len(listed)], number))
        if found[-1].wrong or found[-1].refused:
            print(f"{number}: {found[-1]}", file=sys.stderr, flush=True)
        if number % 20 == 19:
            wrong = sum(bool(each.wrong) for each in found)
            print(f"{number + 1} {what}, {wrong} wrong", file=sys.stderr, flush=True)
    return found


def _figures(found: Sequence[Outcome], what: str, counted: str, value: str) -> Iterator[Figure]:
    """Yield what was disturbed, what is wrong after exit code 0, and what one more run does not complete."""
    name = f"{len(found)} sequences of {what}, over {len({each.command for each in found})} commands"
    yield Figure(f"{name}: {counted}", value, "", detail=dict(Counter(each.command for each in found)))
    wrong, refused = ([asdict(each) for each in found if getattr(each, kind)] for kind in ("wrong", "refused"))
    yield Figure(f"{name}: wrong after exit code 0", str(len(wrong)), "0", not wrong, wrong)
    yield Figure(f"{name}: not completed by one more run", str(len(refused)), "0", not refused, refused)
