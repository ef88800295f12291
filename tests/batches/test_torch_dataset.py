"""A plain loader of torch finds every sequence once, with the arrays and texts of the dataset, for any number of workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posegen
from posegen.dataset.splits import in_split
from posegen.foundations.errors import UsageError
from tests.once import generated_once

torch = pytest.importorskip("torch")

SAMPLES = 33


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated_once(tmp_path_factory, "torch-dataset", SAMPLES, "frames=30", "store={shard: 16, chunk: 8}")


def items(path: Path, workers: int, context: str | None = None, **options: Any) -> Iterator[dict[str, Any]]:
    from torch.utils.data import DataLoader

    from posegen.torch import Dataset, collate

    loader = DataLoader(
        Dataset(path, ["joints", "action", "captions", "length"], **options),
        batch_size=7,
        num_workers=workers,
        multiprocessing_context=context,
        collate_fn=collate,
    )
    for batch in loader:
        assert batch["joints"].dtype == torch.float32
        for row, (sample, variant) in enumerate(zip(batch["sample"].tolist(), batch["variant"], strict=True)):
            rest = {name: batch[name][row] for name in ("joints", "action", "captions", "length")}
            yield {"sample": sample, "variant": variant, **rest}


@pytest.mark.parametrize(("workers", "context"), [(0, None), (2, "fork"), pytest.param(1, "spawn", marks=pytest.mark.slow)])
def test_every_sequence_is_found_once(path: Path, workers: int, context: str | None) -> None:
    dataset = posegen.open(path)
    found = list(items(path, workers, context))
    variants = dataset.header.variants
    assert [(item["sample"], item["variant"]) for item in found] == [(s, v) for s in range(SAMPLES) for v in variants]
    for item in found[::9]:
        stored, number = dataset[item["sample"]], variants.index(item["variant"])
        np.testing.assert_array_equal(item["joints"], stored.joints[number])
        np.testing.assert_array_equal(item["action"], stored.action[number])
        row = stored.sequences[number]
        assert item["captions"] == [caption["text"] for caption in row["captions"]]
        assert item["length"] == row["length"]


def test_splits_and_variants_are_selected(path: Path) -> None:
    dataset = posegen.open(path)
    found = [(item["sample"], item["variant"]) for item in items(path, 0, split="test", variants=["mirror", "base"])]
    expected = in_split(dataset.header.seed, range(SAMPLES), "test").tolist()
    assert len(found) == 2 * len(expected) > 0
    assert sorted({sample for sample, _ in found}) == expected
    from posegen.torch import Dataset

    assert len(Dataset(dataset, split="validation")) == 5 * len(in_split(dataset.header.seed, range(SAMPLES), "validation"))
    one = Dataset(path, "joints", variants="base")
    again = pickle.loads(pickle.dumps(one))
    assert torch.equal(one[-1]["joints"], again[SAMPLES - 1]["joints"])
    with pytest.raises(IndexError, match="has no sequence 33, there are 33"):
        one[SAMPLES]
    with pytest.raises(UsageError, match="test"):
        Dataset(path, split="tests")
