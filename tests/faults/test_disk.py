"""A disk that fails, fills up or is read-only: no shard counts as complete unless it is on disk, and the error is reported.

A bucket has no disk that could be filled, synced or mounted. Its counterpart is a server that refuses requests for good: a
quota is used up, or the keys may only read. One that fails for a while is tested in ``tests/buckets``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import posegen
from posegen.config.schema import Config
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.bucket import BucketPath
from tests.buckets.servers import Faults, Proxy, Server
from tests.faults.forks import SETTINGS, Finished, Forks
from tests.faults.injection import needs_compiler
from tests.faults.steps import fail_at
from tests.faults.truth import assert_same, content_of, copy, files_of

pytestmark = pytest.mark.slow

PART = "part-00001.parquet"


@needs_compiler
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("EIO:syncing@c.1.0.0.0.0.0", "shard 1 could not be stored (Input/output error)"),
        (f"EIO:syncing@{PART}", "shard 1 could not be stored (Input/output error)"),
        ("EIO:syncing@00001.json", "shard 1 could not be stored (Input/output error)"),
        ("EIO:syncing_folder@sequences#2", "shard 1 could not be stored (Input/output error)"),
        ("EIO:syncing_folder@receipts#2", "shard 1 could not be stored (Input/output error)"),
        ("EIO:placing@00001.json", "shard 1 could not be stored (Input/output error)"),
        (f"ENOSPC:writing@{PART}", "shard 1 could not be stored (No space left on device)"),
        (f"EDQUOT:writing@{PART}", "shard 1 could not be stored (Disk quota exceeded)"),
    ],
)
def test_a_shard_that_may_not_be_on_the_disk_gets_no_receipt(
    fault: str, message: str, config: Config, undisturbed: dict[int, Path], forks: Forks, scratch: Path
) -> None:
    path = scratch / "dataset"
    ended = forks.generate(path, "--samples", "10", **fail_at(fault))
    assert ended.code == 1
    assert message in ended.printed
    assert "run the same command again" in ended.printed
    assert "Traceback" not in ended.printed
    assert [name for name in files_of(path) if name.startswith(("receipts", "."))] == ["receipts/00000.json"]
    assert content_of(path) == content_of(undisturbed[10])[:4], "what is complete can be read"
    assert posegen.generate(config, samples=10, workers=1, out=path).shards_made == 2
    assert_same(path, undisturbed[10])


@needs_compiler
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("ENOSPC:writing@dataset.json#2", "the disk is full"),
        ("ENOSPC:writing@zarr.json#5", "the disk is full"),
        ("EIO:syncing@dataset.json#2", "Input/output error"),
        ("EIO:syncing_folder@joints#5", "Input/output error"),
        ("ENOSPC:writing@dataset.json#1", "the disk is full"),
        ("EIO:syncing@zarr.json#1", "Input/output error"),
    ],
)
def test_publishing_can_fail(
    fault: str, message: str, config: Config, undisturbed: dict[int, Path], forks: Forks, scratch: Path
) -> None:
    path = scratch / "dataset"
    ended = forks.generate(path, "--samples", "10", **fail_at(fault))
    assert (ended.code, ended.printed.count("\n")) == (1, 1)
    assert message in ended.printed
    assert "run the same command again" in ended.printed
    posegen.generate(config, samples=10, workers=1, out=path)
    assert_same(path, undisturbed[10])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk in memory with 80 MB: a run requires 64 MB of free space before it starts."""
    scratch = tmp_path / "disk"
    scratch.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(scratch)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True, text=True, check=False)
    if not mounted or mounted.returncode:
        pytest.skip(f"this user may not mount a disk in memory: {mounted.stderr.strip() if mounted else 'no mount command'}")
    yield scratch
    subprocess.run(["umount", str(scratch)], check=True)


def fill_up_later(path: Path, filler: Path) -> None:
    """Fill the remaining space once two shards are complete."""
    limit = time.monotonic() + 60
    while not (path / "receipts" / "00001.json").exists() and time.monotonic() < limit:
        time.sleep(0.002)
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 2**16):
                pass
        except OSError:
            return


def test_a_full_disk_keeps_complete_shards(
    small_disk: Path, config: Config, undisturbed: dict[int, Path], forks: Forks
) -> None:
    path, filler = small_disk / "dataset", small_disk / "filler"
    thread = threading.Thread(target=fill_up_later, args=(path, filler))
    thread.start()
    ended = forks.generate(path, "--samples", "18", POSEGEN_FAULT="sleep:seconds=0.1")
    thread.join()
    assert ended.code == 1
    assert "the disk is full" in ended.printed or "No space left on device" in ended.printed
    assert "free or check the disk" in ended.printed or "free some space" in ended.printed.lower()
    assert not [name for name in files_of(path) if "temporary" in name or "lock" in name]
    complete = [path / name for name in files_of(path) if name.startswith("receipts")]
    assert 2 <= len(complete) < 5
    times = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in complete}
    filler.unlink()
    assert posegen.generate(config, samples=18, workers=1, out=path).shards_made == 5 - len(complete)
    assert {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in complete} == times
    assert_same(path, undisturbed[18])


def test_a_read_only_folder_is_refused(small_disk: Path, undisturbed: dict[int, Path], forks: Forks) -> None:
    path = copy(undisturbed[10], small_disk / "dataset")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for folder in (path, small_disk / "new", small_disk / "deep" / "new"):
        ended = forks.generate(folder, "--samples", "18")
        assert (ended.code, ended.printed.count("\n")) == (2, 1)
        assert "Choose a writable folder" in ended.printed
    assert files_of(small_disk) == [f"dataset/{name}" for name in files_of(undisturbed[10])]
    assert content_of(path) == content_of(undisturbed[10])


def state(file: AnyPath) -> object:
    """Return what changes when a file is stored again."""
    if isinstance(file, BucketPath):
        return file.find()
    found = file.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def test_an_extension_keeps_complete_shards(undisturbed: dict[int, Path], forks: Forks, place: AnyPath) -> None:
    path = copy(undisturbed[10], place)
    kept = [path / name for name in files_of(path) if not name.endswith("zarr.json") and ".2" not in name and "2." not in name]
    kept.remove(path / "dataset.json")
    assert len(kept) == 2 * 5 + 2  # files of two shards, the copy of the header, and Croissant metadata
    before = [state(file) for file in kept]
    time.sleep(1)  # servers state times in seconds
    assert forks.generate(path, "--samples", "18").code == 0
    assert [state(file) for file in kept] == before
    assert_same(path, undisturbed[18])


Refuse = Callable[..., Finished]
"""Runs `posegen generate` on a bucket whose server refuses the requests that match a regular expression."""


@pytest.fixture
def refuse(server: Server, forks: Forks, tmp_path: Path) -> Refuse:
    def generate(path: BucketPath, samples: int, refused: str) -> Finished:
        with Proxy(server.address, tmp_path / "log.txt", Faults(refused=refused)) as proxy:
            return forks.generate(path, "--samples", str(samples), AWS_ENDPOINT_URL=proxy.address)

    return generate


@pytest.mark.parametrize("refused", [r"c\.1\.0\.0\.0\.0\.0", PART, r"receipts/00001\.json"])
def test_a_shard_that_a_server_refuses_gets_no_receipt(
    refused: str, config: Config, undisturbed: dict[int, Path], refuse: Refuse, bucket: BucketPath
) -> None:
    path = bucket / "dataset"
    ended = refuse(path, 10, f"PUT .*{refused}$")
    assert ended.code == 1
    assert re.search(f"{refused}: .*lacked the necessary privileges.*run the same command again", ended.printed)
    assert "Traceback" not in ended.printed
    assert [name for name in files_of(path) if name.startswith("receipts")] == ["receipts/00000.json"]
    assert posegen.finish(path).samples == 4
    assert content_of(path) == content_of(undisturbed[10])[:4], "what is complete can be read"
    assert posegen.generate(config, samples=10, workers=1, out=path).shards_made == 2
    assert_same(path, undisturbed[10])


@pytest.mark.parametrize("refused", [r"dataset\.json", r"joints/zarr\.json"])
def test_a_server_can_refuse_to_publish(
    refused: str, config: Config, undisturbed: dict[int, Path], refuse: Refuse, bucket: BucketPath
) -> None:
    path = copy(undisturbed[10], bucket / "dataset")
    ended = refuse(path, 18, f"PUT .*{refused}$")
    assert (ended.code, ended.printed.count("\n")) == (1, 1)
    assert "run the same command again" in ended.printed
    posegen.generate(config, samples=18, workers=1, out=path)
    assert_same(path, undisturbed[18])


def test_keys_that_may_only_read_change_nothing(undisturbed: dict[int, Path], refuse: Refuse, bucket: BucketPath) -> None:
    path = copy(undisturbed[10], bucket / "dataset")
    for folder in (path, bucket / "new"):
        ended = refuse(folder, 18, "^(PUT|POST|DELETE) ")
        assert (ended.code, ended.printed.count("\n")) == (1, 1)
        assert "Check the bucket, its region and the keys in the environment" in ended.printed
    assert files_of(bucket) == [f"dataset/{name}" for name in files_of(undisturbed[10])]
    assert content_of(path) == content_of(undisturbed[10])


@needs_compiler
@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("embed {path} --encoder hashing-for-tests --no-cache --workers 1 --quiet", "embeddings.json"),
        ("embed {path} --encoder hashing-for-tests --no-cache --workers 1 --quiet", "00000.json"),
        ("report {path} --samples 2 --no-evaluation -o {folder}/report.html --quiet", "report.html"),
        ("verify {path} --repair --quiet", "00001.json"),
        ("verify {path} --repair --quiet", "zarr.json"),
        ("derive {path} --add velocity --workers 1 --quiet", "00001.json"),
        ("export {path} --to bvh -o {folder}/bvh --workers 1 --quiet", "complete"),
        ("train {path} --task action --preset quick {settings} --out {folder}/run --quiet", "00000004.safetensors"),
        ("train {path} --task action --preset quick {settings} --out {folder}/run --quiet", "result.json"),
        ("mix {path} -o {folder}/mix.json --quiet", "mix.json"),
    ],
)
def test_every_command_names_the_path_of_a_full_disk_and_resumes(
    command: str, file: str, undisturbed: dict[int, Path], forks: Forks, scratch: Path
) -> None:
    path = copy(undisturbed[10], scratch / "dataset")
    if "--repair" in command:
        (path / "sequences/part-00001.parquet").write_bytes(b"damaged")
    settings = " ".join(f"--set {setting}" for setting in ("steps=4", "batch=4", "log=[]", "checks.times=1", "data.stride=4"))
    words = command.format(path=path, folder=scratch, settings=settings).split()
    ended = forks.run(*words, **fail_at(f"ENOSPC:writing@{file}"))
    assert ended.code == 1, ended.printed
    assert "Traceback" not in ended.printed
    *_, last = ended.printed.splitlines()
    assert file in last or "shard 1 could not be stored (No space left on device)" in last
    assert "are free. What is complete is kept; free some space" in last or "free or check the disk" in last
    assert last.endswith("run the same command again")
    assert forks.run(*words).code == 0
    assert posegen.generate(posegen.load_config("smoke", SETTINGS), samples=10, workers=1, out=path).nothing_to_do
