"""Read the files of a dataset so that no byte is used before its file has been compared with its receipt.

When a dataset is opened, receipts are read and every file must exist in its size; of a large dataset, its manifest is read.
When a file is read for the first time, all of its bytes are hashed.

:mod:`posegen.dataset.checked_store` gives Zarr the same view.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader
from pathlib import Path

import xxhash

from posegen.dataset import receipts
from posegen.dataset.bucket import AnyPath, BucketPath, listed, map_files
from posegen.dataset.files import open_plain
from posegen.dataset.header import check_metadata, load_header, samples_after_repair
from posegen.dataset.layout import MOTION, ROWS, SEQUENCES, Header, check_folders, receipt_path, shard_of, shard_path
from posegen.dataset.lock import is_being_written
from posegen.dataset.manifest import Manifest, load_manifest
from posegen.dataset.object_reader import ObjectReader
from posegen.dataset.read_cache import open_cache
from posegen.dataset.receipts import Receipt, StoredFile
from posegen.dataset.shard_codec import check_shard
from posegen.errors import PosegenError


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
        Expected size and hash of each file that is not in `manifest`, by its path inside the dataset.
    counts : mapping of int to int
        Number of samples in each shard, which may be more than are visible.
    absent : mapping of str to str
        Files of layers that are missing or invalid, and the error message for their readers.
    objects : ObjectReader, optional
        Reads the files of a dataset in a bucket.
    checked : set of str
        The files whose bytes have been hashed.
    manifest : Manifest, optional
        Expected sizes and hashes of the other files.
    """

    path: AnyPath
    header: Header
    listed: Mapping[str, StoredFile]
    counts: Mapping[int, int]
    absent: Mapping[str, str] = field(default_factory=dict)
    objects: ObjectReader | None = None
    checked: set[str] = field(default_factory=set)
    manifest: Manifest | None = None

    def find(self, name: str) -> StoredFile | None:
        """Return the expected size and hash of a file, by its path inside the dataset; None if there is no such file."""
        return self.listed.get(name) or (self.manifest.find(name) if self.manifest else None)

    def size(self, name: str) -> int:
        """Return the size of a file of the dataset in bytes; KeyError if there is no such file."""
        return self._expected(name).bytes

    def sizes(self) -> dict[str, int]:
        """Return the size on disk of each field and of the rows, in bytes by name."""
        sizes = dict.fromkeys((*(field.name for field in self.header.all_fields), ROWS), 0)
        for name, size in self.manifest.sizes().items() if self.manifest else ():
            sizes[name] += size
        for name, file in self.listed.items():
            folder, _, rest = name.partition("/")
            sizes[ROWS if folder == SEQUENCES else rest.partition("/")[0]] += file.bytes
        return sizes

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Read bytes of a file of the dataset, checking the whole file the first time.

        Parameters
        ----------
        name : str
            Path inside the dataset.
        start : int
            Offset of the first byte.
        length : int, optional
            Number of bytes; up to the end of the file unless given.

        Raises
        ------
        PosegenError
            If the file is missing or damaged; names the shard and the hint.
        """
        return self.read_ranges(name, [(start, self.size(name) if length is None else length)])[0]

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several parts of a file, each given by its offset and length, as :meth:`read` does."""
        size = self.size(name)
        try:
            path = self.path / name
            if isinstance(path, BucketPath):
                assert self.objects is not None
                return self.objects.read(name, self._expected(name), ranges)
            with open_plain(path) as file:
                if name not in self.checked:
                    self._check(name, file)
                    self.checked.add(name)
                # Requested lengths may come from a forged file: no more is allocated than the file has.
                ranges = [(min(start, size), min(length, size)) for start, length in ranges]
                return [os.pread(file.fileno(), length, start) for start, length in ranges]
        except ValueError as error:
            raise self.damaged(name, str(error)) from error
        except OSError as error:
            shard = shard_of(self.header, name) or 0
            hint = receipts.derive_hint(self.path) if self.header.layer_of(name) else receipts.generate_hint(shard)
            fault = f"cannot be read ({error.strerror})"
            raise DamagedFileError(f"{self.path}: shard {shard}: {name}: {fault}. {hint}", fault) from error

    def _expected(self, name: str) -> StoredFile:
        file = self.find(name)
        if file is None:
            raise KeyError(name)
        return file

    def damaged(self, name: str, fault: str = "checksum mismatch") -> DamagedFileError:
        """Return the error for a file whose content is wrong."""
        shard = shard_of(self.header, name) or 0
        fault = f"{fault} (receipt {Path(receipt_path(shard)).name})"
        hint = f"Run: posegen verify {self.path} --repair"
        return DamagedFileError(f"{self.path}: shard {shard} is damaged: {name}: {fault}. {hint}", fault)

    def check_present(self, name: str) -> None:
        """Raise PosegenError if a file that :meth:`find` does not know should exist: it belongs to an incomplete layer."""
        if name in self.absent:
            raise PosegenError(self.absent[name])

    def _check(self, name: str, file: BufferedReader) -> None:
        digest = hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()
        if StoredFile(file.tell(), digest) != self.find(name):
            raise self.damaged(name)
        folder, _, rest = name.partition("/")
        if folder == MOTION:
            field = self.header.field(rest.partition("/")[0])
            try:
                size, read = file.tell(), lambda start, length: os.pread(file.fileno(), length, start)
                check_shard(field, read, size, self.header.shard, self.header.chunk)
            except ValueError as error:
                raise self.damaged(name, str(error)) from error


def open_files(path: AnyPath) -> CheckedFiles:
    """Check the header, folders, Zarr metadata and receipts of a dataset, and that all of its files exist in their sizes.

    In a dataset with a manifest, that is read instead of the receipts of the shards in it, and sizes are compared on reading.

    Raises
    ------
    UsageError
        If there is no dataset.
    PosegenError
        If anything is missing or damaged; names the first such file or shard, and the hint.
    """
    header, opened = load_header(path), path
    if (samples := samples_after_repair(path)) > header.samples:
        repair = f"posegen verify {path} --repair"
        hint = "Wait until it has ended" if is_being_written(path) else f"Run: {repair}"
        raise PosegenError(f"{path}: a repair has not finished: {header.samples} of {samples} samples are visible. {hint}")
    check_folders(path, header)
    check_metadata(path, header)
    manifest = load_manifest(path, header)
    covered = manifest.shards if manifest else 0
    if manifest is None:  # to list a large dataset takes long: there, an absent file is an error on reading
        path = listed(path)
    files: dict[str, StoredFile] = {}
    counts = dict.fromkeys(range(covered), header.shard)
    load = partial(receipts.load_receipt, path, header)
    for receipt in map_files(path, load, range(covered, header.shards())):
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
        first = covered if manifest and layer in manifest.layers else 0
        for shard, result in receipts.list_layer_receipts(path, header, layer, range(first, header.shards())):
            if isinstance(result, Receipt):
                files |= result.files
            else:
                msg = f"{path}: shard {shard}: {result}. {receipts.derive_hint(path)}"
                absent |= {shard_path(entry, shard): msg for entry in layer.fields}
    objects = ObjectReader(opened, header, open_cache(os.environ)) if isinstance(opened, BucketPath) else None
    return CheckedFiles(opened, header, files, counts, absent, objects, manifest=manifest)
