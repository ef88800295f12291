"""Shared by tests, doctests and benchmarks: one folder of compiled kernels, and temporary folders for examples."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiled import FOLDER

ROOT = Path(__file__).parent

# Imports make millions of objects that stay. Python searched them for cycles for a third of the time of collection.
gc.disable()
# Datasets that are generated at different times have equal bytes.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
# All processes of the tests share compiled kernels.
os.environ.setdefault("POSEGEN_KERNEL_CACHE", str(FOLDER))
# Threads of torch that wait for each other sleep: they would take the cores from other workers of pytest-xdist.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Nothing is left in the user's own cache.
os.environ.setdefault("POSEGEN_EMBEDDING_CACHE", str(FOLDER.parent / "embeddings"))


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once before workers of pytest-xdist start, because numba's caches are not locked."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None) or config.getoption("collectonly"):
        return
    gc.enable()  # this process collects nothing
    subprocess.run([sys.executable, "-m", "tests.compiled"], cwd=ROOT, check=True)


def pytest_collection_finish() -> None:
    """Search for cycles again, among the objects of tests only."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request: pytest.FixtureRequest) -> None:
    """Run the examples of docstrings in a temporary folder: some of them generate datasets."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
