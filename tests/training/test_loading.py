"""Processes that load and fail: the batches stay the same, and it is reported."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from itertools import islice
from pathlib import Path

import psutil
import pytest
import torch

from posegen.foundations.errors import PosegenError
from posegen.training.data.feature_cache import FOLDER
from posegen.training.data.feed import Feed, Loader, batches_of
from posegen.training.settings import Data
from posegen.training.setup import TrainingData, open_training_data
from posegen.training.tasks.action import TASK

STEPS = 14
"""More than two processes have ready."""


@pytest.fixture(scope="module")
def material(dataset: Path) -> TrainingData:
    found = open_training_data(str(dataset), Data(stride=4), 0)
    found.prepare(TASK.recipes, lambda done, total: None)
    return found


def feed(material: TrainingData) -> Feed:
    source = material.source(TASK.recipes, "training")
    return Feed(batches_of(source, 12, 5, None, lanes=4).at(2), source, 5, None, 2)


def loading_processes() -> list[psutil.Process]:
    """Those behind the server that they are forked from."""
    return [process for child in psutil.Process().children() for process in child.children()]


@pytest.mark.slow
def test_a_killed_process_changes_no_batch(material: TrainingData) -> None:
    parts = 2 * STEPS
    expected = list(islice(Loader(feed(material), 0, pinned=False, log=pytest.fail), parts))
    said: list[str] = []
    found = []
    for part in islice(Loader(feed(material), 2, pinned=False, log=said.append), parts):
        found.append(part)
        if len(found) == 3:
            victims = loading_processes()
            assert len(victims) == 2
            os.kill(victims[0].pid, signal.SIGKILL)
    assert len(said) == 1
    assert "Training continues without them" in said[0]
    assert [(part["number"], part["part"]) for part in found] == [(part["number"], part["part"]) for part in expected]
    assert all(torch.equal(one["motion"], other["motion"]) for one, other in zip(found, expected, strict=True))


# What torch has half built when it cannot go on complains of itself when it is thrown away.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_processes_that_cannot_start_change_no_batch(material: TrainingData) -> None:
    one = next(iter(Loader(feed(material), 0, pinned=False, log=pytest.fail)))
    said: list[str] = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def say(text: str) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        said.append(text)

    # No room for the pipes that they would be spoken to by.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        other = next(iter(Loader(feed(material), 1, pinned=False, log=say)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert "loading processes failed" in said[0]
    assert torch.equal(one["motion"], other["motion"])


@pytest.mark.slow
def test_damaged_data_are_the_error_that_they_are(material: TrainingData, tmp_path: Path) -> None:
    assert material.dataset is not None
    copied = open_training_data(str(shutil.copytree(material.dataset.path, tmp_path / "damaged")), Data(stride=4), 0)
    assert copied.dataset is not None
    path = next((copied.dataset.path / FOLDER).glob("motion-*/00000.npy"))
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    said: list[str] = []
    with pytest.raises(PosegenError, match="checksum mismatch"):
        next(iter(Loader(feed(copied), 1, pinned=False, log=said.append)))
    assert "loading processes failed" in said[0]
