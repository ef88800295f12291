"""Files of an export in a bucket of object storage: objects that :mod:`posegen.dataset.storage.bucket` writes and reads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import xxhash

from posegen.dataset.storage.address import to_path
from posegen.dataset.storage.bucket import BucketPath, map_requests
from posegen.dataset.storage.folder import open_plain
from posegen.exchange.remote import PushedFile
from posegen.foundations.errors import PosegenError

_LARGE_BYTES = 16 << 20
"""Files from this size on are held in memory one at a time."""


def upload_folder(folder: Path, target: BucketPath) -> None:
    """Store all files of a folder under the same names in a bucket, unless they are there with equal content."""
    files = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]

    def upload(file: Path) -> None:
        (target / file.relative_to(folder).as_posix()).write(file.read_bytes())

    for _ in map_requests(upload, [file for file in files if file.stat().st_size < _LARGE_BYTES]):
        pass
    for file in files:
        if file.stat().st_size >= _LARGE_BYTES:
            upload(file)


def download_folder(source: BucketPath, folder: Path) -> bool:
    """Write all objects of a folder in a bucket to files of the same names; False if one was removed meanwhile."""

    def download(name: str) -> bool:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.write_bytes((source / name).read())
        except FileNotFoundError:
            return False
        return True

    return all(map_requests(download, source.list()))


class Bucket:
    """A folder of a bucket as a place that ``posegen push`` uploads files to."""

    def __init__(self, target: str) -> None:
        self._target: Any = to_path(target)  # a BucketPath
        self.url = self.dataset_name = str(self._target)

    def compare(self, files: Sequence[PushedFile], is_ours: Callable[[str], bool]) -> dict[str, bool]:
        """Return for each file that is there, and whose name is one of ours, whether it equals the one to upload."""
        expected, sizes = {file.name: file for file in files}, self._target.list()
        return {name: self._equals(expected.get(name), entry.size) for name, entry in sizes.items() if is_ours(name)}

    def _equals(self, file: PushedFile | None, size: int) -> bool:
        if file is None or file.size != size:
            return False
        return bool((self._target / file.name).find_hash() == xxhash.xxh3_128_hexdigest(file.path.read_bytes()))

    def send(self, file: PushedFile, report: Callable[[int], None]) -> None:
        """Upload a file, and report its size."""
        with open_plain(file.path) as opened:
            data = opened.read()
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise PosegenError(f"{file.path}: was changed while it was uploaded. Run the same command again")
        (self._target / file.name).write(data)
        report(file.size)

    def commit(self, removed: Sequence[str]) -> None:
        """Remove files; those that were sent are visible."""
        for name in removed:
            (self._target / name).delete()
