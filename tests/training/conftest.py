"""One tiny dataset for all tests of training; without torch they are skipped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.training import tiny

# Asked for without importing them: Lightning alone takes seconds.
if not all(find_spec(name) for name in ("torch", "lightning", "safetensors")):
    pytest.skip("the group train is not installed", allow_module_level=True)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Threads of several workers of pytest-xdist would wait for one another."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make(tmp_path_factory.mktemp("tiny") / "dataset")
