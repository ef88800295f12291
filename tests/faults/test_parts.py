"""Many jobs on one dataset, killed, repeated and at the same time: the result is that of one run."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

import posegen
from posegen.config.schema import Config
from posegen.generation.finish import finish
from tests.faults.forks import Forks
from tests.faults.truth import assert_same

pytestmark = pytest.mark.slow

PARTS, SAMPLES, AT_ONCE = 16, 130, 4
STEPS = ("encoded", "receipt_removed", "files_durable", "receipt_written", "receipt_placed")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Queue[Forks]]:
    free: Queue[Forks] = Queue()
    started = [Forks(tmp_path / str(number)) for number in range(AT_ONCE)]
    for number, server in enumerate(started):
        (tmp_path / str(number)).mkdir()
        free.put(server)
    yield free
    for server in started:
        server.close()


def test_sixteen_parts_each_killed_once_and_made_twice_equal_one_run(
    servers: Queue[Forks], config: Config, scratch: Path
) -> None:
    draw, path, whole = random.Random(1), scratch / "dataset", scratch / "whole"
    posegen.generate(config, samples=SAMPLES, workers=1, out=whole)
    killed: list[int] = []

    def make(job: tuple[int, str]) -> None:
        number, step = job
        server = servers.get()
        done = server.generate(path, "--samples", str(SAMPLES), "--part", f"{number}/{PARTS}", POSEGEN_CRASH_AT=step)
        servers.put(server)
        if done.code == -signal.SIGKILL:
            killed.append(number)
        else:  # the same part may be running
            assert done.code == 0 or "is being made by" in done.printed, done.printed

    shards = range(-(-SAMPLES // config.store.shard))
    jobs = [(n, f"{draw.choice(STEPS)}@{draw.choice([s for s in shards if s % PARTS == n - 1])}") for n in range(1, PARTS + 1)]
    jobs += [(number, "none") for number in (*range(1, PARTS + 1), *range(1, PARTS + 1))]
    draw.shuffle(jobs)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(make, jobs))
    assert len(killed) >= PARTS // 4  # the others found their shard made
    again = finish(path).parts
    for number in again:  # a part whose last run was killed
        make((number, "none"))
    assert finish(path).missing == []
    assert_same(path, whole)
