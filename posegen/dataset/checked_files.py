"""Read the files of a dataset so that no byte is used before its file has been compared with its receipt.

When a dataset is opened, receipts are read and every file must exist in its size. Of a large dataset, its manifest is read, and
the receipt of a shard when one of its files is read for the first time. When a file is read for the first time, all bytes
are hashed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from io import BufferedReader
from pathlib import Path

import xxhash

from posegen.dataset import layout, lock, object_reader, parts, receipts, shard_codec
from posegen.dataset.header import check_metadata, load_header
from posegen.dataset.manifest import Manifest, load_manifest
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.folder import open_plain
from posegen.foundations.errors import PosegenError

_RECENT_SHARDS = 1000
"""Shards of a manifest whose receipts are kept."""


class DamagedFileError(PosegenError):
    """A file is missing or damaged; `fault` is what is wrong with it, without the name of the file and the hint."""

    def __init__(self, message: str, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True)
class CheckedFiles:
    """The files of a dataset's visible shards.

    Attributes
    ----------
    path : Path or BucketPath
        Folder of the dataset.
    header : Header
    listed : mapping of str to StoredFile
        Expected size and hash of each file, by its path inside the dataset, of shards that `manifest` does not cover.
    counts : mapping of int to int
        Number of samples in each shard, which may be more than are visible.
    absent : mapping of str to str
        Files of layers that are missing or invalid, and the error message for their readers.
    objects : ObjectReader, optional
        Reads the files of a dataset in a bucket.
    checked : set of str
        The files whose bytes have been hashed.
    manifest : Manifest, optional
        Covers the other shards, whose receipts are read when they are needed.
    """

    path: AnyPath
    header: layout.Header
    listed: Mapping[str, receipts.StoredFile]
    counts: Mapping[int, int]
    absent: Mapping[str, str] = field(default_factory=dict)
    objects: object_reader.ObjectReader | None = None
    checked: set[str] = field(default_factory=set)
    manifest: Manifest | None = None

    def find(self, name: str) -> receipts.StoredFile | None:
        """Return the expected size and hash of a file, by its path inside the dataset; None if there is no such file.

        Raises
        ------
        PosegenError
            If its receipt is read now, and is missing or damaged, or if the file belongs to an incomplete layer.
        """
        covered = self.manifest.shards if self.manifest else 0
        shard = layout.shard_of(self.header, name) if covered and name not in self.listed else None
        found = (self.listed if shard is None or shard >= covered else self._files_of(shard)).get(name)
        if found is None and name in self.absent:
            raise PosegenError(self.absent[name])
        return found

    @cached_property
    def _files_of(self) -> Callable[[int], Mapping[str, receipts.StoredFile]]:
        return lru_cache(_RECENT_SHARDS)(self._read_listed)

    def _read_listed(self, shard: int) -> Mapping[str, receipts.StoredFile]:
        """Read the receipts of a shard that the manifest covers."""
        samples = receipts.load_receipt(self.path, self.header, shard)
        files = dict(samples.files)
        for layer in filter(self.manifest.covers, self.header.layers) if self.manifest else ():
            try:
                files |= receipts.read_receipt(self.path, self.header, shard, layer, samples).files
            except (FileNotFoundError, PosegenError) as error:
                msg = f"{self.path}: shard {shard}: the receipt of {layer.name} {error}. {receipts.derive_hint(self.path)}"
                raise PosegenError(msg) from error
        return files

    def sizes(self) -> dict[str, int]:
        """Return the size on disk of each field and of the rows, in bytes by name."""
        sizes = dict.fromkeys((*(field.name for field in self.header.all_fields), layout.ROWS), 0)
        for name, size in self.manifest.sizes.items() if self.manifest else ():
            sizes[name] += size
        for name, file in self.listed.items():
            sizes[layout.content_of(name)] += file.bytes
        return sizes

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read parts of a file of the dataset, checking the whole file the first time.

        Parameters
        ----------
        name : str
            Path inside the dataset.
        ranges : sequence of (int, int)
            Offset and length of each.

        Raises
        ------
        KeyError
            If there is no such file.
        PosegenError
            If the file is missing or damaged; names the shard and the hint.
        """
        expected = self.find(name)
        if expected is None:
            raise KeyError(name)
        try:
            if self.objects is not None:
                return self.objects.read(name, expected, ranges)
            with open_plain(f"{self.path}/{name}") as file:
                if name not in self.checked:
                    self._check(name, file, expected)
                    self.checked.add(name)
                # Requested lengths may come from a forged file: no more is allocated than the file has.
                ranges = [(min(start, expected.bytes), min(length, expected.bytes)) for start, length in ranges]
                return _read_ranges(file, ranges)
        except ValueError as error:
            raise self.damaged(name, str(error)) from error
        except OSError as error:
            shard = layout.shard_of(self.header, name) or 0
            hint = receipts.derive_hint(self.path) if self.header.layer_of(name) else receipts.generate_hint(shard)
            fault = f"cannot be read ({error.strerror})"
            raise DamagedFileError(f"{self.path}: shard {shard}: {name}: {fault}. {hint}", fault) from error

    def damaged(self, name: str, fault: str = "checksum mismatch") -> DamagedFileError:
        """Return the error for a file whose content is wrong."""
        shard = layout.shard_of(self.header, name) or 0
        fault = f"{fault} (receipt {Path(layout.receipt_path(shard)).name})"
        hint = f"Run: posegen verify {self.path} --repair"
        return DamagedFileError(f"{self.path}: shard {shard} is damaged: {name}: {fault}. {hint}", fault)

    def read(self, name: str) -> bytes:
        """Read a whole file as :meth:`read_ranges` does."""
        return self.read_ranges(name, [(0, sys.maxsize)])[0]

    def _check(self, name: str, file: BufferedReader, expected: receipts.StoredFile) -> None:
        digest = hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()
        if receipts.StoredFile(file.tell(), digest) != expected:
            raise self.damaged(name)
        if field := self.header.field_of(name):
            try:
                shard_codec.check_shard(field, partial(_read_ranges, file), file.tell(), self.header.shard, self.header.chunk)
            except ValueError as error:
                raise self.damaged(name, str(error)) from error


def _read_ranges(file: BufferedReader, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    return [os.pread(file.fileno(), length, start) for start, length in ranges]


def open_files(path: AnyPath) -> CheckedFiles:
    """Check the header, folders, Zarr metadata and receipts of a dataset, and that all of its files exist in their sizes.

    In a dataset with a manifest, receipts of the shards in it are read, and sizes are compared, on reading.

    Raises
    ------
    UsageError
        If there is no dataset.
    PosegenError
        If anything is missing or damaged; names the first such file or shard, and the hint.
    """
    header, opened = load_header(path), path
    if (samples := parts.samples_after_repair(path)) > header.samples:
        repair = f"posegen verify {path} --repair"
        hint = "Wait until it has ended" if lock.is_being_written(path) else f"Run: {repair}"
        raise PosegenError(f"{path}: a repair has not finished: {header.samples} of {samples} samples are visible. {hint}")
    layout.check_folders(path, header)
    check_metadata(path, header)
    manifest = load_manifest(path, header)
    covered = manifest.shards if manifest else 0
    if manifest is None:  # to list a large dataset takes long: there, an absent file is an error on reading
        path = storage_of(path).listed()
    files: dict[str, receipts.StoredFile] = {}
    counts = dict.fromkeys(range(covered), header.shard)
    load = partial(receipts.load_receipt, path, header)
    for receipt in storage_of(path).map(load, range(covered, header.shards())):
        shard = receipt.shard
        fault = receipts.find_file_fault(path, receipt)
        if fault is None and receipt.count < header.count(shard):
            fault = f"it has {receipt.count} samples, the dataset has {header.count(shard)} in it"
        if fault:
            raise PosegenError(f"{path}: shard {shard}: {fault}. {receipts.generate_hint(shard)}")
        files |= receipt.files
        counts[shard] = receipt.count
    absent: dict[str, str] = {}
    for layer in header.layers:
        first = covered if manifest and manifest.covers(layer) else 0
        for shard, result in receipts.list_layer_receipts(path, header, layer, range(first, header.shards())):
            if isinstance(result, receipts.Receipt):
                files |= result.files
            else:
                msg = f"{path}: shard {shard}: {result}. {receipts.derive_hint(path)}"
                absent |= {layout.shard_path(entry, shard): msg for entry in layer.fields}
    objects = object_reader.open_objects(opened, header, cached=True)
    return CheckedFiles(opened, header, files, counts, absent, objects, manifest=manifest)
