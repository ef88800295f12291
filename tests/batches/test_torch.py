"""Batches in torch are the same for any number of workers, start method and first step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from posegen.dataset.batches import Batches
from posegen.dataset.read import open_dataset
from tests.dataset.tiny import fill

torch = pytest.importorskip("torch")

FIELDS = ("joints", "action", "captions", "duration")


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Batches:
    path = tmp_path_factory.mktemp("torch") / "tiny"
    fill(path, 20)
    return open_dataset(path).batches(3, seed=4, fields=FIELDS, window=12, epochs=2, lanes=2)


def assert_same(loaded: Iterable[dict[str, Any]], expected: Batches) -> None:
    for tensors, batch in zip(loaded, expected, strict=True):
        assert tensors["number"] == batch.number
        assert tensors.keys() == {"number", *batch.values}
        for name, value in batch.values.items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(tensors[name].numpy(), value, equal_nan=value.dtype.kind == "f"), name
            else:
                assert tensors[name] == value, name


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*", "ignore:This DataLoader will create")
@pytest.mark.parametrize(
    ("workers", "context"), [(0, None), (2, "fork"), (3, "fork"), pytest.param(1, "spawn", marks=pytest.mark.slow)]
)
def test_workers_open_files_themselves(batches: Batches, workers: int, context: str | None) -> None:
    from posegen.dataset.batches.torch import TorchBatches

    started = iter(batches)
    next(started)  # its threads run when workers start
    loader = torch.utils.data.DataLoader(
        TorchBatches(batches), batch_size=None, num_workers=workers, multiprocessing_context=context
    )
    assert_same(loader, batches)
    assert len(loader) == len(batches) == 28
    assert_same(TorchBatches(batches.at(5)), batches.at(5))
    assert next(started).number == batches.start + 1
