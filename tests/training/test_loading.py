"""A step depends on its number, not on micro-batches, processes or the first step of the session; processes that fail are
reported and change no batch."""

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

from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.training.data.feature_cache import FOLDER
from posegen.training.data.feed import Feed, Loader, batches_of
from posegen.training.settings import Data, Skeleton
from posegen.training.setup import TrainingData, open_training_data
from posegen.training.tasks.action import TASK
from posegen.training.tasks.motion import draw_noise

BATCH = 12
ARRAYS = ("motion", "length", "action", "sample", "variant", "noise", "time", "has_caption")
STEPS = 14
"""More than two processes have ready."""


@pytest.fixture(scope="module")
def material(dataset: Path) -> TrainingData:
    found = open_training_data(str(dataset), Data(stride=4), 0)
    found.prepare(TASK.recipes, lambda done, total: None)
    return found


def feed(material: TrainingData, start: int = 0, *, parts: int = 1, frames: int | None = None) -> Feed:
    source = material.source(TASK.recipes, "training")
    return Feed(
        batches_of(source, BATCH, 5, None, lanes=4).at(start), source, 5, frames, parts, skeleton=Skeleton(), draw=_drawn
    )


def _drawn(own: dict[str, Array], seed: int, number: int) -> dict[str, Array]:
    """Return noise that must be that of each clip in each batch, and of as many frames as are shown."""
    return draw_noise(own["sample"], own["variant"], seed, number, own["motion"].shape[1], 0.5, 2)


def clips(feed: Feed, steps: int, workers: int = 0) -> dict[str, torch.Tensor]:
    made = list(islice(Loader(feed, workers, pinned=False, log=pytest.fail), steps * feed.parts))
    return {name: torch.cat([part[name] for part in made]) for name in ARRAYS}


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, values in one.items():
        assert torch.equal(values, other[name]), name


@pytest.mark.parametrize("frames", [None, 9])
def test_steps_do_not_depend_on_micro_batches(material: TrainingData, frames: int | None) -> None:
    whole = clips(feed(material, frames=frames), 4)
    assert len(set(zip(whole["sample"].tolist(), whole["variant"].tolist(), strict=True))) == 4 * BATCH
    assert_equal(whole, clips(feed(material, parts=4, frames=frames), 4))
    later = clips(feed(material, 2, parts=3, frames=frames), 2)
    assert_equal({name: values[2 * BATCH :] for name, values in whole.items()}, later)


@pytest.mark.slow
def test_steps_do_not_depend_on_loading_processes(material: TrainingData) -> None:
    assert_equal(clips(feed(material, parts=2), 3), clips(feed(material, parts=2), 3, workers=2))


def test_crops_lie_within_the_clip(material: TrainingData) -> None:
    whole, cut = clips(feed(material), 3), clips(feed(material, frames=9), 3)
    for i in range(3 * BATCH):
        length = int(whole["length"][i])
        places = [
            first
            for first in range(length - 8)
            if torch.equal(whole["motion"][i, first : first + 9], cut["motion"][i])
            and torch.equal(whole["action"][i, first : first + 9], cut["action"][i])
        ]
        assert places


def test_a_config_gives_the_same_steps_as_its_dataset(material: TrainingData, dataset: Path) -> None:
    from posegen.config.schema import Config
    from posegen.foundations.validation import validated
    from posegen.training.data.sources import ClipSource, config_origin

    assert material.dataset is not None
    config = validated(Config, material.dataset.header.config, lambda key: key)
    cached = material.source(TASK.recipes, "training")
    made = ClipSource(config_origin(config), TASK.recipes, material.view, cached.sample_numbers)
    one = Feed(batches_of(cached, BATCH, 5, None), cached, 5, None, 1, draw=_drawn)
    other = Feed(batches_of(made, BATCH, 5, None), made, 5, None, 1, draw=_drawn)
    assert_equal(clips(one, 2), clips(other, 2))


def test_features_are_cached_and_computed_again_when_damaged(material: TrainingData) -> None:
    computed: list[int] = []
    material.prepare(TASK.recipes, lambda done, total: computed.append(done))
    assert not computed
    assert material.dataset is not None
    receipt = next((material.dataset.path / FOLDER).glob("motion-*/00000.json"))
    values = receipt.with_suffix(".npy")
    before = values.read_bytes()
    receipt.unlink()
    material.prepare(TASK.recipes, lambda done, total: computed.append(done))
    assert computed == [0, 1]
    assert values.read_bytes() == before


def loading_processes() -> list[psutil.Process]:
    """Those behind the server that they are forked from."""
    return [process for child in psutil.Process().children() for process in child.children()]


@pytest.mark.slow
def test_a_killed_process_changes_no_batch(material: TrainingData) -> None:
    parts = 2 * STEPS
    expected = list(islice(Loader(feed(material, 2, parts=2), 0, pinned=False, log=pytest.fail), parts))
    said: list[str] = []
    found = []
    for part in islice(Loader(feed(material, 2, parts=2), 2, pinned=False, log=said.append), parts):
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
    one = next(iter(Loader(feed(material, 2, parts=2), 0, pinned=False, log=pytest.fail)))
    said: list[str] = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def say(text: str) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        said.append(text)

    # No room for the pipes that they would be spoken to by.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        other = next(iter(Loader(feed(material, 2, parts=2), 1, pinned=False, log=say)))
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
