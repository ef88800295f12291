"""Verify reports nothing for intact datasets, and the shard, the file and the reason for every damage."""

from __future__ import annotations

import os
import re
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from posegen.dataset.croissant import CROISSANT_FILE
from posegen.dataset.header import load_header
from posegen.dataset.layout import COPY_FILE
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import StoredFile
from posegen.dataset.runs import current_run
from posegen.dataset.verify import Problem, expected_shards, find_problems, verify
from posegen.dataset.write import commit_shard, publish
from posegen.foundations.errors import PosegenError, UsageError
from tests.dataset.hostile import forge_file
from tests.dataset.tiny import commit, ended_run, files_of, fill, make_arrays, make_rows, to_table

JOINTS = "motion.zarr/joints/c.1.0.0.0"
ROWS = "sequences/part-00001.parquet"
RECEIPT = "receipts/00001.json"
UNREAD = COPY_FILE, CROISSANT_FILE
"""Metadata that no reader of samples reads."""


def shard_in(name: str) -> int | None:
    """Return the shard of a file of the dataset, by its name."""
    if name.endswith("zarr.json") or name in ("dataset.json", COPY_FILE, CROISSANT_FILE):
        return None
    return int(name.rpartition("/")[2].replace("part-", "").replace("c.", "").partition(".")[0])


def named(dataset: Path) -> set[tuple[int | None, str]]:
    return {(problem.shard, problem.file) for problem in verify(dataset)}


def only(dataset: Path, *, decode: bool = False) -> Problem:
    (problem,) = verify(dataset, decode=decode)
    return problem


@pytest.mark.parametrize("samples", [0, 5, 6, 14])
def test_an_intact_dataset_has_no_problems(samples: int, tmp_path: Path) -> None:
    fill(tmp_path / "intact", samples)
    before = files_of(tmp_path)
    assert verify(tmp_path / "intact") == []
    assert files_of(tmp_path) == before


def read_all(dataset: Path) -> None:
    opened = open_dataset(dataset)
    for field in opened.fields:
        opened.arrays(field)
    assert len(opened.sequences) == 2 * len(opened)


def test_every_flipped_bit_is_reported_and_refused(dataset: Path) -> None:
    random = np.random.default_rng(3)
    for name in files_of(dataset):
        file, shard = dataset / name, shard_in(name)
        intact = file.read_bytes()
        for position in {0, len(intact) - 1, *random.integers(0, len(intact), 8).tolist()}:
            damaged = bytearray(intact)
            damaged[position] ^= 1 << int(random.integers(8))
            file.write_bytes(damaged)
            problems = find_problems(dataset, shards=[] if shard is None else [shard])
            assert [(problem.shard, problem.file) for problem in problems] == [(shard, name)], position
            if name not in UNREAD:
                with pytest.raises(PosegenError, match="." if shard is None else f"shard {shard}") as raised:
                    read_all(dataset)
                hint = r"[Rr]un the same `posegen generate` command|Run: posegen verify"
                assert re.search(hint, str(raised.value)), "no hint"
        file.write_bytes(intact)
    assert verify(dataset) == []
    read_all(dataset)


@pytest.mark.parametrize("damage", ["shorter", "empty", "longer", "gone", "link", "folder", "pipe"])
def test_every_truncated_missing_or_replaced_file_is_reported_and_refused(damage: str, dataset: Path, tmp_path: Path) -> None:
    for name in files_of(dataset):
        file = dataset / name
        intact = file.read_bytes()
        file.unlink()
        if damage == "link":
            (tmp_path / "elsewhere").write_bytes(intact)
            file.symlink_to(tmp_path / "elsewhere")
        elif damage == "folder":
            file.mkdir()
        elif damage == "pipe":  # to open it must not block
            os.mkfifo(file)
        elif damage != "gone":
            file.write_bytes({"shorter": intact[:-1], "empty": b"", "longer": intact + b"\0"}[damage])
        may_lack = damage == "gone" and name == CROISSANT_FILE  # as datasets of earlier versions
        assert named(dataset) == (set() if may_lack else {(shard_in(name), name)}), name
        if name not in UNREAD:
            with pytest.raises(PosegenError):
                open_dataset(dataset)
        file.rmdir() if damage == "folder" else file.unlink(missing_ok=True)
        file.write_bytes(intact)
    assert verify(dataset) == []
    read_all(dataset)


def test_problems_state_the_reason(dataset: Path) -> None:
    joints = (dataset / JOINTS).read_bytes()
    (dataset / JOINTS).write_bytes(joints[:-1])
    size = (dataset / JOINTS).stat().st_size
    assert str(only(dataset)) == f"shard 1: {JOINTS}: has {size} bytes instead of {size + 1}"
    (dataset / JOINTS).write_bytes(bytes(size + 1))
    assert only(dataset).what == "checksum mismatch (receipt 00001.json)"
    (dataset / JOINTS).write_bytes(joints)
    intact = (dataset / RECEIPT).read_bytes()
    (dataset / RECEIPT).write_bytes(intact.replace(b'"rows":12', b'"rows":13'))
    assert only(dataset) == Problem(1, RECEIPT, "is damaged or was edited: its hash does not match its content")
    (dataset / RECEIPT).unlink()
    assert only(dataset) == Problem(1, RECEIPT, "is missing, so the shard is not complete")
    (dataset / RECEIPT).write_bytes(intact)
    (dataset / "dataset.json").unlink()
    assert only(dataset).repairable
    (dataset / "dataset.copy.json").unlink()
    assert not only(dataset).repairable


@pytest.mark.parametrize("with_receipts", [False, True])
def test_exchanged_shards_are_reported(with_receipts: bool, dataset: Path) -> None:
    for name in (JOINTS, ROWS, "motion.zarr/action/c.1.0.0", *([RECEIPT] if with_receipts else [])):
        one, other = dataset / name, dataset / name.replace("c.1", "c.0").replace("00001", "00000")
        data = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(data)
    problems = verify(dataset)
    assert {problem.shard for problem in problems} == {0, 1}
    if with_receipts:
        assert [problem.what for problem in problems] == [
            "belongs to shard 1 from sample 6",
            "belongs to shard 0 from sample 0",
        ]


def test_exchanged_tables_are_reported_even_with_matching_receipts(dataset: Path) -> None:
    """All hashes match."""
    arrays, rows = make_arrays(0, 6), [row | {"sample": row["sample"] + 6} for row in make_rows(0, 6)]
    commit_shard(dataset, load_header(dataset), 1, arrays, to_table(rows), "run")
    assert verify(dataset, decode=True) == []  # only --deep detects this
    forge_file(dataset, 1, ROWS, (dataset / "sequences/part-00000.parquet").read_bytes())
    assert (
        only(dataset, decode=True).what
        == "does not have the rows of the shard's samples and variants in order in its column `sample` (receipt 00001.json)"
    )


def test_a_receipt_of_another_dataset_is_reported(dataset: Path, tmp_path: Path) -> None:
    fill(tmp_path / "other", 14, identity="f" * 32)
    shutil.copy(tmp_path / "other" / RECEIPT, dataset / RECEIPT)
    assert only(dataset).what.startswith("belongs to another dataset (identity ffff")


def test_a_shard_with_too_few_samples_is_reported(dataset: Path, tmp_path: Path) -> None:
    commit(dataset, load_header(dataset), 1, 10)
    assert only(dataset) == Problem(1, RECEIPT, "has 4 samples, the dataset has 6 in this shard")


def test_the_checksum_of_each_chunk_is_checked(dataset: Path) -> None:
    data = bytearray((dataset / JOINTS).read_bytes())
    data[100] ^= 1
    forge_file(dataset, 1, JOINTS, bytes(data))
    problem = only(dataset, decode=True)
    assert (problem.shard, problem.file) == (1, JOINTS)
    assert problem.what.startswith("cannot be decoded (")


def test_values_are_compared_with_their_hashes(dataset: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    fill(other, 14)
    arrays, rows = make_arrays(6, 12), make_rows(6, 12)
    for sample in (1, 2, 3, 5):
        arrays["joints"][sample, 1, 0, 0] += 1
    rows[4]["captions"] = []
    commit_shard(other, load_header(other), 1, arrays, to_table(rows), "run")
    for name in (JOINTS, ROWS):
        forge_file(dataset, 1, name, (other / name).read_bytes())
    assert verify(dataset, decode=True) == [
        Problem(1, JOINTS, "content of joints does not match the receipt in samples 7, 8, 9 and 1 more"),
        Problem(1, ROWS, "content of rows does not match the receipt in sample 8"),
    ]


def test_rows_other_than_a_table_are_reported(dataset: Path) -> None:
    forge_file(dataset, 1, ROWS, b"PAR1 is how it begins PAR1")
    assert only(dataset, decode=True).what.startswith("cannot be decoded (")
    forge_file(dataset, 1, ROWS, (dataset / "sequences/part-00002.parquet").read_bytes())
    assert only(dataset, decode=True).what == "cannot be decoded (has 4 rows instead of 12) (receipt 00001.json)"


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "motion.zarr/c.0.0.0.0",
        "motion.zarr/joints/c.0.0.0",
        "motion.zarr/joints/.zarray",
        "receipts/000001.json",
        "sequences/part-1.parquet",
    ],
)
def test_orphan_files_are_reported(name: str, dataset: Path) -> None:
    (dataset / name).write_bytes(b"?")
    assert only(dataset) == Problem(None, name, "does not belong to the dataset. Remove it", repairable=False)


def test_orphan_folders_and_links_are_reported(dataset: Path, tmp_path: Path) -> None:
    (dataset / "motion.zarr" / "velocity").mkdir()
    (dataset / "receipts" / "more").symlink_to(tmp_path)
    os.mkfifo(dataset / "sequences" / "pipe")
    assert {problem.file: problem.what.split(" that ")[0] for problem in verify(dataset)} == {
        "motion.zarr/velocity": "is a folder",
        "receipts/more": "is a link",
        "sequences/pipe": "is no plain file",
    }


def test_a_file_that_is_not_in_the_receipt_is_reported(dataset: Path) -> None:
    """All values of contact are absent, so there is no file; other programs would read one as contacts."""
    name = "motion.zarr/contact/c.1.0.0"
    shutil.copy(dataset / "motion.zarr/action/c.1.0.0", dataset / name)
    assert only(dataset) == Problem(1, name, "exists, and the shard's receipt does not list it")


def test_temporary_files_are_orphans_once_their_run_has_ended(dataset: Path) -> None:
    of_the_dead, of_the_living = (f"receipts/.00003.json~{run}~7.temporary" for run in (ended_run(), current_run()))
    (dataset / of_the_dead).write_bytes(b"")
    assert only(dataset) == Problem(None, of_the_dead, "is a temporary file of a run that has ended")
    (dataset / of_the_dead).rename(dataset / of_the_living)
    assert not only(dataset).repairable
    (dataset / ".lock").write_text(f"process 1 (run {current_run()})")
    assert verify(dataset) == []
    (dataset / ".lock").write_text(f"process 1 (run {ended_run()})")
    assert {problem.file for problem in verify(dataset)} == {".lock", of_the_living}


def test_unpublished_shards_are_checked(dataset: Path) -> None:
    header = load_header(dataset)
    publish(dataset, header, 6)
    assert verify(dataset) == []
    (dataset / ROWS).write_bytes(bytes((dataset / ROWS).stat().st_size))
    assert named(dataset) == {(1, ROWS)}
    (dataset / RECEIPT).unlink()  # a gap before a complete shard
    assert expected_shards(dataset, load_header(dataset)) == 3
    assert only(dataset) == Problem(1, RECEIPT, "is missing, so the shard is not complete")
    (dataset / "receipts/00002.json").unlink()  # as after a run that was stopped
    begun = {(shard, name) for name in files_of(dataset) if (shard := shard_in(name) or 0) >= 1}
    assert len(begun) == 6
    assert named(dataset) == begun
    (dataset / ".lock").write_text(f"process 1 (run {current_run()})")
    assert verify(dataset) == []  # as during a run


def test_selected_shards_are_verified(dataset: Path) -> None:
    for name in (JOINTS, JOINTS.replace("c.1", "c.2")):
        (dataset / name).unlink()
    calls: list[tuple[int, int]] = []
    problems = list(find_problems(dataset, shards=[2], progress=lambda done, total: calls.append((done, total))))
    assert [problem.shard for problem in problems] == [2]
    assert calls == [(0, 1), (1, 1)]


def test_problems_are_listed_by_shard_and_checking_ends_with_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    header = fill(path, 70)
    damaged = [1, 4, 5, 9, 12]
    for shard in damaged:
        (path / JOINTS.replace("c.1", f"c.{shard}")).write_bytes(b"")
    calls: list[tuple[int, int]] = []
    problems = find_problems(path, progress=lambda done, total: calls.append((done, total)))
    assert [problem.shard for problem in problems] == damaged
    assert calls == [(done, header.shards()) for done in range(header.shards() + 1)]
    first = find_problems(path)
    assert next(first).shard == damaged[0]
    first.close()
    assert all(not thread.name.startswith("verify") for thread in threading.enumerate())


def test_a_missing_dataset_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no dataset"):
        verify(tmp_path)
    (tmp_path / "receipts").write_text("a file")
    assert only(tmp_path).file == "dataset.json"


def test_a_shard_that_is_completed_meanwhile_is_no_problem(dataset: Path) -> None:
    header = load_header(dataset)
    publish(dataset, header, 12)
    receipt = (dataset / "receipts/00002.json").read_bytes()
    (dataset / "receipts/00002.json").unlink()
    (dataset / ".lock").write_text(f"process 1 (run {current_run()})")

    def end_the_run(done: int, total: int) -> None:
        if done == total:
            (dataset / "receipts/00002.json").write_bytes(receipt)
            publish(dataset, header, 14)
            (dataset / ".lock").unlink()

    assert list(find_problems(dataset, progress=end_the_run)) == []


def test_a_shard_that_is_replaced_while_it_is_checked_is_checked_again(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from posegen.dataset import verify as module

    find_size_fault = module.find_size_fault
    replaced: list[Path] = []

    def replace_once(path: Path, expected: StoredFile) -> str | None:
        if replaced or shard_in(str(path)) != 0:  # shards are checked at the same time
            return find_size_fault(path, expected)
        replaced.append(path)
        (dataset / "receipts/00000.json").unlink()
        commit(dataset, load_header(dataset), 0, 14)
        return "is missing"

    monkeypatch.setattr(module, "find_size_fault", replace_once)
    assert verify(dataset) == []
    assert replaced
