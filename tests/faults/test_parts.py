"""Many jobs on one dataset, killed, repeated and at the same time: the result is that of one run of each stage."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import numpy as np
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.files import read_file
from posegen.dataset.storage.address import AnyPath
from posegen.embedding import open_embeddings
from posegen.embedding.models import HASHING
from posegen.generation.finish import finish
from tests.faults.forks import Finished, Forks
from tests.faults.injection import needs_compiler
from tests.faults.steps import die_at
from tests.faults.truth import assert_same, copy, files_of

pytestmark = [pytest.mark.slow, needs_compiler]

PARTS, SAMPLES, AT_ONCE = 16, 130, 4
STEPS = ("encoded", "receipt_removed", "files_durable", "receipt_written", "receipt_placed")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue[Forks]]:
    free: Queue[Forks] = Queue()
    tmp_path = tmp_path_factory.mktemp("servers")
    started = [Forks(tmp_path / str(number)) for number in range(AT_ONCE)]
    for number, server in enumerate(started):
        (tmp_path / str(number)).mkdir()
        free.put(server)
    yield free
    for server in started:
        server.close()


def dying(path: AnyPath, step: str) -> dict[str, str]:
    """Return the environment of a run that dies at a step, if any."""
    return die_at(path, step) if step else {}


Made = Callable[[Forks, str, str], Finished]
"""Runs a part, given by its number and the number of parts, with a step at which it dies."""


def make_parts(servers: Queue[Forks], make: Made, steps: Callable[[int], str]) -> None:
    """Run each part three times in random order, several at once; the first run dies at a step if it gets there."""
    draw, killed = random.Random(1), set[int]()

    def run(job: tuple[int, str]) -> None:
        number, step = job
        server = servers.get()
        done = make(server, f"{number}/{PARTS}", step)
        servers.put(server)
        if done.code == -signal.SIGKILL:
            killed.add(number)
        else:  # the same part may be running
            assert done.code == 0 or "is being made by" in done.printed, done.printed

    numbers = [*range(1, PARTS + 1)] * 3
    draw.shuffle(numbers)
    jobs = [(number, "" if number in numbers[:i] else steps(number)) for i, number in enumerate(numbers)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, jobs))
    # A later run of a part may begin and end before its first run gets to its step, which then does not happen.
    assert len(killed) > PARTS // 2


Places = tuple[AnyPath, Path, Path]
"""Where parts work, the dataset, and what one run makes of it."""


@pytest.fixture(params=["scratch", "bucket"])
def places(request: pytest.FixtureRequest, config: Config, scratch: Path) -> Places:
    """Return a place for parts, a dataset, and a copy of it for a single run."""
    posegen.generate(config, samples=SAMPLES, workers=1, out=scratch / "dataset")
    copy(scratch / "dataset", scratch / "whole")
    return request.getfixturevalue(request.param) / "parts", scratch / "dataset", scratch / "whole"


def test_sixteen_parts_each_killed_once_and_made_twice_equal_one_run(
    servers: Queue[Forks], config: Config, places: Places
) -> None:
    draw, (path, whole, _) = random.Random(1), places
    shards = range(-(-SAMPLES // config.store.shard))

    def make(server: Forks, part: str, step: str) -> Finished:
        return server.generate(path, "--samples", str(SAMPLES), "--part", part, **dying(path, step))

    make_parts(servers, make, lambda n: f"{draw.choice(STEPS)}@{draw.choice([s for s in shards if s % PARTS == n - 1])}")
    for number in finish(path).parts:  # a part whose last run was killed
        posegen.generate(config, samples=SAMPLES, workers=1, out=path, part=f"{number}/{PARTS}")
    assert finish(path).missing == []
    assert_same(path, whole)


EMBEDDING = ("--encoder", HASHING, "--shard=8", "--no-cache", "--quiet", "--workers=1")


@pytest.mark.parametrize(
    ("options", "steps"),
    [(("derive", "--add=velocity", "--workers=1", "--quiet"), STEPS), (("embed", *EMBEDDING), STEPS[1:])],
    ids=["derive", "embed"],
)
def test_sixteen_parts_of_a_stage_equal_one_run(
    options: Sequence[str], steps: Sequence[str], servers: Queue[Forks], places: Places
) -> None:
    draw, (path, dataset, whole), (command, *rest) = random.Random(2), places, options
    copy(dataset, path)

    def make(server: Forks, part: str, step: str) -> Finished:
        return server.run(command, str(path), *rest, "--part", part, **dying(path, step))

    make_parts(servers, make, lambda number: draw.choice(steps))
    for folder in (path, whole):
        assert main([command, str(folder), *rest]) == 0
    assert_same(path, whole)
    if command == "derive":
        return
    vectors = [name for name in files_of(whole) if "/c." in name and name.startswith("embeddings/")]
    embedded = [{name: read_file(one / name, 1 << 30) for name in vectors} for one in (path, whole)]
    assert len(embedded[0]) > PARTS
    assert embedded[0] == embedded[1]
    np.testing.assert_array_equal(open_embeddings(path).rows.to_pylist(), open_embeddings(whole).rows.to_pylist())
