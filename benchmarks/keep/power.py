"""200 seeded losses of power over the commands that write to folders: no success is reported for what is damaged or lost.

POSEGEN_JUDGE_SCALE=0.1 takes a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.figures import Figure
from benchmarks.keep.faults import SCALE
from benchmarks.keep.sequences import figures, outcomes
from tests.faults.forks import Forks
from tests.faults.injection import COMPILER
from tests.faults.losses import COMMANDS, Losses

SEQUENCES = 200


def measure(folder: Path) -> Iterator[Figure]:
    """Run sequences of a command, losses of power, and the command once more."""
    if not COMPILER:
        yield Figure("losses of power", "not measured: there is no C compiler", "0 wrong")
        return
    forks = Forks(folder)
    try:
        losses = Losses(folder / "losses", forks)
        found = outcomes(
            lambda name, number: losses.run(name, Random(number)), COMMANDS, round(SEQUENCES * SCALE), "losses of power"
        )
    finally:
        forks.close()
    killed, dropped = sum(code < 0 for each in found for code in each.codes), sum(each.disturbances for each in found)
    counted = "runs killed / changes dropped"
    yield from figures(found, "a command and losses of power", counted, f"{killed:,} / {dropped:,}")
