"""Forged datasets: whatever they contain, reading raises a posegen error and allocates no more than they may declare."""

from __future__ import annotations

import dataclasses
import io
import os
import struct
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from posegen.dataset.documents import seal
from posegen.dataset.header import load_header
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import StoredFile
from posegen.dataset.tables import UNDECODABLE, decode_table
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from tests.dataset.hostile import forge_file, forge_header, forge_receipt, run_in_little_memory
from tests.dataset.tiny import FIELDS

JOINTS = "motion.zarr/joints/c.1.0.0.0"
ROWS = "sequences/part-00001.parquet"
GIGABYTES = 2**31 - 1


def crc(data: bytes) -> bytes:
    return int(google_crc32c.value(data)).to_bytes(4, "little")


def with_chunk_header(intact: bytes, **changes: int) -> bytes:
    """Change the Blosc header of the first chunk of a shard, with correct checksums."""
    chunks = 4  # two chunks of samples, two variants
    index = np.frombuffer(intact[-16 * chunks - 4 : -4], "<u8").reshape(-1, 2)
    start, length = (int(number) for number in index[0])
    names = ("values", "block", "stored")
    sizes = dict(zip(names, struct.unpack("<III", intact[start + 4 : start + 16]), strict=True)) | changes
    chunk = intact[start : start + 4] + struct.pack("<III", *sizes.values()) + intact[start + 16 : start + length - 4]
    return intact[:start] + chunk + crc(chunk) + intact[start + length :]


def with_index(intact: bytes, offset: int, length: int) -> bytes:
    """Change the first entry of a shard's index, with a correct checksum."""
    index = np.frombuffer(intact[-68:-4], "<u8").copy()
    index[:2] = offset, length
    return intact[:-68] + index.tobytes() + crc(index.tobytes())


SHARDS: dict[str, Callable[[bytes], bytes]] = {
    "a chunk of gigabytes": lambda intact: with_chunk_header(intact, values=GIGABYTES),
    "a chunk of gigabytes in one block": lambda intact: with_chunk_header(intact, values=GIGABYTES, block=GIGABYTES),
    "a block of gigabytes": lambda intact: with_chunk_header(intact, block=GIGABYTES),
    "an empty chunk": lambda intact: with_chunk_header(intact, values=0),
    "more stored bytes than there are": lambda intact: with_chunk_header(intact, stored=GIGABYTES),
    "a chunk outside": lambda intact: with_index(intact, len(intact), 100),
    "a chunk that ends outside": lambda intact: with_index(intact, 0, 2**63),
    "chunks that overlap": lambda intact: with_index(intact, 0, len(intact)),
    "a chunk of two bytes": lambda intact: with_index(intact, 0, 2),
    "no index": lambda intact: intact[:20],
    "a damaged index": lambda intact: intact[:-1] + bytes([intact[-1] ^ 1]),
}


@pytest.mark.parametrize("case", SHARDS)
def test_a_forged_shard_is_reported(case: str, dataset: Path) -> None:
    forge_file(dataset, 1, JOINTS, SHARDS[case]((dataset / JOINTS).read_bytes()))
    (problem,) = verify(dataset)
    assert (problem.shard, problem.file, "overlap" in problem.what) == (1, JOINTS, "overlap" in case)
    opened = open_dataset(dataset)
    assert opened[0].index == 0
    for read in (lambda: opened.arrays("joints"), lambda: list(opened.batches(4, fields=["joints"]))):
        with pytest.raises(PosegenError, match=r"shard 1 is damaged.*--repair"):
            read()


def encode(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **({"use_dictionary": False, "compression": "zstd"} | options))
    return sink.getvalue()


def encode_list(length: int, rows: int = 1) -> bytes:
    """Encode rows, the first with a list of nulls: a few bytes for any length."""
    lists = pa.array([[None] * length, *([[]] * (rows - 1))], pa.list_(pa.int64()))
    return encode(pa.table({"sample": [0] * rows, "list": lists}))


TABLES: dict[str, Callable[[], bytes]] = {
    "one row of many nulls": lambda: encode_list(2_000_000),
    "one long text": lambda: encode(pa.table({"sample": [0], "text": ["a" * 20_000_000]})),
    "other rows": lambda: encode(pa.table({"sample": [0, 1, 2]})),
    "a footer beyond its end": lambda: b"PAR1" + b"x" * 100 + struct.pack("<I", GIGABYTES) + b"PAR1",
    "a footer with billions of entries": lambda: b"PAR1" + (foot := b"\x15\x04\x19\xfc" + b"\xff\xff\xff\xff\x07")
    + struct.pack("<I", len(foot)) + b"PAR1",
    "nothing": lambda: b"",
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_a_forged_table_is_refused(case: str) -> None:
    data = TABLES[case]()
    assert len(data) < 1_000_000
    with pytest.raises(UNDECODABLE):
        decode_table(data, 1)


@pytest.mark.slow
def test_forged_files_are_refused_in_little_memory(dataset: Path) -> None:
    """The process has less memory than the files declare."""
    forge_file(dataset, 1, ROWS, encode_list(100_000_000, 12))
    forged = with_chunk_header((dataset / JOINTS).read_bytes(), values=GIGABYTES, block=GIGABYTES)
    forge_file(dataset, 1, JOINTS, forged)
    lines = run_in_little_memory(
        """
for problem in verify(dataset, decode=True):
    print(problem)
for read in (
    lambda: open_dataset(dataset).arrays("joints"),
    lambda: open_dataset(dataset).table(1),
    lambda: list(open_dataset(dataset).batches(4, fields=["joints"])),
):
    try:
        read()
    except PosegenError as error:
        print(error)
""",
        dataset,
    ).splitlines()
    assert len(lines) == 5
    assert all("shard 1" in line for line in lines)
    assert all("declares" in line for line in lines)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 10**15, "shard": 1, "chunk": 1}, "does not match the header"),
        ({"samples": 2**53 - 1, "shard": 2**52, "chunk": 2}, "chunks"),
        ({"fields": (dataclasses.replace(FIELDS[0], shape=(2, 2**30, 3), chunk=(1, 1024, 3)), *FIELDS[1:])}, "bytes"),
        ({"fields": tuple(dataclasses.replace(FIELDS[1], name=f"a{i}", shape=(2, 2**26), chunk=(1, 2**10)) for i in range(9))},
         "bytes"),
        ({"fields": (dataclasses.replace(FIELDS[0], shape=(3, 40, 3)),)}, "variants"),
    ],
)  # fmt: skip
def test_a_header_with_excessive_sizes_is_refused(changes: dict[str, object], message: str, dataset: Path) -> None:
    header = load_header(dataset)
    for name, value in changes.items():
        object.__setattr__(header, name, value)  # without the checks of the constructor
    (dataset / "dataset.json").write_bytes(seal(header.to_json(), indent=2))
    (dataset / "dataset.copy.json").unlink()
    with pytest.raises(PosegenError, match=message):
        open_dataset(dataset)
    assert verify(dataset)


def test_a_header_with_too_many_samples_is_refused(dataset: Path) -> None:
    forge_header(dataset, dataclasses.replace(load_header(dataset), samples=10**15))
    with pytest.raises(PosegenError, match="shard 2: it has 2 samples"):
        open_dataset(dataset)
    assert ("dataset.json", False) in {(problem.file, problem.repairable) for problem in verify(dataset)}


@pytest.mark.parametrize(
    "changes",
    [
        {"shard": 2},
        {"first": 0},
        {"count": 5},
        {"count": 7},
        {"rows": 13},
        {"identity": "f" * 32},
        {"content": ("joints", lambda hashes: "0" + hashes[1:] if hashes[0] != "0" else "1" + hashes[1:])},
        {"content": ("rows", lambda hashes: hashes[32:] + hashes[:32])},
        {"content": ("contact", str.upper)},
        {"content": ("action", lambda hashes: hashes[32:])},
        {"content": ("velocity", str)},
        {"files": {}},
        {"files": {JOINTS: StoredFile(1, "0" * 32)}},
        {"files": {ROWS: StoredFile(1, "0" * 32)}},
    ],
)
def test_a_forged_receipt_is_reported(changes: dict[str, object], dataset: Path) -> None:
    """Its own hash is correct. Only its time and its run are not checked."""
    receipt = open_dataset(dataset).receipt(1)
    values = dict(changes)
    if isinstance(content := values.get("content"), tuple):
        name, change = content
        values["content"] = receipt.content | {name: change(receipt.content.get(name, "0" * 32 * 6))}
    forged = dataclasses.replace(receipt, **values)  # type: ignore[arg-type]
    (dataset / "receipts/00001.json").write_bytes(seal(forged))
    problems = verify(dataset, decode=True)
    assert {problem.shard for problem in problems} == {1}


def test_a_receipt_with_excessive_sizes_is_refused(dataset: Path) -> None:
    """A sparse file can have any size without taking space on the disk."""
    for name in (JOINTS, ROWS):
        intact = (dataset / "receipts/00001.json").read_bytes()
        os.truncate(dataset / name, 2**40)
        forge_receipt(dataset, 1, {name: StoredFile(2**40, "0" * 32)})
        with pytest.raises(PosegenError, match=r"shard 1.* more than it can have"):
            open_dataset(dataset)
        assert [problem.shard for problem in verify(dataset)] == [1]
        (dataset / "receipts/00001.json").write_bytes(intact)


def test_rows_of_other_samples_are_refused(dataset: Path) -> None:
    forge_file(dataset, 1, ROWS, (dataset / "sequences/part-00000.parquet").read_bytes())
    with pytest.raises(PosegenError, match="does not have the rows of the shard's samples"):
        open_dataset(dataset).table(1)
