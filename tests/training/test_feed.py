"""A step depends on its number, not on micro-batches, processes or the first step of the session."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch

from posegen.foundations.arrays import Array
from posegen.training.data.feature_cache import FOLDER
from posegen.training.data.feed import Feed, Loader, batches_of
from posegen.training.settings import Data, Skeleton
from posegen.training.setup import TrainingData, open_training_data
from posegen.training.tasks.action import TASK
from posegen.training.tasks.motion import draw_noise

BATCH = 12
ARRAYS = ("motion", "length", "action", "sample", "variant", "noise", "time", "has_caption")


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
