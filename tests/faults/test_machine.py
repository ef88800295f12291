"""A dataset under attacks in any order: wrong data is never read, damage is reported, and it can be repaired.

The model is a list of what each sample is, taken once from a dataset that nobody disturbed, and three things known of the
dataset under attack: how many samples it must have, whether a run may have died in it, and which files were damaged.
POSEGEN_TEST_ATTACKS asks for more sequences of attacks than the suite has time for. In a bucket, the objects of a shard that a
killed run has not completed stay, and are named, until a run completes it: behind the end of the dataset they are no damage.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

import posegen
from posegen.config.schema import Config
from posegen.dataset.files import exists, read_file, remove_durably, write_durably
from posegen.dataset.header import load_header
from posegen.dataset.layout import Header, shard_of
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import Problem, verify
from posegen.foundations.errors import PosegenError
from posegen.generation.repair import repair
from tests.faults.forks import Forks
from tests.faults.injection import needs_compiler
from tests.faults.steps import STEPS, die_at
from tests.faults.truth import Content, content_of, files_of

pytestmark = [pytest.mark.slow, needs_compiler]

ATTACKS = int(os.environ.get("POSEGEN_TEST_ATTACKS", "12"))
MOST = 18
HEADER = "dataset.json"
MUCH = 1 << 30

counts = st.integers(1, MOST)
# Reduced modulo the size of the file, which Hypothesis does not know.
places = st.integers(0, 2**24)
steps = st.one_of(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 4)),
    st.tuples(
        st.sampled_from(["description_written", "description_placed", "descriptions_written", "header_written"]),
        st.integers(0, MOST),
    ),
).map(lambda step: f"{step[0]}@{step[1]}")


class Attack(RuleBasedStateMachine):
    """One dataset under attack."""

    config: ClassVar[Config]
    header: ClassVar[Header]
    truth: ClassVar[Content]
    forks: ClassVar[Forks]
    place: ClassVar[AnyPath]

    def __init__(self) -> None:
        super().__init__()
        self.path = self.place / uuid4().hex
        self.least = 0
        self.died = False
        self.damaged: dict[str, bytes] = {}

    def teardown(self) -> None:
        if isinstance(self.path, Path):
            shutil.rmtree(self.path, ignore_errors=True)

    @initialize(samples=counts)
    def begin(self, samples: int) -> None:
        self.generate(samples)

    @rule(samples=counts)
    def generate(self, samples: int) -> None:
        self.make(samples)

    @rule(samples=counts, step=steps, time=st.integers(1, 3))
    def run_that_dies(self, samples: int, step: str, time: int) -> None:
        ended = self.forks.generate(self.path, "--samples", str(samples), **die_at(self.path, f"{step}#{time}"))
        assert ended.code in (0, -signal.SIGKILL) or (ended.code == 1 and self.damaged), ended.printed
        if ended.code == 0:
            self.least = max(self.least, samples)
            self.forget_regenerated_files()
        else:
            self.died = True

    @precondition(lambda self: self.least)
    @rule(first=places, second=places, at=places, kind=st.sampled_from(["flip", "truncate", "delete", "exchange"]))
    def damage(self, first: int, second: int, at: int, kind: str) -> None:
        names = [name for name in files_of(self.path) if "temporary" not in name and name != ".lock"]
        name, other = names[first % len(names)], names[second % len(names)]
        for touched in {name, other} if kind == "exchange" else {name}:
            self.damaged.setdefault(touched, read_file(self.path / touched, MUCH))
        self.hurt(self.path / name, self.path / other, kind, at)
        # Two damages may cancel out.
        self.damaged = {name: intact for name, intact in self.damaged.items() if not has(self.path / name, intact)}
        problems = verify(self.path)
        for name in self.damaged:
            assert self.died or any(self.names(problem, name) for problem in problems), f"{kind} of {name} is not named"

    def hurt(self, file: AnyPath, other: AnyPath, kind: str, at: int) -> None:
        bytes_there = read_file(file, MUCH)
        assume(bytes_there)
        if kind == "delete":
            remove_durably(file)
        elif kind == "exchange":
            write_durably(file, read_file(other, MUCH))
            write_durably(other, bytes_there)
        elif kind == "flip":
            position = at % (8 * len(bytes_there))
            flipped = bytearray(bytes_there)
            flipped[position // 8] ^= 1 << position % 8
            write_durably(file, bytes(flipped))
        else:
            write_durably(file, bytes_there[: at % len(bytes_there)])

    def names(self, problem: Problem, name: str) -> bool:
        """Return whether a problem results from damage to a file: other files of its shard may not be checked."""
        shard = shard_of(self.header, name)
        return problem.file in (name, HEADER) or (shard is not None and problem.shard == shard)

    @precondition(lambda self: self.least and (self.damaged or self.died))
    @rule()
    def repair_all(self) -> None:
        problems = verify(self.path)
        if any(problem.file == HEADER for problem in problems):
            self.make(max(self.least, 1))
            problems = verify(self.path)
        assert all(problem.repairable for problem in problems), problems
        if problems:
            assert repair(self.path, problems, workers=1).left == ()
        assert verify(self.path) == []
        self.damaged.clear()
        # A run that died while it extended the dataset may have reduced the header, and lost the shard that it made again.
        self.make(self.least)

    @rule()
    def verify(self) -> None:
        problems = [str(problem) for problem in self.problems()] if self.least else []
        if not self.damaged and not self.died:
            assert problems == []
        if not problems and self.least:
            seen = content_of(self.path)
            assert seen == self.truth[: len(seen)]
            assert len(seen) >= self.least or self.died or self.damaged

    @invariant()
    def wrong_data_is_never_read(self) -> None:
        try:
            seen = content_of(self.path)
        except PosegenError:
            if not (self.died or self.damaged):
                raise
            return
        assert seen == self.truth[: len(seen)]
        if not (self.died or self.damaged):
            assert len(seen) == self.least

    def make(self, samples: int) -> None:
        """Generate; if the header is damaged, first follow the hint of the error."""
        try:
            result = posegen.generate(self.config, samples=samples, workers=1, out=self.path)
        except PosegenError as error:
            if not self.damaged or "Delete it" not in str(error):
                raise
            remove_durably(self.path / HEADER)
            result = posegen.generate(self.config, samples=samples, workers=1, out=self.path)
        assert result.samples >= samples
        assert result.samples <= max(self.least, samples) or self.died
        self.least = result.samples
        self.died = False
        self.forget_regenerated_files()

    def forget_regenerated_files(self) -> None:
        """After a run, only files whose bytes were not read can still be damaged."""
        wrong = {problem.file for problem in self.problems()}
        assert wrong <= self.damaged.keys(), wrong
        self.damaged = {name: intact for name, intact in self.damaged.items() if name in wrong}

    def problems(self) -> list[Problem]:
        """Return what is wrong, without what a killed run leaves in a bucket."""
        found = verify(self.path)
        if isinstance(self.path, BucketPath):
            end = -(-self.least // self.header.shard)
            found = [problem for problem in found if problem.shard is None or problem.shard < end]
        return found


def has(file: AnyPath, intact: bytes) -> bool:
    return exists(file) and read_file(file, MUCH) == intact


@pytest.fixture(scope="module")
def truth(config: Config, undisturbed: dict[int, Path]) -> Content:
    return content_of(undisturbed[MOST])


def test_attacks_in_any_order(
    config: Config, undisturbed: dict[int, Path], truth: Content, forks: Forks, place: AnyPath
) -> None:
    header = load_header(undisturbed[MOST])
    known: dict[str, Any] = {"config": config, "header": header, "truth": truth, "forks": forks, "place": place}
    attacks = ATTACKS if isinstance(place, Path) else -(-ATTACKS // 3)
    selected = settings(max_examples=attacks, stateful_step_count=8, deadline=None)
    run_state_machine_as_test(type("AttackHere", (Attack,), known), settings=selected)
