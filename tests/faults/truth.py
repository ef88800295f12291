"""Assertions about a dataset after any fault."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import posegen
from posegen.dataset.compare import compare
from posegen.dataset.files import read_file, write_all_durably
from posegen.dataset.receipts import DIGITS
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import verify

Content = list[dict[str, str]]
"""Content hashes of the fields and rows of each sample."""


def files_of(path: AnyPath) -> list[str]:
    if isinstance(path, BucketPath):
        return sorted(path.list())
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if not file.is_dir())


def shards_to_make(path: AnyPath, samples: int, shard: int = 4) -> int:
    """Count the shards that do not yet have all of their samples, according to receipts."""
    receipts = [json.loads(read_file(path / name, 10**6)) for name in files_of(path) if name.startswith("receipts/0")]
    there = {receipt["shard"]: receipt["count"] for receipt in receipts}
    firsts = range(0, samples, shard)
    return sum(there.get(first // shard, 0) < min(shard, samples - first) for first in firsts)


def content_of(path: AnyPath) -> Content:
    """Read every visible sample and hash its values."""
    dataset = posegen.open(path)
    content: Content = []
    for shard in range(dataset.header.shards()):
        hashes = dataset.compute_hashes(shard)
        content += [
            {name: text[i * DIGITS : (i + 1) * DIGITS] for name, text in hashes.items()}
            for i in range(dataset.header.count(shard))
        ]
    return content


def assert_same(path: AnyPath, whole: Path) -> None:
    """Assert that a dataset is complete, has the content of another one, and no other file."""
    assert verify(path) == []  # so the receipts are valid
    assert not compare(path, whole).differences
    assert files_of(path) == files_of(whole)


def copy(source: Path, target: AnyPath) -> AnyPath:
    if isinstance(target, BucketPath):
        write_all_durably([(target / name, [(source / name).read_bytes()]) for name in files_of(source)])
    else:
        shutil.copytree(source, target)
    return target
