"""``posegen.export``: write the sequences of a dataset in a format of other programs, shard by shard.

A worker writes the clips of a shard to a folder of its own, moves or uploads them when they are on the disk, and then writes
the shard's record, which holds their sizes and hashes and what the files about all clips are made of. The same call resumes and
repairs: a shard is complete if its record and files are intact. When all are there, the records are combined in the order of
the shards, so that the result does not depend on workers or interruptions.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from posegen.config.schema import Config
from posegen.dataset.files import check_real_folders, exists, read_file, remove_durably, write_durably
from posegen.dataset.layout import Header
from posegen.dataset.lock import shared_lock
from posegen.dataset.parts import Part, parse_part
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.receipts import StoredFile
from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.splits import SPLITS
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.storage.folder import place_files
from posegen.exchange.bucket import download_folder, upload_folder
from posegen.exchange.clip import Clip, clip_name
from posegen.exchange.export_format import PARTS, RECORDS, ExportFormat, Shard, find_format
from posegen.exchange.export_record import (
    COMPLETE,
    ExportRecord,
    find_intact,
    read_record,
    recorded_files,
    write_record,
)
from posegen.exchange.features263 import standard_skeleton
from posegen.exchange.selection import Selection, choose, estimate_bytes, scale_frames, select_sequences, why_unfit
from posegen.fields.field import Sequences, compute_fields, fields_with_arrays
from posegen.fields.rotation import bone_offsets
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import STORED_ARRAYS
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes
from posegen.foundations.validation import validated
from posegen.generation.header import bytes_per_sample, stored_config
from posegen.generation.jobs import JobError, LostJob, run_jobs
from posegen.generation.plan import MARGIN
from posegen.generation.session import write_session
from posegen.generation.shard import BLOCK_BYTES, prepare_worker
from posegen.library.load import Library, load_library
from posegen.synthesis.synthesize import synthesize

_SELECTION = "selection.json"
_UNPLACED = "posegen-writing~"
"""Beginning of the name of the folder in which a worker writes a shard."""
_BLOCK = 32
"""Samples that are read at once."""
_NAMED = 3
_MOST_SELECTION_BYTES = 1 << 30


@dataclass(frozen=True)
class ExportResult:
    """Summary of an export.

    Attributes
    ----------
    path : Path or BucketPath
    clips : int
        In the export.
    left_out : dict of str to int
        Selected sequences that the format cannot hold, by reason.
    seconds : float
    nothing_to_do : bool
        Whether it, or the part, was complete before.
    part : str or None
        The part that this run exported, such as ``3/16``; then `clips` and `left_out` are those of the part.
    """

    path: AnyPath
    clips: int
    left_out: dict[str, int]
    seconds: float
    nothing_to_do: bool
    part: str | None = None


@dataclass(frozen=True)
class _Job:
    """The clips of one shard."""

    dataset: AnyPath
    out: AnyPath
    shard: int
    selection: Selection
    config: Config | None
    run: str


def export(
    path: str | AnyPath,
    to: str,
    out: str | AnyPath,
    *,
    splits: Sequence[str] = tuple(SPLITS),
    variants: Sequence[str] = (),
    where: str = "",
    fps: int | None = None,
    workers: int | None = None,
    part: Part | str | None = None,
    progress: Progress | None = None,
) -> ExportResult:
    """Write sequences of a dataset in another format.

    Parameters
    ----------
    path : str, Path or BucketPath
        Dataset folder, or its address in a bucket.
    to : str
        Name of the format; see :data:`posegen.foundations.plugins.EXPORTS`.
    out : str, Path or BucketPath
        Folder to write, or its address in a bucket. The same call resumes an interrupted export.
    splits : sequence of str
        Splits to export; all by default.
    variants : sequence of str
        Variants to export; all by default.
    where : str
        SQL condition on the columns of the rows, such as ``duration > 4 AND theme = 'gym'`` (needs DuckDB).
    fps : int, optional
        Frames per second: 20, 25, 30, 60 or 120. By default that of the format, or else that of the dataset.
    workers : int, optional
        Number of processes; one for each core by default.
    part : Part or str, optional
        Export only this part of the shards, such as ``"3/16"``; other runs may export the others at the same time. The same
        call without a part writes the files about all clips.
    progress : Progress, optional
        Nothing is shown by default.

    Raises
    ------
    UsageError
        If there is no such format, split, variant or column, a package is missing, or `out` holds another export.
    PosegenError
        If no clip remains, the disk has no room for them, the dataset is damaged or cannot be synthesized at the rate of the
        format, or `out` cannot be written.
    """
    started = time.monotonic()
    path, out, form = to_path(path), to_path(out), find_format(to)
    _open.cache_clear()
    dataset, progress = _open(path), progress or Progress()
    part, run, workers = parse_part(part), current_run(), workers or available_cores()
    shards = [shard for shard in range(dataset.header.shards()) if part is None or shard in part]
    selection = select_sequences(dataset, form, splits, variants, where, fps)
    config = _config_at(path, dataset.header, selection.fps)
    with write_session(out, run, create=True, part=part.lock_name if part else "") as check:
        check_real_folders(out / RECORDS)
        there = storage_of(out).listed()
        is_finished = find_intact(there, COMPLETE) is not None
        missing = _missing(there, shards, progress, has_parts=not is_finished)
        with shared_lock(out, run, is_part=part is not None):
            needed = estimate_bytes(dataset, form, selection, missing)
            _check_free_space(out, needed, storage_of(out).free_bytes())
            _keep_selection(out, selection)
            damaged = [*map(_record_name, missing), *([] if is_finished or part else [COMPLETE])]
            for name in damaged:
                if exists(there / RECORDS / name):
                    remove_durably(out / RECORDS / name)
        jobs = [_Job(path, out, shard, selection, config, run) for shard in missing]
        try:
            _run(jobs, workers, progress, check)
        finally:
            _remove_unplaced(out, run)
        if part:
            clips, left_out = _combine(out, shards)
            return ExportResult(out, clips, left_out, time.monotonic() - started, not missing, str(part))
        clips, left_out = _combine(out, shards)
        if not is_finished:
            _finish(out, form, shards, run)
        _remove_parts(out)  # also if the process was killed between these steps
    return ExportResult(out, clips, left_out, time.monotonic() - started, is_finished and not missing)


def exported_files(out: Path, path: AnyPath) -> Mapping[str, StoredFile]:
    """Return size and hash of the files of a complete export of the dataset at `path`, by their names inside the export."""
    return recorded_files(out, map(_record_name, range(_open(path).header.shards())))


def _missing(out: AnyPath, shards: Sequence[int], progress: Progress, *, has_parts: bool) -> list[int]:
    """Return the shards without an intact record and intact files in an export."""
    progress.start("check", len(shards), unit="shards")
    missing = []
    for done, shard in enumerate(shards, 1):
        if find_intact(out, _record_name(shard), has_parts=has_parts) is None:
            missing.append(shard)
        progress.update(done)
    progress.stop()
    return missing


def _config_at(path: AnyPath, header: Header, fps: int) -> Config | None:
    """Return the config of the same scenes at another frame rate; None if the stored frames can be used."""
    if header.fps == fps:
        return None
    config = stored_config(path, header)
    scaled = config.as_data()
    scaled |= {"fps": fps, "frames": scale_frames(config.frames, config.fps, fps)}
    if config.length is not None:
        bounds = {key: scale_frames(getattr(config.length, key), config.fps, fps) for key in ("min", "max")}
        scaled["length"] = {**scaled["length"], **bounds}
    return validated(Config, scaled, lambda key: f"{path}: cannot be synthesized at {fps} frames per second: ")


def _check_free_space(out: AnyPath, needed: int, free: int) -> None:
    """Raise PosegenError if the rest of an export needs more bytes than are free."""
    if needed and needed + MARGIN > free:
        raise PosegenError(
            f"{out}: the export needs about {human_bytes(needed)}, and {human_bytes(MARGIN)} must stay free, but only "
            f"{human_bytes(free)} are free. Free some space, select fewer sequences, or choose another disk with --out"
        )


def _keep_selection(out: AnyPath, selection: Selection) -> None:
    """Write the selection into the folder, or compare it with the one that is there."""
    document = json.dumps(asdict(selection), indent=2).encode()
    path = out / RECORDS / _SELECTION
    if not exists(path):
        is_empty = all(name == RECORDS or name.startswith(".") for name in storage_of(out).list_names())
        if not is_empty and not exists(path):  # where there are no locks, another part may have begun meanwhile
            raise UsageError(f"{out}: is not empty. Choose another folder")
        storage_of(out / PARTS).make_folder()
        write_durably(path, document, expected=b"")
    if read_file(path, _MOST_SELECTION_BYTES) != document:
        held = f"holds the export of other sequences, or in another format, or {RECORDS}/{_SELECTION} is damaged"
        raise UsageError(f"{out}: {held}. Choose another folder")


def _record_name(shard: int) -> str:
    return f"{shard:06}.json"


def _run(jobs: Sequence[_Job], workers: int, progress: Progress, check: Callable[[], None]) -> None:
    """Export shards."""
    if not jobs:
        return
    done, lost, config = 0, [], jobs[0].config
    load = partial(prepare_worker, config, 0, load_library(config.story.library)) if config else None
    progress.start("export", len(jobs), unit="shards")
    try:
        with closing(run_jobs(_export_shard, jobs, min(workers, len(jobs)), load=load, find=_find_shard)) as outcomes:
            for outcome in outcomes:
                check()
                if isinstance(outcome, LostJob):
                    lost.append(f"shard {outcome.job.shard}: {outcome.reason}")
                    continue
                done += 1
                progress.update(done)
    finally:
        progress.stop()
    if lost:
        first = "; ".join(lost[:_NAMED])
        raise PosegenError(
            f"{jobs[0].out}: {len(lost)} of {len(jobs)} shards could not be exported ({first}). Run the same command again"
        )


@lru_cache(1)
def _open(path: AnyPath) -> Dataset:
    """Open the dataset once for all shards that this process exports."""
    return open_dataset(path)


def _find_shard(job: _Job) -> int | None:
    """Return the number of a shard that has a record."""
    return job.shard if exists(job.out / RECORDS / _record_name(job.shard)) else None


def _export_shard(job: _Job) -> int:
    """Write the clips of a shard and its record."""
    form, dataset = find_format(job.selection.form), _open(job.dataset)
    library = load_library(dataset.config.story.library)
    left_out: Counter[str] = Counter()
    count = 0

    def blocks() -> Iterator[list[Clip]]:
        nonlocal count
        for clips in _shard_clips(job, form, dataset, library, left_out):
            count += len(clips)
            yield clips

    try:
        with _unplaced(job.out, job.run) as folder:
            (folder / PARTS).mkdir(parents=True)
            content = form.write(blocks(), Shard(folder, job.shard, library, standard_skeleton()))
            record = ExportRecord(count, dict(left_out), dict(content), _place(folder, job.out))
    except PosegenError as error:
        raise JobError(str(error)) from error
    write_record(job.out, _record_name(job.shard), record)
    return job.shard


@contextmanager
def _unplaced(out: AnyPath, run: str) -> Iterator[Path]:
    """Make a folder of this machine for files that are moved or uploaded from it, and remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_UNPLACED}{run}~", dir=_folder_of_unplaced(out)))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _folder_of_unplaced(out: AnyPath) -> Path:
    """Return the folder that unplaced files are in: on the disk of the export, or for a bucket that of temporary files."""
    local = storage_of(out).local
    return local / RECORDS if local else Path(tempfile.gettempdir())


def _place(folder: Path, out: AnyPath) -> dict[str, StoredFile]:
    """Move all files of a folder into the export, or upload them; return their sizes and hashes once they are durable."""
    paths = sorted(Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    files = {
        path.relative_to(folder).as_posix(): StoredFile(path.stat().st_size, storage_of(path).find_hash()) for path in paths
    }
    if local := storage_of(out).local:
        place_files(folder, local, list(files))
    else:
        upload_folder(folder, storage_of(out).path)
    return files


def _finish(out: AnyPath, form: ExportFormat, shards: Sequence[int], run: str) -> None:
    """Write the files about all clips, and the last record."""
    contents = (record.content for record in _records(out, shards))
    with _unplaced(out, run) as folder:
        (folder / RECORDS).mkdir()
        if local := storage_of(out).local:
            (folder / PARTS).symlink_to((local / PARTS).absolute(), target_is_directory=True)
        else:
            is_whole = download_folder(storage_of(out / PARTS).path, folder / PARTS)
            if exists(out / RECORDS / COMPLETE):  # another run has finished, and may have removed parts before they were read
                return
            if not is_whole:
                raise PosegenError(f"{out}: another run has changed it meanwhile. Run the same command again")
        form.finish(folder, contents)
        shutil.rmtree(folder / RECORDS)
        write_record(out, COMPLETE, ExportRecord(0, {}, {}, _place(folder, out)))


def _remove_parts(out: AnyPath) -> None:
    storage_of(out / PARTS).remove_folder()


def _remove_unplaced(out: AnyPath, run: str) -> None:
    """Remove the folders of shards that workers of this run, or of ended ones, were writing when they died."""
    for folder in _folder_of_unplaced(out).glob(f"{_UNPLACED}*"):
        name = folder.name.split("~")[1]
        if name == run or has_ended(name):
            shutil.rmtree(folder, ignore_errors=True)


def _shard_clips(
    job: _Job, form: ExportFormat, dataset: Dataset, library: Library, left_out: Counter[str]
) -> Iterator[list[Clip]]:
    """Yield the selected clips of a shard in blocks, and count sequences that the format cannot hold."""
    header = dataset.header
    chosen = choose(dataset, job.shard, job.selection)
    samples = np.array(sorted({sample for sample, _ in chosen}), np.int64)
    if job.config is None:
        step = header.chunk * max(1, _BLOCK // header.chunk)  # whole chunks, so that each is decoded once
    else:
        step = max(1, BLOCK_BYTES * header.fps // (bytes_per_sample(header) * job.config.fps))
    for numbers in _split_at(samples, step, job.shard * header.shard):
        sequences = _sequences(job, dataset, library, numbers)
        offsets = bone_offsets(sequences)
        fields = _fields(form, sequences)
        clips: list[Clip] = []
        for number, row in enumerate(sequences.rows):
            split = chosen.get((row["sample"], row["variant"]))
            if split is None:
                continue
            reason = why_unfit(form, len(row["actors"]), row["length"])
            if reason:
                left_out[reason] += 1
            else:
                clips += _clips(sequences, offsets, fields, divmod(number, len(header.variants)), split)
        if clips:
            yield clips


def _split_at(samples: Array, step: int, first: int) -> list[Array]:
    """Return increasing samples in parts that multiples of `step`, counted from `first`, separate."""
    return np.split(samples, np.flatnonzero(np.diff((samples - first) // step)) + 1) if len(samples) else []


def _sequences(job: _Job, dataset: Dataset, library: Library, samples: Array) -> Sequences:
    """Read samples, or synthesize them at the rate of the format."""
    if job.config is not None:
        batch = synthesize(job.config, samples)
        return Sequences(job.config, library, samples, batch.joints, batch.action, batch.contact, batch.rows)
    span = slice(int(samples[0]), int(samples[-1]) + 1)
    stored = {name: dataset.arrays(name, span)[samples - span.start] for name in STORED_ARRAYS}
    rows = [row for sample in samples.tolist() for row in dataset.rows(sample)]
    return Sequences(dataset.config, library, samples, **stored, rows=rows)


def _fields(form: ExportFormat, sequences: Sequences) -> dict[str, Array]:
    """Compute the arrays of derived fields that a format asks for."""
    arrays = compute_fields(sequences, fields_with_arrays(form.fields)) if form.fields else {}
    return {name: arrays[name] for name in form.fields}


def _clips(
    sequences: Sequences, offsets: Array, fields: Mapping[str, Array], index: tuple[int, int], split: str
) -> Iterator[Clip]:
    """Yield the clip of each actor of a sequence."""
    row = sequences.rows[index[0] * sequences.shape[1] + index[1]]
    frames = slice(0, row["length"])
    for actor in range(len(row["actors"])):
        at = (*index, actor)
        yield Clip(
            name=clip_name(row["sample"], row["variant"], actor),
            sample=row["sample"],
            split=split,
            fps=sequences.config.fps,
            joints=sequences.joints[at][frames],
            offsets=offsets[at],
            contact=sequences.contact[at][frames],
            action=sequences.action[at][frames],
            library=sequences.library,
            stature=row["actors"][actor]["stature"] * row["parameters"]["scale"],
            captions=tuple(caption["text"] for caption in row["captions"]),
            actor=actor,
            actors=len(row["actors"]),
            fields={name: values[at][frames] for name, values in fields.items()},
            row=row,
        )


def _records(out: AnyPath, shards: Iterable[int]) -> Iterator[ExportRecord]:
    """Yield the records of shards."""
    return storage_of(out).map(lambda shard: read_record(out, _record_name(shard)), shards)


def _combine(out: AnyPath, shards: Iterable[int]) -> tuple[int, dict[str, int]]:
    """Return the number of clips of shards, and what was left out."""
    clips, left_out = 0, Counter[str]()
    for record in _records(out, shards):
        clips += record.clips
        left_out.update(record.left_out)
    return clips, dict(left_out)
