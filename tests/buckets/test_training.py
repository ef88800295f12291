"""Training on a dataset in a bucket gives the weights that training on the same dataset in a folder gives, bit for bit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from posegen.cli.main import main
from posegen.dataset.storage.bucket import BucketPath
from posegen.embedding.models import HASHING
from tests.buckets.servers import Proxy
from tests.faults.truth import copy
from tests.training import tiny

pytestmark = pytest.mark.slow

SETTINGS = [part for setting in (*tiny.SETTINGS, "machine.micro_batch=null") for part in ("--set", setting)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with embedded captions; read-only."""
    path = tiny.make(tmp_path_factory.mktemp("trained") / "dataset", 300, "population.persons=100", "store.shard=40")
    assert main(["embed", str(path), "--encoder", HASHING, "--no-cache", "--quiet"]) == 0
    return path


@pytest.mark.parametrize("task", ["action", "retrieval", "identity"])
def test_weights_equal_those_of_a_folder(
    task: str, folder: Path, proxy: Proxy, bucket: BucketPath, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("peft")
    path, local = copy(folder, bucket / "dataset"), copy(folder, tmp_path / "dataset")
    runs = [tmp_path / name for name in ("of-bucket", "of-folder", "again")]
    for source, run in zip((path, local, path), runs, strict=True):
        proxy.take_log()
        assert main(["train", str(source), "--task", task, *SETTINGS, "--out", str(run), "--json", "--quiet"]) == 0
        assert json.loads(capsys.readouterr().out)["measures"]["clips"] > 0
        requested = [line[1] for line in proxy.take_log() if line[0] == "GET"]
        assert any("/joints/c." in name for name in requested) == (run == runs[0])  # the features of the second run are kept
        assert not any("/vectors.zarr/" in name for name in requested) or run == runs[0]
    # Hashes: pytest would take an hour to show how the bytes differ.
    weights = [hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest() for run in runs]
    assert weights[0] == weights[1] == weights[2]
    if task == "action":
        for source, name in ((path, "of-bucket.parquet"), (local, "of-folder.parquet")):
            assert main(["predict", str(runs[0]), str(source), "-o", str(tmp_path / name), "--quiet"]) == 0
        assert pq.read_table(tmp_path / "of-bucket.parquet").equals(pq.read_table(tmp_path / "of-folder.parquet"))
    assert not any("training" in name or "lock" in name for name in path.list())  # nothing was written beside the dataset
