"""A tiny dataset for all tests of training, which are skipped without the packages of training."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.training import tiny

# Not imported here, since torch takes seconds.
if not all(find_spec(name) for name in ("torch", "peft", "safetensors")):
    pytest.skip("the extra train is not installed", allow_module_level=True)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Use one thread, since threads of several workers of pytest-xdist would wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_once(tmp_path_factory, "tiny")
