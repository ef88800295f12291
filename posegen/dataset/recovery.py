"""A header that is lost, and how it is made again from its copy and from what else tells how many samples there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from posegen.dataset.complete import complete_shards
from posegen.dataset.descriptions import described_samples, descriptions
from posegen.dataset.files import read_file, write_durably
from posegen.dataset.folders import check_folders
from posegen.dataset.headers import header_bytes, is_lost, load_copy, load_header
from posegen.dataset.layout import HEADER_FILE, Header, array_path, group_path
from posegen.errors import PosegenError

__all__ = ["Found", "find_header", "mend_header"]


@dataclass(frozen=True)
class Found:
    """What is known of a dataset's header.

    Attributes
    ----------
    header : Header or None
        As it is, or as its copy has it; None if both are lost.
    fault : str or None
        What is wrong with `dataset.json`: a sentence that goes on from the file's name.
    """

    header: Header | None
    fault: str | None


def find_header(path: Path) -> Found:
    """Find the header of a dataset, whatever state it is in.

    Parameters
    ----------
    path : Path
        Of the dataset.
    """
    copy = load_copy(path)
    try:
        header = load_header(path)
    except PosegenError as error:
        fault = str(error).removeprefix(f"{path / HEADER_FILE}: ").removeprefix(f"{path}: ")
        return Found(_with_samples(path, copy) if copy and is_lost(path) else None, fault)
    if copy and header.with_samples(0) != copy and _tells(path, copy) and not _tells(path, header):
        return Found(_with_samples(path, copy), "is not that of this dataset: its arrays and the header's copy tell of another")
    return Found(header, None)


def mend_header(path: Path, run: str, identity: str | None = None) -> None:
    """Write `dataset.json` anew if it is lost and there is what to make it from.

    Parameters
    ----------
    path : Path
        Of the dataset.
    run : str
        The run that writes; it must hold the lock.
    identity : str, optional
        Leave the header of any other dataset as it is.
    """
    found = find_header(path)
    if found.header and found.fault and identity in (None, found.header.identity):
        check_folders(path, found.header)
        write_durably(path / HEADER_FILE, header_bytes(found.header), run)


def _with_samples(path: Path, copy: Header) -> Header:
    """Complete the copy by how many samples there are.

    The arrays say it. When a run dies while it publishes, some may say more, but none says less than the header did. Complete
    shards are never given up, whatever the arrays say.
    """
    described = [samples for field in copy.fields if (samples := _told(path, copy, array_path(field.name))) is not None]
    try:
        complete = complete_shards(path, copy)
    except PosegenError:  # a link in the place of a folder, which is another fault than this
        complete = {}
    last = max(complete, default=0)
    return copy.with_samples(max(min(described, default=0), last * copy.shard + complete.get(last, 0)))


def _told(path: Path, copy: Header, name: str) -> int | None:
    """Tell how many samples an array has, if its description is sound."""
    try:
        data = read_file(path / name, 2 * len(descriptions(copy)[name]))
    except (FileNotFoundError, PosegenError):
        return None
    samples = described_samples(data)
    return samples if samples is not None and descriptions(copy.with_samples(samples))[name] == data else None


def _tells(path: Path, header: Header) -> bool:
    """Tell whether the group of arrays is that of a header."""
    wanted = descriptions(header)[group_path()]
    try:
        return read_file(path / group_path(), len(wanted)) == wanted
    except (FileNotFoundError, PosegenError):
        return False
