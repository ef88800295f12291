"""After a loss of power at any time, a command does not report success for what is damaged, and one more run completes it."""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.faults.forks import Forks
from tests.faults.injection import needs_compiler
from tests.faults.losses import COMMANDS, Losses

pytestmark = [pytest.mark.slow, needs_compiler]

SEQUENCES = int(os.environ.get("POSEGEN_POWER_LOSSES", "2"))
"""Sequences of each command; `make judge SECTION=keep` runs more."""


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> Losses:
    return Losses(tmp_path_factory.mktemp("losses"), forks)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_succeeds_with_damaged_files_after_a_loss_of_power(command: str, losses: Losses) -> None:
    for seed in range(SEQUENCES):
        loss = losses.run(command, Random(f"{command} {seed}"))
        assert not loss.wrong, f"seed {seed}: {loss}"
        assert not loss.refused, f"seed {seed}: {loss}"
