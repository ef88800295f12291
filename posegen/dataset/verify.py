"""Verify a dataset: read its files, compare them with receipts and header, and report every problem.

Bytes with the hash that their receipt states are those that were written. Decoding them also checks that they contain the
samples whose hashes the receipt states.

Damage never stops the check. Few shards are read at once, in blocks, so that memory does not grow with the dataset. Not
responsible for repairs; see :mod:`posegen.generation.repair`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from secrets import SystemRandom

from posegen.dataset import checked_files, layout, lock, overlays, parts, runs, tables
from posegen.dataset.documents import MAX_BYTES, Origin, unseal
from posegen.dataset.files import exists, read_file
from posegen.dataset.header import find_metadata_faults, header_metadata, inspect_header
from posegen.dataset.layout import Header, Layer
from posegen.dataset.manifest import Manifest, load_manifest, make_manifest
from posegen.dataset.read import open_shard
from posegen.dataset.receipts import Receipt, complete_shards, find_differing, find_size_fault, list_receipts, read_receipt
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.storage.folder import temporary_run
from posegen.dataset.storage.storage import Entry, map_in_order
from posegen.foundations.errors import MissingPathError, PosegenError
from posegen.foundations.machine import available_cores
from posegen.foundations.wording import counted, verb

Progress = Callable[[int, int], None]
_MAX_NAMED = 3
_OVERLAY_RECEIPT = re.compile(r"(?P<folder>[^/]+/[^/]+)/receipts/(?P<kind>[a-z]+)/(?P<shard>[0-9]{5,15})\.json")
_MAX_MISSING = 100_000


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a dataset.

    Attributes
    ----------
    shard : int or None
        The shard that it concerns; None if it concerns none or all.
    file : str
        Path inside the dataset.
    what : str
        What is wrong; continues a sentence that begins with the file's name.
    repairable : bool
        Whether `posegen verify --repair` fixes it. If not, `what` contains the hint.
    layer : str or None
        The layer that it concerns; then only that layer is derived again.
    """

    shard: int | None
    file: str
    what: str
    repairable: bool = True
    layer: str | None = None

    def __str__(self) -> str:
        return f"{'' if self.shard is None else f'shard {self.shard}: '}{self.file}: {self.what}"


def verify(path: str | AnyPath, *, decode: bool = False) -> list[Problem]:
    """List everything that is wrong with a dataset; see :func:`find_problems`."""
    return list(find_problems(to_path(path), decode=decode))


def find_problems(
    path: AnyPath,
    shards: Container[int] | None = None,
    progress: Progress = lambda done, total: None,
    *,
    orphans: bool = True,
    decode: bool = False,
    unchecked: list[str] | None = None,
) -> Generator[Problem]:
    """Find everything that is wrong with a dataset.

    Parameters
    ----------
    path : Path
        Its folder.
    shards : container of int, optional
        Read only these shards; all unless given. Header and Zarr metadata are always checked.
    progress : callable, optional
        Called with the number of shards that were read, and the total.
    orphans : bool, optional
        Whether to search for files that do not belong to the dataset.
    decode : bool, optional
        Whether to decode all files, too, and to compare each sample with its receipt.
    unchecked : list of str, optional
        Receives the files of embeddings, paraphrases and training for which nothing states a hash, such as pages of reports.

    Yields
    ------
    Problem

    Raises
    ------
    UsageError
        If there is no dataset at all.
    """
    if not {layout.HEADER_FILE, layout.MOTION, layout.RECEIPTS}.intersection(storage_of(path).list_names()):
        raise MissingPathError(f"{path}: there is no dataset. Name a folder that `posegen generate` has made")
    header, fault = inspect_header(path)
    if fault:
        yield _header_problem(path, fault, repairable=header is not None)
    if header is None:
        return
    for name in layout.dataset_folders(header):
        if fault := storage_of(path / name).find_folder_fault():
            yield Problem(None, name, fault, repairable=False)
            return  # nothing is read through it
    yield from _check_documents(path, header, with_receipts=shards is None)
    receipts, expected = list[int](), expected_shards(path, header)
    with suppress(OSError):  # reported by the search for orphan files
        receipts = list_receipts(path)
    if expected > len(receipts) + _MAX_MISSING:
        what = f"requires {counted(expected, 'shard')}, and has {counted(len(receipts), 'receipt')}"
        yield Problem(None, layout.HEADER_FILE, what, repairable=False)
        expected = 0
    known = {*receipts, *range(expected)}
    selected = [shard for shard in sorted(known) if shards is None or shard in shards]
    yield from _check_shards(path, header, selected, progress, decode=decode)
    if orphans:
        yield from _find_orphans(path, header, known)
        yield from _check_overlays(path, [] if unchecked is None else unchecked)


def _check_documents(path: AnyPath, header: Header, *, with_receipts: bool) -> Iterator[Problem]:
    """Check the Zarr metadata, and the documents beside the header; the manifest also with the receipts, if so asked."""
    yield from (Problem(None, name, fault) for name, fault in find_metadata_faults(path, header))
    readers: dict[str, Callable[[AnyPath], object]] = {
        layout.MANIFEST_FILE: lambda path: load_manifest(path, header),
        layout.PARTS_FILE: parts.read_parts,
        layout.REPAIR_FILE: parts.samples_after_repair,
    }
    for name, read in readers.items():
        try:
            found = read(path)
        except PosegenError as error:
            yield Problem(None, name, str(error).removeprefix(f"{path / name}: "), repairable=name == layout.MANIFEST_FILE)
            continue
        if isinstance(found, Manifest) and with_receipts and not _is_manifest_true(path, header, found):
            yield Problem(None, name, f"does not match the receipts any more. Run: posegen finish {path}")
        if isinstance(found, int) and found > header.samples and not lock.is_being_written(path):
            yield Problem(
                None, name, f"a repair has not finished: {header.samples} of {counted(found, 'sample')} {verb(found)} visible"
            )


def _check_overlays(path: AnyPath, unchecked: list[str]) -> Iterator[Problem]:
    """Compare the files of embeddings, paraphrases and training with their receipts, and documents with their own hash."""
    files = (f"{folder}/{name}" for folder in layout.OVERLAYS for name in storage_of(path / folder).list())
    names = sorted(name for name in files if not name.rpartition("/")[2].startswith("."))  # locks and temporary files
    hashed = set[str]()
    for name in (name for name in names if name.endswith(".json") and not name.endswith("/zarr.json")):
        hashed |= {name, f"{name.removesuffix('.json')}.npy"}
        try:
            if match := _OVERLAY_RECEIPT.fullmatch(name):
                receipt = overlays.read_overlay_receipt(path / match["folder"], match["kind"], int(match["shard"]))
                hashed |= {f"{match['folder']}/{file}" for file in receipt.files}
                for file in receipt.files:
                    overlays.read_part(path / match["folder"], receipt, file)
            else:
                _check_document(path, name)
        except FileNotFoundError:
            continue  # a run has begun to store it again
        except PosegenError as error:
            file, _, what = str(error).removeprefix(f"{path}/").partition(": ")
            yield Problem(None, file, what, repairable=False)
    unchecked += [name for name in names if name not in hashed]


def _check_document(path: AnyPath, name: str) -> None:
    """Check a document's own hash, and that of the array beside it, if it is the receipt of one; PosegenError otherwise."""
    command = layout.OVERLAYS[name.partition("/")[0]]
    origin = Origin(str(path / name), f"Delete it and run the same `posegen {command}` command again: it is made again")
    expected, array = unseal(read_file(path / name, MAX_BYTES), origin).get("npy_xxh3"), f"{name.removesuffix('.json')}.npy"
    if expected is not None and storage_of(path / array).find_hash() != expected:
        raise Origin(str(path / array), origin.hint).error("is damaged: its hash does not match its receipt")


def choose_shards(path: AnyPath, part: Container[int] | None = None, share: float = 1.0) -> frozenset[int] | None:
    """Choose shards to verify, by the names of receipts.

    Parameters
    ----------
    path : Path
        Folder of a dataset.
    part : container of int, optional
        The shards to choose from; all unless given.
    share : float, optional
        Share of them to choose at random, at least one.

    Returns
    -------
    frozenset of int or None
        None for all shards, or if the header cannot be read, which :func:`find_problems` reports.
    """
    header = inspect_header(path)[0]
    if header is None or (part is None and share >= 1):
        return None
    shards = [shard for shard in sorted({*list_receipts(path), *range(header.shards())}) if part is None or shard in part]
    # Other ones each time, so that repeated checks read the whole dataset in the end.
    return frozenset(SystemRandom().sample(shards, min(len(shards), max(1, round(share * len(shards))))))


def expected_shards(path: AnyPath, header: Header, *, locked: bool = False) -> int:
    """Count the shards that must be complete: the visible ones, and any before a complete one.

    Gaps are expected while another run writes, and until its parts are finished; pass `locked` if the caller itself holds the
    lock.
    """
    visible = header.shards()
    if locked or not (lock.is_being_written(path) or parts.is_made_in_parts(path)):
        with suppress(OSError):  # reported by the search for orphan files
            return max(complete_shards(path, header, lambda shard: shard >= visible), default=visible - 1) + 1
    return visible


def format_samples(samples: list[int]) -> str:
    """Format a list of samples; of many, only the first few.

    Examples
    --------
    >>> format_samples([3]), format_samples([3, 5, 8, 9])
    ('sample 3', 'samples 3, 5, 8 and 1 more')
    """
    named = ", ".join(map(str, samples[:_MAX_NAMED]))
    more = f" and {len(samples) - _MAX_NAMED} more" if len(samples) > _MAX_NAMED else ""
    return f"sample{'s' if len(samples) > 1 else ''} {named}{more}"


def _find_receipt(path: AnyPath, shard: int) -> Entry | None:
    with suppress(OSError):
        return storage_of(path / layout.receipt_path(shard)).find()
    return None


def _header_problem(path: AnyPath, fault: str, *, repairable: bool) -> Problem:
    if not exists(path / layout.HEADER_FILE):
        copy = "" if repairable else f", and {layout.COPY_FILE} is missing or damaged, too"
        fault = f"is missing{copy}. Run the same `posegen generate` command again: complete shards are kept"
    return Problem(None, layout.HEADER_FILE, fault, repairable)


def _check_shards(
    path: AnyPath, header: Header, shards: Sequence[int], progress: Progress, *, decode: bool
) -> Iterator[Problem]:
    """Check shards, several at the same time; reading, decoding and hashing run without Python's lock."""
    seen = storage_of(path).listed()

    def check(shard: int) -> list[Problem]:
        before = _find_receipt(seen, shard)
        problems = list(_check_shard(seen, header, shard, decode=decode))
        if problems and _find_receipt(path, shard) != before:  # a run has stored the shard meanwhile
            problems = list(_check_shard(path, header, shard, decode=decode))
        return problems

    progress(0, len(shards))
    with runs.keep_freed_memory():
        for done, problems in enumerate(map_in_order(check, shards, available_cores(), "verify"), 1):
            yield from problems
            progress(done, len(shards))


def _check_shard(
    path: AnyPath, header: Header, shard: int, layer: Layer | None = None, samples: Receipt | None = None, *, decode: bool
) -> Iterator[Problem]:
    """Check a shard with its layers, or a layer of it, given the receipt of the shard."""
    problem = partial(Problem, shard, layer=layer.name if layer else None)
    name = layout.receipt_path(shard, layer)
    try:
        receipt = read_receipt(path, header, shard, layer, samples)
    except FileNotFoundError:
        yield problem(name, f"is missing, so {f'{layer.name} of this shard' if layer else 'the shard'} is not complete")
        return
    except PosegenError as error:
        yield problem(name, str(error))
        return
    dataset = open_shard(path, header, receipt)
    names = {layout.shard_path(field, shard): field.name for field in (layer or header).fields}
    if layer is None:
        names[layout.rows_path(shard)] = layout.ROWS
        if receipt.count < header.count(shard):
            yield problem(name, f"has {counted(receipt.count, 'sample')}, the dataset has {header.count(shard)} in this shard")
    for file, content in names.items():
        try:
            if file in receipt.files:
                fault = find_size_fault(path / file, receipt.files[file])
            else:
                fault = "exists, and the shard's receipt does not list it" if exists(path / file) else None
            if fault is None and file in receipt.files:
                dataset.check_file(file)
            if fault is None and decode:
                hashes = dataset.compute_hashes(shard, [content])[content], receipt.content[content]
                if differing := find_differing(*hashes, receipt.first):
                    fault = f"content of {content} does not match the receipt in {format_samples(differing)}"
        except checked_files.DamagedFileError as error:
            fault = error.fault
        except OSError as error:
            fault = f"cannot be read ({error.strerror or _first_line(error)})"
        except (PosegenError, *tables.UNDECODABLE) as error:
            fault = f"cannot be decoded ({_first_line(error.__cause__ or error)})"
        if fault:
            yield problem(file, fault)
    if layer is None and 0 < header.count(shard) <= receipt.count:
        for each in header.layers:
            yield from _check_shard(path, header, shard, each, receipt, decode=decode)


def _is_manifest_true(path: AnyPath, header: Header, manifest: Manifest) -> bool:
    """Return whether the receipts are those of the manifest; also if some of them are missing, which is another problem."""
    made = make_manifest(path, header.with_samples(manifest.shards * header.shard))
    return made == manifest or (made.shards, made.layers) != (manifest.shards, manifest.layers)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _find_orphans(path: AnyPath, header: Header, known: Container[int]) -> Iterator[Problem]:
    """Find files and folders that do not belong to a dataset whose shards are `known`."""
    folders = ("", *layout.dataset_folders(header))
    expected = {layout.HEADER_FILE, layout.MANIFEST_FILE, *header_metadata(header)}
    local = storage_of(path).local
    is_busy = lock.is_being_written(path) or (local is None and parts.is_made_in_parts(path))
    if local is None:
        for name in sorted(storage_of(path).list().keys() - expected):
            if name.partition("/")[0] not in layout.OVERLAYS:
                yield from _check_entry(path, header, known, name, "", is_busy=is_busy)
        return
    for folder in folders:
        try:
            for entry in os.scandir(local / folder):
                name, is_folder = f"{folder}/{entry.name}".lstrip("/"), entry.is_dir(follow_symlinks=False)
                kind = "a link" if entry.is_symlink() else "a folder" if is_folder else "no plain file"
                kind = "" if entry.is_file(follow_symlinks=False) else kind
                if name not in expected and not (is_folder and name in (*folders, *layout.OVERLAYS)):
                    yield from _check_entry(path, header, known, name, kind, is_busy=is_busy)
        except FileNotFoundError:
            continue  # its files are reported as missing
        except OSError as error:
            what = f"cannot be listed ({error.strerror}). Check its permissions"
            yield Problem(None, folder or ".", what, repairable=False)


def _check_entry(
    path: AnyPath, header: Header, known: Container[int], name: str, kind: str, *, is_busy: bool
) -> Iterator[Problem]:
    """Describe what is wrong with an entry that is no metadata of the dataset; `kind` is what it is unless a plain file."""
    file, shard = name.rpartition("/")[2], layout.shard_of(header, name)
    run = temporary_run(name)
    if (shard is not None and shard in known) or name == layout.PARTS_FILE:
        return  # checked with its shard, or with the header
    if kind:
        yield Problem(shard, name, f"is {kind} that does not belong to the dataset. Remove it", repairable=False)
    elif file == name and (name == lock.LOCK_FILE or lock.PART_LOCK.fullmatch(name)):
        if not lock.is_held(path / name):
            yield Problem(None, name, "is the lock of a run that has ended")
    elif name == layout.REPAIR_FILE:
        if not is_busy:
            yield Problem(None, name, "is the record of a repair that did not finish")
    elif run is not None:
        if runs.has_ended(run):
            yield Problem(None, name, "is a temporary file of a run that has ended")
        elif not is_busy:
            what = f"is a temporary file of run {run}, which may be running elsewhere. Delete it if that run has ended"
            yield Problem(None, name, what, repairable=False)
    elif shard is None:
        yield Problem(None, name, "does not belong to the dataset. Remove it", repairable=False)
    elif not is_busy and not exists(path / layout.receipt_path(shard)):  # a run may have stored it meanwhile
        yield Problem(shard, name, "belongs to an unfinished shard: there is no receipt")
