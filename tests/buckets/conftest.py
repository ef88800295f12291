from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from posegen.dataset.storage.bucket import BucketPath
from tests.buckets.servers import Proxy, Server
from tests.dataset.tiny import fill


@pytest.fixture
def proxy(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy that counts requests; programs find it in the place of the server."""
    with Proxy(server.address, tmp_path / "log.txt") as found:
        for name, value in server.environment(found.address).items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def dataset(bucket: BucketPath) -> BucketPath:
    """A dataset of 14 samples in three shards, the last of which is not full."""
    path = bucket / "some/dataset"
    fill(path, 14)
    return path
