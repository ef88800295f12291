from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import posegen
from posegen.config.load import load_config
from posegen.config.schema import Config
from posegen.dataset.storage.address import AnyPath
from tests.faults.forks import SETTINGS, Forks

MUCH = 2**30


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    server = Forks(tmp_path_factory.mktemp("forks"))
    yield server
    server.close()


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory if possible: killing a process is no power failure, so fsync does not matter here."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < MUCH:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def config() -> Config:
    """A config with shards of 4 samples."""
    return load_config("smoke", SETTINGS)


@pytest.fixture(scope="session")
def undisturbed(config: Config, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Datasets of undisturbed runs, by their number of samples. Read-only."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for samples in (10, 18):
        posegen.generate(config, samples=samples, workers=1, out=folder / str(samples))
    return {samples: folder / str(samples) for samples in (10, 18)}


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest) -> AnyPath:
    """Where a dataset is made: the same faults are survived in a folder and in a bucket."""
    found: AnyPath = request.getfixturevalue({"folder": "scratch"}.get(request.param, request.param))
    return found / "dataset"
