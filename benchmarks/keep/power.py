"""200 seeded losses of power over the commands that write to folders: no success is reported for what is damaged or lost.

POSEGEN_JUDGE_SCALE=0.1 takes a tenth.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

from benchmarks.figures import Figure
from benchmarks.keep.faults import SCALE
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
        losses, names = Losses(folder / "losses", forks), list(COMMANDS)
        found = []
        for number in range(round(SEQUENCES * SCALE)):
            found.append(losses.run(names[number % len(names)], Random(number)))
            if number % 20 == 19:
                print(
                    f"{number + 1} losses of power, {sum(bool(loss.wrong) for loss in found)} wrong",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        forks.close()
    what = f"{len(found)} sequences of a command and losses of power, over {len(names)} commands"
    yield Figure(
        f"{what}: runs killed / changes dropped",
        f"{sum(code < 0 for loss in found for code in loss.codes):,} / {sum(loss.disturbances for loss in found):,}",
        "",
        detail=dict(Counter(loss.command for loss in found)),
    )
    wrong, refused = ([asdict(loss) for loss in found if getattr(loss, kind)] for kind in ("wrong", "refused"))
    yield Figure(f"{what}: wrong after exit code 0", str(len(wrong)), "0", not wrong, wrong)
    yield Figure(f"{what}: not completed by one more run", str(len(refused)), "0", not refused, refused)
