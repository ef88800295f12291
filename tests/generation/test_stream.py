"""Batches of a stream are identical to those of the dataset of its config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.config.schema import Config
from posegen.foundations.errors import PosegenError, UsageError
from tests.batches.test_batches import assert_same

SAMPLES = 7
SETTINGS = {"frames": 50, "store.chunk": 3, "store.shard": 6, "story.actors.max": 2}
FIELDS = ("joints", "action", "contact", "velocity", "captions", "length", "theme", "actors", "parameters")


@pytest.fixture(scope="module")
def config() -> Config:
    fields = "[joints, action, contact, velocity, quality]"
    return posegen.load_config("smoke", [*(f"{key}={value}" for key, value in SETTINGS.items()), f"store.fields={fields}"])


@pytest.fixture(scope="module")
def dataset(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("stream") / "dataset"
    posegen.generate(config, samples=SAMPLES, workers=1, out=path)
    return posegen.open(path)


@pytest.mark.parametrize(
    "options",
    [
        {"fields": FIELDS, "window": 20, "epochs": 2},
        {"variants": ["mirror", "base"], "lanes": 2, "threads": 0},
        {"fields": "captions", "drop_last": True, "start": 1},
    ],
)
def test_batches_equal_those_of_the_dataset(config: Config, dataset: Any, options: dict[str, Any]) -> None:
    made = list(posegen.stream(config, samples=SAMPLES).batches(8, seed=11, **options))
    read = list(dataset.batches(8, seed=11, **options))
    assert len(made) == len(read) > 1
    for one, other in zip(made, read, strict=True):
        assert_same(one, other)


def test_derived_fields_are_available_when_complete(config: Config, dataset: Any, tmp_path: Path) -> None:
    bare = config.model_copy(update={"store": config.store.model_copy(update={"fields": ("joints", "action", "contact")})})
    path = tmp_path / "dataset"
    posegen.generate(bare, samples=SAMPLES, workers=1, out=path)
    posegen.derive(path, ["velocity"], workers=1)
    options: dict[str, Any] = {"seed": 3, "fields": ["velocity", "acceleration"]}
    for one, other in zip(posegen.open(path).batches(8, **options), dataset.batches(8, **options), strict=True):
        assert_same(one, other)
    (path / "receipts/velocity/00001.json").unlink()
    incomplete = posegen.open(path)
    assert list(incomplete.batches(8).batch(0).values) == ["sample", "variant", *incomplete.fields, "captions", "length"]
    with pytest.raises(PosegenError, match="shard 1: velocity is not derived yet"):
        list(incomplete.batches(8, **options))


@pytest.mark.parametrize("samples", [0, -1, 2.5, True, "7"])
def test_the_number_of_samples_is_checked(config: Config, samples: Any) -> None:
    with pytest.raises(UsageError, match="samples must be a positive integer"):
        posegen.stream(config, samples=samples)


def test_unknown_names_are_refused(config: Config) -> None:
    stream = posegen.stream(config, samples=SAMPLES)
    with pytest.raises(UsageError, match=r"config .* has no field 'rotation'"):
        stream.batches(8, fields="rotation")
    with pytest.raises(UsageError, match="no variant 'fast'"):
        stream.batches(8, variants="fast")
