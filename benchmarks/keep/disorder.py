"""200 seeded sequences over the commands that write to buckets, behind a proxy that delays, repeats and reorders requests.

``python -m benchmarks.keep.disorder FOLDER SEQUENCES`` prints the figures. POSEGEN_JUDGE_SCALE=0.1 takes a tenth.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

from benchmarks.figures import Figure
from benchmarks.keep.faults import SCALE
from tests.buckets.disorder import COMMANDS, Disorders
from tests.buckets.servers import Server
from tests.faults.forks import Forks

__all__ = ["measure"]

SEQUENCES = 200


def measure(folder: Path, sequences: int = round(SEQUENCES * SCALE)) -> Iterator[Figure]:
    """Run sequences of a command, or two at once, whose requests are disturbed, and the command once more if it fails."""
    for number in range(2):
        (folder / f"forks-{number}").mkdir()
    server, forks = Server.start(), (Forks(folder / "forks-0"), Forks(folder / "forks-1"))
    environment = patch.dict(os.environ, server.environment())
    environment.start()
    try:
        (folder / "disorders").mkdir()
        disorders, names = Disorders(folder / "disorders", server, forks), list(COMMANDS)
        found = []
        for number in range(sequences):
            found.append(disorders.run(names[number % len(names)], number))
            if found[-1].wrong or found[-1].refused:
                print(f"{number}: {found[-1]}", file=sys.stderr, flush=True)
            if number % 20 == 19:
                print(
                    f"{number + 1} disturbed sequences, {sum(bool(each.wrong) for each in found)} wrong",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        environment.stop()
        for each in forks:
            each.close()
        server.stop()
    what = f"{len(found)} sequences of commands and disturbed requests to a bucket, over {len(names)} commands"
    yield Figure(
        f"{what}: requests passed on late or twice / runs that ended with an error",
        f"{sum(each.disturbances for each in found):,} / {sum(any(each.codes) for each in found):,}",
        "",
        detail=dict(Counter(each.command for each in found)),
    )
    wrong, refused = ([asdict(each) for each in found if getattr(each, kind)] for kind in ("wrong", "refused"))
    yield Figure(f"{what}: wrong after exit code 0", str(len(wrong)), "0", not wrong, wrong)
    yield Figure(f"{what}: not completed by one more run", str(len(refused)), "0", not refused, refused)


if __name__ == "__main__":
    for figure in measure(Path(sys.argv[1]), int(sys.argv[2])):
        print(figure)
