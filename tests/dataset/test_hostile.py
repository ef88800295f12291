"""Hostile datasets: what is forged so that all hashes fit is refused before memory is taken by what it says."""

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

from posegen.dataset.compare import compare
from posegen.dataset.documents import seal
from posegen.dataset.headers import load_header
from posegen.dataset.pages import pages
from posegen.dataset.parts import read_part
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import StoredFile
from posegen.dataset.verify import verify
from posegen.errors import PosegenError
from tests.dataset.hostile import forge_file, forge_header, forge_receipt, in_little_memory
from tests.dataset.tiny import FIELDS, SCHEMA

JOINTS = "motion.zarr/joints/c.1.0.0.0"
ROWS = "sequences/part-00001.parquet"
GIGABYTES = 2**31 - 1


def crc(data: bytes) -> bytes:
    return int(google_crc32c.value(data)).to_bytes(4, "little")


def with_chunk_header(sound: bytes, **changes: int) -> bytes:
    """Change what the first chunk of an object says of itself, all checksums put right."""
    chunks = 4  # two chunks of samples, two variants
    index = np.frombuffer(sound[-16 * chunks - 4 : -4], "<u8").reshape(-1, 2)
    start, length = (int(number) for number in index[0])
    said = dict(zip(("values", "block", "stored"), struct.unpack("<III", sound[start + 4 : start + 16]), strict=True)) | changes
    chunk = sound[start : start + 4] + struct.pack("<III", *said.values()) + sound[start + 16 : start + length - 4]
    return sound[:start] + chunk + crc(chunk) + sound[start + length :]


def with_index(sound: bytes, begin: int, length: int) -> bytes:
    index = np.frombuffer(sound[-68:-4], "<u8").copy()
    index[:2] = begin, length
    return sound[:-68] + index.tobytes() + crc(index.tobytes())


OBJECTS: dict[str, Callable[[bytes], bytes]] = {
    "a chunk of gigabytes": lambda sound: with_chunk_header(sound, values=GIGABYTES),
    "a chunk of gigabytes in one block": lambda sound: with_chunk_header(sound, values=GIGABYTES, block=GIGABYTES),
    "a block of gigabytes": lambda sound: with_chunk_header(sound, block=GIGABYTES),
    "a chunk of nothing": lambda sound: with_chunk_header(sound, values=0),
    "more stored than there is": lambda sound: with_chunk_header(sound, stored=GIGABYTES),
    "a chunk outside": lambda sound: with_index(sound, len(sound), 100),
    "a chunk that ends outside": lambda sound: with_index(sound, 0, 2**63),
    "a chunk of two bytes": lambda sound: with_index(sound, 0, 2),
    "no index": lambda sound: sound[:20],
    "a damaged index": lambda sound: sound[:-1] + bytes([sound[-1] ^ 1]),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_an_object_that_lies_is_named_and_not_read(what: str, dataset: Path) -> None:
    forge_file(dataset, 1, JOINTS, OBJECTS[what]((dataset / JOINTS).read_bytes()))
    (problem,) = verify(dataset)
    assert (problem.shard, problem.file) == (1, JOINTS)
    opened = open_dataset(dataset)
    assert opened[0].index == 0
    with pytest.raises(PosegenError, match="shard 1 is damaged"):
        opened.arrays("joints")


def number(value: int) -> bytes:
    """Write a whole number of 32 bits as Thrift's compact protocol does."""
    value, data = value << 1, b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def page(unpacked: int, stored: int, values: int, *, kind: int = 0, encoding: int = 0) -> bytes:
    """Write the header of a page."""
    body = b"\x15" + number(values) + b"\x15" + number(encoding) + b"\x15" + number(3) + b"\x15" + number(3) + b"\x00"
    return b"\x15" + number(kind) + b"\x15" + number(unpacked) + b"\x15" + number(stored) + b"\x2c" + body + b"\x00"


def with_page_header(sound: bytes) -> bytes:
    """Have the last column's page say that it unpacks to gigabytes."""
    group = pq.ParquetFile(io.BytesIO(sound)).metadata.row_group(0)
    column = group.column(group.num_columns - 1)
    start, length = column.data_page_offset, column.total_compressed_size
    head = page(GIGABYTES, length - 20, column.num_values)
    while len(head) + (stored := length - len(head)) != length or page(GIGABYTES, stored, column.num_values) != head:
        head = page(GIGABYTES, stored, column.num_values)
    return sound[:start] + head + bytes(stored) + sound[start + length :]


def test_pages_are_read_as_written() -> None:
    sink = io.BytesIO()
    texts = [f"a text that is {i} of many" for i in range(3000)]
    pq.write_table(pa.table({"a": texts}), sink, use_dictionary=False, compression="zstd", data_page_size=10_000)
    column = pq.ParquetFile(sink).metadata.row_group(0).column(0)
    start = column.data_page_offset
    found = pages(memoryview(sink.getvalue())[start : start + column.total_compressed_size])
    assert len(found) > 1
    assert sum(page.values for page in found) == 3000
    assert sum(page.bytes for page in found) == pytest.approx(3000 * 4 + sum(map(len, texts)), rel=0.01)
    assert pages(memoryview(page(5, 2, 7) + b"ab" + page(6, 0, 8))) == [(5, 7), (6, 8)]


@pytest.mark.parametrize(
    "data",
    [
        page(5, 3, 7) + b"ab",
        page(5, 2, 7, kind=2) + b"ab",
        page(5, 2, 7, kind=3) + b"ab",
        page(5, 2, 7, encoding=8) + b"ab",
        page(5, 2, 7)[:-3],
        b"\x15\x01" + page(5, 2, 7)[2:] + b"ab",
        b"\x1c" * 100_000,
        b"\x19\xfc\xff\xff\xff\xff\x0f",
        b"\x18\xff\xff\xff\xff\x0f",
        b"\x15" + b"\xff" * 60_000,
        b"\x05\x00\x00",
        b"\x00",
    ],
)
def test_pages_that_are_no_plain_data_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="page"):
        pages(memoryview(data))


def lists(levels: int) -> bytes:
    """Make a part in which one row has a list of so many nothings: a few bytes for any number of them."""
    table = pa.table({"sample": [0], "list": pa.array([[None] * levels], pa.list_(pa.int64()))})
    sink = io.BytesIO()
    pq.write_table(table, sink, use_dictionary=False, compression="zstd")
    return sink.getvalue()


def written(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **({"use_dictionary": False, "compression": "zstd"} | options))
    return sink.getvalue()


PARTS: dict[str, Callable[[], bytes]] = {
    "one row of many nothings": lambda: lists(2_000_000),
    "one long text": lambda: written(pa.table({"sample": [0], "text": ["a" * 20_000_000]})),
    "a dictionary": lambda: written(pa.table({"sample": [0], "text": ["a"]}), use_dictionary=True),
    "many groups": lambda: written(pa.table({"sample": [0, 1]}), row_group_size=1),
    "pages of another version": lambda: written(pa.table({"sample": [0]}), data_page_version="2.0"),
    "another type": lambda: written(pa.table({"sample": pa.array([0], pa.timestamp("s"))})),
    "other rows": lambda: written(pa.table({"sample": [0, 1, 2]})),
    "a footer beyond its end": lambda: b"PAR1" + b"x" * 100 + struct.pack("<I", GIGABYTES) + b"PAR1",
    "a footer of entries without end": lambda: b"PAR1" + (foot := b"\x15\x04\x19\xfc" + b"\xff\xff\xff\xff\x07")
    + struct.pack("<I", len(foot)) + b"PAR1",
    "nothing": lambda: b"",
}  # fmt: skip


@pytest.mark.parametrize("what", PARTS)
def test_a_part_that_lies_is_refused(what: str) -> None:
    data = PARTS[what]()
    assert len(data) < 1_000_000
    with pytest.raises((ValueError, OSError)):
        read_part(data, 2 if what == "many groups" else 1)


def test_bombs_are_refused_in_little_memory(dataset: Path) -> None:
    """All that decodes, in a process that could not hold what the bombs say of themselves."""
    forge_file(dataset, 1, ROWS, with_page_header((dataset / ROWS).read_bytes()))
    lying = with_chunk_header((dataset / JOINTS).read_bytes(), values=GIGABYTES, block=GIGABYTES)
    forge_file(dataset, 1, JOINTS, lying)
    told = in_little_memory(
        """
for problem in verify(dataset):
    print(problem)
for read in (lambda: open_dataset(dataset).arrays("joints"), lambda: open_dataset(dataset).table(1)):
    try:
        read()
    except PosegenError as error:
        print(error)
""",
        dataset,
    ).splitlines()
    assert len(told) == 4
    assert all("shard 1" in line for line in told)
    assert all("unpacks to" in told[i] for i in (1, 3))
    assert all("says that it holds 2147483647 bytes" in told[i] for i in (0, 2))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"samples": 10**15, "shard": 1, "chunk": 1}, "is not what the header describes"),
        ({"samples": 2**53 - 1, "shard": 2**52, "chunk": 2}, "chunks"),
        ({"fields": (dataclasses.replace(FIELDS[0], shape=(2, 2**30, 3), chunk=(1, 1024, 3)), *FIELDS[1:])}, "bytes"),
        ({"fields": tuple(dataclasses.replace(FIELDS[1], name=f"a{i}", shape=(2, 2**26), chunk=(1, 2**10)) for i in range(9))},
         "bytes"),
        ({"fields": (dataclasses.replace(FIELDS[0], shape=(3, 40, 3)),)}, "variants"),
    ],
)  # fmt: skip
def test_a_header_of_absurd_sizes_is_refused(changes: dict[str, object], told: str, dataset: Path) -> None:
    header = load_header(dataset)
    for name, value in changes.items():
        object.__setattr__(header, name, value)  # past the checks, as a forger writes
    (dataset / "dataset.json").write_bytes(seal(header.to_json(), indent=2))
    (dataset / "dataset.copy.json").unlink()
    with pytest.raises(PosegenError, match=told):
        open_dataset(dataset)
    assert verify(dataset)


def test_a_header_of_absurdly_many_samples_is_refused(dataset: Path) -> None:
    forge_header(dataset, dataclasses.replace(load_header(dataset), samples=10**15))
    with pytest.raises(PosegenError, match="shard 2: it holds 2 samples"):
        open_dataset(dataset)
    assert ("dataset.json", False) in {(problem.file, problem.curable) for problem in verify(dataset)}


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
def test_a_forged_receipt_is_named(changes: dict[str, object], dataset: Path) -> None:
    """Its own hash is right. Only what it says of the time and the run that it took is believed."""
    receipt = open_dataset(dataset).receipt(1)
    told = dict(changes)
    if isinstance(content := told.get("content"), tuple):
        name, change = content
        told["content"] = receipt.content | {name: change(receipt.content.get(name, "0" * 32 * 6))}
    forged = dataclasses.replace(receipt, **told)  # type: ignore[arg-type]
    (dataset / "receipts/00001.json").write_bytes(forged.to_bytes())
    problems = verify(dataset)
    assert {problem.shard for problem in problems} == {1}


def test_a_receipt_of_absurd_sizes_is_refused(dataset: Path) -> None:
    """A file may be as large as it says and take no room on the disk: a hole."""
    for name in (JOINTS, ROWS):
        sound = (dataset / "receipts/00001.json").read_bytes()
        os.truncate(dataset / name, 2**40)
        forge_receipt(dataset, 1, {name: StoredFile(2**40, "0" * 32)})
        with pytest.raises(PosegenError, match=r"shard 1.* more than it can have"):
            open_dataset(dataset)
        assert [problem.shard for problem in verify(dataset)] == [1]
        (dataset / "receipts/00001.json").write_bytes(sound)


def test_rows_of_other_samples_are_not_given_out(dataset: Path) -> None:
    forge_file(dataset, 1, ROWS, (dataset / "sequences/part-00000.parquet").read_bytes())
    with pytest.raises(PosegenError, match="does not go through the shard's samples"):
        open_dataset(dataset).table(1)


def test_a_field_without_dimensions_can_be_compared(dataset: Path) -> None:
    header = load_header(dataset)
    scalar = dataclasses.replace(FIELDS[2], dims=(), shape=(), chunk=())
    forge_header(dataset, dataclasses.replace(header, fields=(*FIELDS[:2], scalar)))
    found = compare(dataset, dataset, deep=True)
    assert found.samples == {}


def test_a_schema_is_bounded_in_depth() -> None:
    kind: pa.DataType = pa.int64()
    for _ in range(20):
        kind = pa.struct([("a", kind)])
    table = pa.table({"a": pa.array([None], kind)})
    with pytest.raises(ValueError, match="nested too deep"):
        read_part(written(table), 1)
    assert read_part(written(pa.table({"a": pa.array([None], SCHEMA.field("captions").type)})), 1).num_rows == 1
