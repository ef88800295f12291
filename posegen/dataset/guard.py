"""The guard: no byte of a dataset is believed before it has been compared with its receipt.

On opening, receipts are read and every file must be there in its size. When a file is touched for the first time, its bytes
are hashed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import xxhash

from posegen.dataset.complete import again, complete_prefix, files_fault, load_receipt
from posegen.dataset.descriptions import described_samples, descriptions
from posegen.dataset.files import open_plain, read_file
from posegen.dataset.layers import derive_again, layer_of, layer_receipts
from posegen.dataset.layout import MOTION, Header, Receipt, StoredFile, receipt_path, shard_path
from posegen.dataset.objects import object_fault
from posegen.errors import PosegenError

__all__ = ["Guard", "check_descriptions", "description_faults", "guard_files"]

_BLOCK = 2**20
_MORE_DIGITS = 20  # of the number of samples, if the arrays are ahead


@dataclass(frozen=True)
class Guard:
    """What a dataset's files must be like.

    Attributes
    ----------
    path : Path
        Of the dataset.
    header : Header
    files : mapping of str to StoredFile
        All files of the visible shards by their path inside the dataset.
    shards : mapping of str to int
        The shard that each of these files belongs to.
    counts : mapping of int to int
        The samples that each shard holds, which may be more than are visible.
    absent : mapping of str to str
        The files of layers that are not there, or not to be believed, and what to tell who asks for them.
    trusted : set of str
        The files whose bytes have been checked.
    """

    path: Path
    header: Header
    files: Mapping[str, StoredFile]
    shards: Mapping[str, int]
    counts: Mapping[int, int]
    absent: Mapping[str, str] = field(default_factory=dict)
    trusted: set[str] = field(default_factory=set)

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Read bytes of a file that :attr:`files` names, checking all of the file the first time.

        Parameters
        ----------
        name : str
            Path inside the dataset.
        start : int
            Where to begin.
        length : int, optional
            How many bytes; all that follow unless given.

        Raises
        ------
        PosegenError
            If the file is missing or damaged; names the shard and the cure.
        """
        return self.ranges(name, [(start, -1 if length is None else length)])[0]

    def ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Like :meth:`read`, of several parts of a file, each given by where it begins and its length."""
        try:
            with open_plain(self.path / name) as file:
                if name not in self.trusted:
                    self._check(name, file.fileno())
                    self.trusted.add(name)
                return [self._part(file, start, length) for start, length in ranges]
        except OSError as error:
            shard = self.shards[name]
            cure = derive_again(self.path) if layer_of(self.header, name) else again(shard)
            msg = f"{self.path}: shard {shard}: {name} cannot be read ({error.strerror}). {cure}"
            raise PosegenError(msg) from error

    @staticmethod
    def _part(file: BinaryIO, start: int, length: int) -> bytes:
        file.seek(start)
        return file.read(length)

    def _check(self, name: str, handle: int) -> None:
        digest = xxhash.xxh3_128()
        size = 0
        while block := os.pread(handle, _BLOCK, size):
            digest.update(block)
            size += len(block)
        if StoredFile(size, digest.hexdigest()) != self.files[name]:
            raise self.damaged(name)
        folder, _, rest = name.partition("/")
        fault = object_fault(handle, self.header, self.header.field(rest.partition("/")[0])) if folder == MOTION else None
        if fault:
            raise self.damaged(name, fault)

    def damaged(self, name: str, fault: str = "does not have the bytes that its receipt tells of") -> PosegenError:
        """Make the error that says what is wrong with a file."""
        shard, layer = self.shards[name], layer_of(self.header, name)
        command = "the generate command that made it" if layer is None else f"`posegen derive {self.path}`"
        return PosegenError(
            f"{self.path}: shard {shard} is damaged: {name} {fault}. "
            f"Run `posegen verify {self.path} --repair`, or delete {receipt_path(shard, layer)} in it and run {command} "
            f"again: both make just {'this shard' if layer is None else 'that'} again"
        )

    def check_there(self, name: str) -> None:
        """Refuse to tell of a file of a layer that it holds nothing, where it is not there and ought to be.

        Raises
        ------
        PosegenError
            Names the layer, the shard and the cure.
        """
        if name in self.absent:
            raise PosegenError(self.absent[name])


def guard_files(path: Path, header: Header) -> Guard:
    """Check receipts, and that the files of all visible shards are there in their sizes.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header

    Raises
    ------
    PosegenError
        Names the first shard that is not as it should be, and the cure.
    """
    files: dict[str, StoredFile] = {}
    shards: dict[str, int] = {}
    counts: dict[int, int] = {}
    for shard in range(header.shards()):
        receipt = load_receipt(path, header, shard)
        fault = files_fault(path, receipt) or _too_short(receipt, header.count(shard))
        if fault:
            msg = f"{path}: shard {shard}: {fault}. {again(shard)}"
            raise PosegenError(msg)
        files |= receipt.files
        shards |= dict.fromkeys(receipt.files, shard)
        counts[shard] = receipt.count
    absent: dict[str, str] = {}
    for layer in header.layers:
        for shard, found in layer_receipts(path, header, layer):
            if isinstance(found, Receipt):
                files.update(found.files)
                shards.update(dict.fromkeys(found.files, shard))
            else:
                msg = f"{path}: shard {shard}: {found}. {derive_again(path)}"
                absent |= {shard_path(entry, shard): msg for entry in layer.fields}
    return Guard(path, header, files, shards, counts, absent)


def _too_short(receipt: Receipt, wanted: int) -> str | None:
    return None if receipt.count >= wanted else f"it holds {receipt.count} samples of the {wanted} that the dataset has in it"


def check_descriptions(path: Path, header: Header) -> None:
    """Check that the `zarr.json` files are those that the header asks for; its copy does not matter to who reads.

    A run may have died after it had told the arrays, and before it had told the header, that there are more samples: then the
    arrays may be longer, though not longer than the complete shards.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header

    Raises
    ------
    PosegenError
        If one is missing or different.
    """
    for name, fault in description_faults(path, header):
        if not name.startswith(MOTION):
            continue
        msg = (
            f"{path}: {name} {fault}. "
            "Run the generate command that made the dataset again: it writes the file anew and keeps all shards"
        )
        raise PosegenError(msg)


def description_faults(path: Path, header: Header) -> Iterator[tuple[str, str]]:
    """Find the `zarr.json` files that are not those that the header asks for, and the header's copy if it is none.

    Yields
    ------
    (str, str)
        Path inside the dataset, and what is wrong with the file.
    """
    for name, wanted in descriptions(header).items():
        try:
            data = read_file(path / name, len(wanted) + _MORE_DIGITS)
        except FileNotFoundError:
            yield name, "is missing"
            continue
        except PosegenError as error:
            yield name, str(error).removeprefix(f"{path / name}: ")
            continue
        if data == wanted:
            continue
        samples = described_samples(data) or 0
        ahead = header.with_samples(samples)
        if samples > header.samples and descriptions(ahead)[name] == data and samples <= complete_prefix(path, header):
            continue
        yield name, "is not what the header describes"
