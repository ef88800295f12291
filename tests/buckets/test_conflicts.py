"""Runs that replace or remove what another run has written meanwhile in a bucket, which has no locks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from posegen.dataset.header import load_header
from posegen.dataset.layout import HEADER_FILE
from posegen.dataset.overlays import commit_part, intact_receipt
from posegen.dataset.parts import PartsRecord, read_parts, record_parts
from posegen.dataset.receipts import complete_shards, load_receipt
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.storage.storage import ConflictError
from posegen.dataset.verify import verify
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import Progress
from posegen.generation.finish import finish
from tests.buckets.servers import Faults, Proxy, Server
from tests.dataset.tiny import commit, fill, make_arrays, make_header, make_table

LAST, SHORTER, LONGER = 2, 14, 18
"""The last shard of 14 samples has 2 of them; of 18, it has 6."""


class LargerJob(Progress):
    """Begins a job of more samples when `finish` has read how many there are to be."""

    def __init__(self, path: BucketPath, samples: int) -> None:
        self._path, self._samples = path, samples

    def log(self, message: str) -> None:
        assert "reading the receipts" in message
        record_parts(self._path, self._samples, 3, "another-run")


def test_the_record_of_a_larger_job_that_began_meanwhile_stays(dataset: BucketPath) -> None:
    record_parts(dataset, SHORTER, 2, "a-run")
    assert finish(dataset, LargerJob(dataset, LONGER)).missing == []
    assert read_parts(dataset) == PartsRecord(LONGER, 3)
    assert finish(dataset).target == LONGER
    for samples in (LONGER, 15):
        assert record_parts(dataset, samples, 2, "a-run") == LONGER


def test_a_damaged_record_is_not_removed(dataset: BucketPath) -> None:
    (dataset / "parts.json").write(b"damaged")
    with pytest.raises(PosegenError, match=r"parts\.json: is not a document"):
        finish(dataset)
    assert (dataset / "parts.json").read() == b"damaged"


def test_of_jobs_that_begin_at_the_same_time_the_larger_number_counts(dataset: BucketPath) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda samples: record_parts(dataset, samples, 2, "a-run"), range(20, 26)))
    assert read_parts(dataset) == PartsRecord(25, 2)


def test_a_shorter_run_does_not_replace_a_longer_last_shard(dataset: BucketPath) -> None:
    header, receipt = load_header(dataset), dataset / "receipts/00002.json"
    old = receipt.read()
    with dataset.writer(receipt=receipt) as shorter:
        shorter.write(dataset / "motion.zarr/joints/c.2.0.0.0", [b"of the shorter run"])
        commit(dataset, header, LAST, LONGER)
        with pytest.raises(ConflictError, match="another run has written it meanwhile"):
            shorter.commit(old)
    publish(dataset, header, LONGER)
    assert load_receipt(dataset, header, LAST).count == 6
    assert verify(dataset) == []


@pytest.mark.slow
def test_a_longer_last_shard_stays_once_it_is_stored(dataset: BucketPath) -> None:
    """Runs store it longer and shorter again and again; a run that has stored it longer finds it so."""
    header = load_header(dataset)

    def store(writer: int) -> int:
        stop = LONGER if writer % 2 else SHORTER
        commit_shard(dataset, header, LAST, make_arrays(12, stop), make_table(12, stop), f"run-{writer}", writer / 8)
        return complete_shards(dataset, header).get(LAST, 0) if writer % 2 else 6

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(store, range(16))) == {6}
    publish(dataset, header, LONGER)
    assert verify(dataset) == []


def test_a_request_that_removed_a_receipt_and_is_repeated_late_removes_no_other(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(server.address, tmp_path / "log.txt", Faults(repeated="^(POST|DELETE) |PUT .*/receipts/00001")) as proxy:
        for name, value in server.environment(proxy.address).items():
            monkeypatch.setenv(name, value)
        path = BucketPath(f"s3://{server.make_bucket()}", "of-tests")
        header = fill(path, SHORTER)
        (path / "sequences/part-00001.parquet").remove()
        assert 1 not in complete_shards(path, header)
        commit(path, header, 1, SHORTER, "another-run")
        assert complete_shards(path, header)[1] == 6
        assert {line[0] for line in proxy.take_log()} == {"GET", "HEAD", "PUT"}


@pytest.mark.slow
@pytest.mark.parametrize("requests", [1, 5, 10, 15])
def test_a_finish_that_is_terminated_ends_with_one_line(
    dataset: BucketPath, server: Server, tmp_path: Path, requests: int
) -> None:
    record_parts(dataset, LONGER, 2, "a-run")
    log = tmp_path / "slow.txt"
    proxy = Proxy(server.address, log, Faults(delay=0.2))
    command = [sys.executable, "-m", "posegen", "finish", str(dataset)]
    environment = os.environ | server.environment(proxy.address)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            while len(log.read_text().splitlines()) < requests and run.poll() is None:
                time.sleep(0.01)
            assert run.poll() is None
            run.send_signal(signal.SIGTERM)
            messages = run.communicate(timeout=60)[1]
        finally:
            run.kill()
            proxy.stop()
    assert run.returncode == 130, messages
    assert messages.endswith("posegen: interrupted\n")
    assert "Traceback" not in messages
    assert verify(dataset) == []


def test_another_dataset_that_is_created_at_the_same_time_is_refused_with_a_way_on(bucket: BucketPath) -> None:
    path = bucket / "made"
    (path / HEADER_FILE).write(make_header(seed=8).to_bytes())
    with pytest.raises(UsageError, match=r"another config or seed there at this moment\. Choose another address with --out"):
        create(path, make_header())


T = TypeVar("T")

WRITERS, ROUNDS = 6, 8


def at_the_same_time(store: Callable[[int], T]) -> list[T]:
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(store, [*range(WRITERS)] * ROUNDS))


@pytest.mark.slow
def test_writers_of_a_part_all_succeed(bucket: BucketPath) -> None:
    """Also if one has removed the receipt, to store the part, when another looks for what it is in conflict with."""
    folder, numbers, files = bucket / "embeddings/tiny", {"embedded": 1, "known": 0}, {"vectors/3": [b"one"]}
    stored = at_the_same_time(
        lambda writer: commit_part(folder, "vectors", 3, 1, "of a text", numbers, files, seconds=writer / 8)
    )
    assert len({receipt.seconds for receipt in stored}) > 1
    assert intact_receipt(folder, "vectors", 3) in stored


@pytest.mark.slow
def test_writers_of_different_parts_in_one_place_are_in_conflict(bucket: BucketPath) -> None:
    def store(writer: int) -> bool:
        numbers, files = {"embedded": 1, "known": 0}, {"vectors/3": [b"%d" % writer]}
        try:
            commit_part(bucket / "embeddings/tiny", "vectors", 3, 1, f"of text {writer}", numbers, files)
        except ConflictError:
            return False
        return True

    assert {*at_the_same_time(store)} == {False, True}


@pytest.mark.slow
def test_writers_of_a_shard_all_succeed(dataset: BucketPath) -> None:
    header, arrays, table = load_header(dataset), make_arrays(6, 12), make_table(6, 12)

    def store(writer: int) -> dict[str, str]:
        if writer == 0:
            (dataset / "receipts/00001.json").remove()
        return commit_shard(dataset, header, 1, arrays, table, f"run-{writer}", seconds=writer / 8).content

    stored = at_the_same_time(store)
    assert all(content == stored[0] for content in stored)
    commit_shard(dataset, header, 1, arrays, table, "last")
    assert verify(dataset) == []
