"""No command reports success for what disturbed requests have damaged, and one more run completes it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.buckets.disorder import COMMANDS, Disorders
from tests.buckets.servers import Server
from tests.faults.forks import Forks

pytestmark = pytest.mark.slow

SEQUENCES = int(os.environ.get("POSEGEN_DISORDERS", "1"))
"""Sequences of each command; `make judge SECTION=keep` runs more."""


@pytest.fixture(scope="module")
def disorders(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Iterator[Disorders]:
    forks = Forks(tmp_path_factory.mktemp("forks")), Forks(tmp_path_factory.mktemp("forks"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        yield Disorders(tmp_path_factory.mktemp("disorders"), server, forks)
    for each in forks:
        each.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_succeeds_with_what_disturbed_requests_have_damaged(command: str, disorders: Disorders) -> None:
    for seed in range(SEQUENCES):
        found = disorders.run(command, seed + 100 * len(command))
        assert not found.wrong, f"seed {seed}: {found}"
        assert not found.refused, f"seed {seed}: {found}"
