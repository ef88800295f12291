"""Batches in torch are the same for any number of workers, start method and first step."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.dataset.batches import Batches
from posegen.dataset.read import open_dataset
from posegen.foundations.errors import UsageError
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


def test_loading_in_this_process(batches: Batches) -> None:
    from posegen.dataset.batches.torch import TorchBatches, TorchLoader

    assert_same(TorchBatches(batches), batches)
    assert_same(TorchLoader(batches), batches)
    assert len(TorchLoader(batches)) == len(batches) == 28


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*", "ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [2, 3])
def test_forked_workers_open_files_themselves(batches: Batches, workers: int) -> None:
    from posegen.dataset.batches.torch import TorchLoader

    resumed = iter(batches)
    next(resumed)  # its threads run when workers start
    assert_same(TorchLoader(batches, workers, context="fork"), batches)
    assert next(resumed).number == batches.start + 1


@pytest.mark.slow
def test_workers_of_other_start_methods(batches: Batches) -> None:
    from posegen.dataset.batches.torch import TorchLoader

    loader = TorchLoader(batches, 1, context="spawn")
    resumed = iter(loader)
    first = list(islice(resumed, 5))
    state = loader.state_dict()
    assert_same([*first, *resumed], batches)
    assert state["next"] == 5
    again = TorchLoader(batches)
    again.load_state_dict(state)
    assert_same(again, batches.at(5))
    assert_same(again, batches)


def test_a_state_of_other_batches_is_refused(batches: Batches) -> None:
    from posegen.dataset.batches.torch import TorchLoader

    other = open_dataset(Path(batches.source.name)).batches(3, seed=5, fields=FIELDS, window=12, lanes=2)
    with pytest.raises(UsageError, match="seed is 5, here 4"):
        TorchLoader(batches).load_state_dict(TorchLoader(other).state_dict())
