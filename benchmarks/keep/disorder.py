"""200 seeded sequences over the commands that write to buckets, behind a proxy that delays, repeats and reorders requests.

POSEGEN_JUDGE_SCALE=0.1 takes a tenth.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from benchmarks.figures import Figure
from benchmarks.keep.faults import SCALE
from benchmarks.keep.sequences import figures, outcomes
from tests.buckets.disorder import COMMANDS, Disorders
from tests.buckets.servers import Server
from tests.faults.forks import Forks

__all__ = ["measure"]

SEQUENCES = 200


def measure(folder: Path) -> Iterator[Figure]:
    """Run sequences of a command, or two at once, whose requests are disturbed, and the command once more if it fails."""
    for name in ("forks-0", "forks-1", "disorders"):
        (folder / name).mkdir()
    server, forks = Server.start(), (Forks(folder / "forks-0"), Forks(folder / "forks-1"))
    try:
        with patch.dict(os.environ, server.environment()):
            disorders = Disorders(folder / "disorders", server, forks)
            found = outcomes(disorders.run, COMMANDS, round(SEQUENCES * SCALE), "disturbed sequences")
    finally:
        for each in forks:
            each.close()
        server.stop()
    late, failed = sum(each.disturbances for each in found), sum(any(each.codes) for each in found)
    counted = "requests passed on late or twice / runs that ended with an error"
    yield from figures(found, "commands and disturbed requests to a bucket", counted, f"{late:,} / {failed:,}")
