"""The cache of features: what is in it is not computed again, and a manifest says so without receipts."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from posegen.dataset import manifest
from posegen.dataset.layout import receipt_path
from posegen.dataset.lock import locked
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import unchecked_files, verify
from posegen.foundations.errors import PosegenError
from posegen.training.data.feature_cache import features_folder, fill_cache
from posegen.training.data.features import ACTION, LENGTH
from posegen.training.data.sources import view_of
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
    assert (verify(path), unchecked_files(path)) == ([], [])
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
@pytest.mark.parametrize("other_computes", [True, False])
def test_a_training_waits_for_another_one_that_fills_the_cache(tmp_path: Path, other_computes: bool) -> None:
    path, filled = (tiny.make(tmp_path / name, 65, *SMALL) for name in ("dataset", "filled"))
    fill(filled)
    dataset = open_dataset(path)
    features_folder(dataset).mkdir()
    reports: list[tuple[int, int]] = []
    with ExitStack() as other:
        other.enter_context(locked(features_folder(dataset)))

        def report(done: int, total: int) -> None:
            reports.append((done, total))
            if len(reports) == 1 and other_computes:
                shutil.copytree(filled / "training", path / "training", dirs_exist_ok=True)
            other.close()

        computed = fill_cache(dataset, (LENGTH, ACTION), view_of(dataset, 4), report)
    assert computed == (0 if other_computes else 7)
    assert (reports[0], reports[-1]) == ((0, 7), (7, 7))
