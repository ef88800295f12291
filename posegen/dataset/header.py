"""Read `dataset.json`, and recover it from its copy and from the arrays if it is lost.

Not responsible for what a header may contain; see :mod:`posegen.dataset.layout`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict

from posegen.dataset.documents import STRICT, Count, Origin, read_sealed, seal, unseal
from posegen.dataset.files import has_content, read_file, write_durably
from posegen.dataset.layout import COPY_FILE, COPY_KEY, GROUP_FILE, HEADER_FILE, REPAIR_FILE, Header, array_path, check_folders
from posegen.dataset.receipts import complete_shards
from posegen.dataset.zarr_metadata import described_samples, header_metadata
from posegen.errors import PosegenError, UsageError

_MAX_BYTES = 4 * 2**20  # a thousand times the usual size
_MAX_RECORD_BYTES = 1000


def is_dataset(path: Path) -> bool:
    """Return whether there is a dataset at `path`, in whatever state."""
    return (path / HEADER_FILE).is_file()


def load_header(path: Path) -> Header:
    """Read the header of the dataset at `path`.

    Parameters
    ----------
    path : Path

    Raises
    ------
    UsageError
        If there is no dataset.
    PosegenError
        If its header is missing, damaged or has a later format version.
    """
    if not os.path.isdir(path):  # False also for names that cannot exist
        msg = f"{path}: is not a dataset: there is no such folder. Name a folder that `posegen generate` has made"
        raise UsageError(msg)
    file = path / HEADER_FILE
    generate = "run the same `posegen generate` command again: complete shards are kept."
    # Without a valid copy, only the generate command knows what the header was.
    repair = f"Run: posegen verify {path} --repair, or " if _load_copy(path) else ""
    try:
        data = read_file(file, _MAX_BYTES)
    except FileNotFoundError as error:
        if os.path.lexists(path / COPY_FILE):
            msg = f"{file}: is missing. {_capitalize(repair + generate)}"
            raise PosegenError(msg) from error
        msg = f"{path}: is not a dataset: it has no {HEADER_FILE}. Name a folder that `posegen generate` has made"
        raise UsageError(msg) from error
    origin = Origin(str(file), _capitalize(f"{repair}delete it and {generate}"))
    return Header.from_json(unseal(data, origin), origin)


@dataclass(frozen=True)
class HeaderState:
    """What is known about the header of a dataset.

    Attributes
    ----------
    header : Header or None
        The header, read or recovered; None if it is lost and its copy, too.
    fault : str or None
        What is wrong with `dataset.json`; continues a sentence that begins with the file's name.
    """

    header: Header | None
    fault: str | None


def inspect_header(path: Path) -> HeaderState:
    """Read the header of a dataset in whatever state, or recover it."""
    copy = _load_copy(path)
    try:
        header = load_header(path)
    except PosegenError as error:
        fault = str(error).removeprefix(f"{path / HEADER_FILE}: ").removeprefix(f"{path}: ")
        return HeaderState(_recover_samples(path, copy) if copy and _is_lost(path) else None, fault)
    if copy and header.with_samples(0) != copy and _matches_arrays(path, copy) and not _matches_arrays(path, header):
        fault = "belongs to another dataset than the arrays and the header's copy"
        return HeaderState(_recover_samples(path, copy), fault)
    return HeaderState(header, None)


def repair_header(path: Path, run: str, identity: str | None = None) -> None:
    """Write `dataset.json` again if it is lost and can be recovered.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    run : str
        The run that writes; it must hold the lock.
    identity : str, optional
        Do not change the header of any other dataset.
    """
    state = inspect_header(path)
    if state.header and state.fault and identity in (None, state.header.identity):
        check_folders(path, state.header)
        write_durably(path / HEADER_FILE, state.header.to_bytes(), run)


@dataclass(frozen=True)
class _RepairRecord:
    """Content of ``REPAIR_FILE``: the number of samples that the dataset will have."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    samples: Count


def record_repair(path: Path, samples: int, run: str) -> None:
    """Record that a dataset will have `samples` samples again; until then, readers refuse it if it shows fewer."""
    write_durably(path / REPAIR_FILE, seal(_RepairRecord(samples)), run)


def samples_after_repair(path: Path) -> int:
    """Return the number of samples that an unfinished repair recorded; 0 if there is none, or its record is damaged."""
    try:
        data = read_file(path / REPAIR_FILE, _MAX_RECORD_BYTES)
        return read_sealed(_RepairRecord, data, Origin(REPAIR_FILE, "")).samples
    except (FileNotFoundError, PosegenError):
        return 0


def _is_lost(path: Path) -> bool:
    """Return whether the header is missing, damaged or replaced by another document; one of a later format is not lost."""
    try:
        document = unseal(read_file(path / HEADER_FILE, _MAX_BYTES), Origin(HEADER_FILE, ""))
    except (FileNotFoundError, PosegenError):
        return True
    return COPY_KEY in document or "format_version" not in document


def _load_copy(path: Path) -> Header | None:
    """Read the copy of the header; None if there is no valid one."""
    origin = Origin(COPY_FILE, "")
    try:
        document = unseal(read_file(path / COPY_FILE, _MAX_BYTES), origin)
        document.pop(COPY_KEY, None)  # absent if the two files were exchanged
        return Header.from_json(document, origin).with_samples(0)
    except (FileNotFoundError, PosegenError):
        return None


def _recover_samples(path: Path, copy: Header) -> Header:
    """Return the copy with the number of samples that the arrays have.

    If a run died while it published, some arrays may be longer than the header said, but none is shorter. Complete shards
    always count, whatever the arrays say.
    """
    sizes = [size for field in copy.fields if (size := _array_size(path, copy, array_path(field.name))) is not None]
    try:
        complete = complete_shards(path, copy)
    except PosegenError:  # a link in place of a folder, which is reported separately
        complete = {}
    last = max(complete, default=0)
    return copy.with_samples(max(min(sizes, default=0), last * copy.shard + complete.get(last, 0)))


def _array_size(path: Path, copy: Header, name: str) -> int | None:
    """Return the number of samples of an array; None if its metadata is missing or damaged."""
    try:
        data = read_file(path / name, 2 * len(header_metadata(copy)[name]))
    except (FileNotFoundError, PosegenError):
        return None
    samples = described_samples(data)
    return samples if samples is not None and header_metadata(copy.with_samples(samples))[name] == data else None


def _matches_arrays(path: Path, header: Header) -> bool:
    """Return whether the Zarr group belongs to a header."""
    return has_content(path / GROUP_FILE, header_metadata(header)[GROUP_FILE])


def _capitalize(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
