"""Hypothesis profiles, the order of tests, and shared fixtures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from posegen.dataset.storage.bucket import BucketPath
from tests.buckets.servers import Server
from tests.running import Programs

# No deadline: compilation and shared cores make the duration of an example unpredictable.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# CI uses the same examples every time, so that a failure is caused by the change.
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files in which all tests are slow where slow tests are left out: their packages take seconds to load."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return bool(re.search(r"^pytestmark = .*mark\.slow", collection_path.read_text("utf-8"), re.MULTILINE)) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the longest tests, so that no worker waits for another at the end: other processors, then training runs."""
    training = {item.path for item in items if "programs" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: ("test_determinism" not in item.nodeid, item.path not in training))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of object storage."""
    pytest.importorskip("moto")
    found = Server.start()
    yield found
    found.stop()


@pytest.fixture
def bucket(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BucketPath:
    """A folder of a new bucket, and empty caches of what is read; a fixture `proxy` that comes first is used."""
    name = server.make_bucket()
    for variable, value in server.environment(os.environ.get("AWS_ENDPOINT_URL", "")).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("POSEGEN_READ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("POSEGEN_FEATURE_CACHE", str(tmp_path / "features"))
    return BucketPath(f"s3://{name}", "of-tests")


@dataclass(frozen=True)
class Clip:
    """A mocap clip: its label, and joints float32 [frame, joint, axis] at 25 FPS."""

    label: str
    joints: NDArray[np.float32]


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """Runs training modules in processes forked from one that has imported torch; the first run starts it."""
    found = Programs()
    yield found
    found.close()


@pytest.fixture(scope="session")
def reference() -> list[Clip]:
    """Mocap to compare with, from the folder in POSEGEN_REFERENCE."""
    folder = os.environ.get("POSEGEN_REFERENCE")
    if not folder:
        pytest.skip("needs mocap: set POSEGEN_REFERENCE to its folder")
    clips = []
    for file in sorted(Path(folder).glob("*.npz")):
        with np.load(file, allow_pickle=False) as archive:
            parts = np.split(archive["joints"], archive["offsets"][1:-1])
            clips += [Clip(str(label), joints) for label, joints in zip(archive["classes"], parts, strict=True)]
    return clips
