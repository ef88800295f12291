"""The cache of features is computed once, a manifest replaces its receipts, and what does not fit the disk is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from posegen.dataset import manifest
from posegen.dataset.layout import receipt_path
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import find_problems, verify
from posegen.foundations.errors import PosegenError, UsageError
from posegen.training.data import feature_cache
from posegen.training.data.feature_cache import features_folder, fill_cache
from posegen.training.data.features import ACTION, LENGTH
from posegen.training.data.sources import view_of
from posegen.training.setup import Request
from posegen.training.train import train
from tests.training import tiny

SMALL = ("store.shard=10", "store.chunk=10")


def fill(path: Path) -> int:
    dataset = open_dataset(path)
    return fill_cache(dataset, (LENGTH, ACTION), view_of(dataset, 4), lambda done, total: None)


def test_receipts_of_a_manifest_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "LEAST_SHARDS", 2)
    path = tiny.make(tmp_path / "dataset", 65, *SMALL)
    assert [fill(path), fill(path)] == [7, 0]
    receipt = path / receipt_path(3)
    content = receipt.read_bytes()
    receipt.write_bytes(b"no receipt")
    assert fill(path) == 0
    (path / "training/action-1-4/manifest.json").write_bytes(b"damaged")
    with pytest.raises(PosegenError, match="shard 3"):
        fill(path)
    receipt.write_bytes(content)
    assert fill(path) == 0
    tiny.make(path, 80, *SMALL)
    assert [fill(path), fill(path)] == [2, 0]  # the last one was partly filled


def test_verify_checks_every_byte_of_the_cache(tmp_path: Path) -> None:
    path = tiny.make(tmp_path / "dataset", 15, *SMALL)
    fill(path)
    unchecked: list[str] = []
    assert (list(find_problems(path, unchecked=unchecked)), unchecked) == ([], [])
    for name in ("training/action-1-4/00001.npy", "training/action-1-4/00001.json"):
        for at in (20, -1):  # an array's header, too
            intact = (path / name).read_bytes()
            damaged = bytearray(intact)
            damaged[at] ^= 1
            (path / name).write_bytes(damaged)
            (problem,) = verify(path)
            assert problem.file == name
            assert problem.what.startswith("is damaged")
            assert "run the same `posegen train` command again" in problem.what
            (path / name).write_bytes(intact)


@pytest.mark.slow
def test_a_training_waits_for_another_one_that_fills_the_cache(tmp_path: Path) -> None:
    path = tiny.make(tmp_path / "dataset", 65, *SMALL)
    dataset, counts = open_dataset(path), list[int]()
    threads = [Thread(target=lambda: counts.append(fill(path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [0, 7]
    assert all((features_folder(dataset) / "action-1-4" / f"{shard:05d}.npy").is_file() for shard in range(7))


def test_features_that_do_not_fit_the_disk_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny.make(tmp_path / "dataset", 15, *SMALL)
    monkeypatch.setattr(feature_cache, "free_disk", lambda folder: 1000)
    # 15 samples of 5 variants and 25 frames: a length of 4 bytes, and an action of 2 bytes in each frame.
    with pytest.raises(UsageError, match=r"training: the training needs 4\.05 kB of disk space, and 1 kB are free"):
        fill(path)
    assert not list((path / "training").glob("*/"))
    monkeypatch.setattr(feature_cache, "free_disk", lambda folder: 10_000)
    assert fill(path) == 2


@pytest.mark.slow
def test_a_run_that_does_not_fit_the_disk_is_refused(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request(str(dataset), "action", "quick", tiny.settings(), tmp_path / "run")
    estimate = train(replace(request, only_estimate=True)).estimate
    assert estimate is not None
    assert 4 * 4 * estimate.parameters < estimate.disk_bytes
    monkeypatch.setattr(feature_cache, "free_disk", lambda folder: estimate.disk_bytes - 1)
    with pytest.raises(UsageError, match=r"run: the training needs .* of disk space"):
        train(request)
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(feature_cache, "free_disk", lambda folder: estimate.disk_bytes)
    assert train(request).steps == 12
    stored = sum(path.stat().st_size for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert stored < estimate.disk_bytes
