"""``posegen.export``: write the sequences of a dataset in a format of other programs, shard by shard.

A worker writes the clips of a shard and then the shard's record, which holds what the files about all clips are made of. The
same call resumes: shards with a record are complete. When all are there, the records are combined in the order of the shards,
so that the result does not depend on workers or interruptions. In a folder, a worker writes files in their places, and holds
the lock of the shard meanwhile: to write them elsewhere first and to move them takes 7 % of an export to many small files. To a
bucket, it uploads the files of a shard before the record.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from posegen.arrays import Array
from posegen.config.schema import Config
from posegen.dataset.bucket import AnyPath, BucketPath, listed, map_files, to_path
from posegen.dataset.files import exists, list_names, read_file, write_durably
from posegen.dataset.layout import Header
from posegen.dataset.lock import LOCK_FILE, SECONDS_TO_WAIT, locked, shared_lock
from posegen.dataset.memory import pause_garbage_collection
from posegen.dataset.parts import Part, parse_part
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.splits import SPLITS
from posegen.errors import PosegenError, UsageError
from posegen.exchange.bucket import download_folder, upload_folder
from posegen.exchange.clip import Clip, clip_name
from posegen.exchange.export_format import PARTS, RECORDS, ExportFormat, Shard, find_format
from posegen.exchange.selection import Selection, choose, estimate_bytes, scale_frames, select_sequences, why_unfit
from posegen.fields.field import Sequences, compute_fields, fields_with_arrays
from posegen.fields.rotation import bone_offsets
from posegen.generation.header import bytes_per_sample, stored_config
from posegen.generation.plan import MARGIN
from posegen.generation.pool import LostJob, run_jobs
from posegen.generation.session import write_session
from posegen.generation.shard import BLOCK_BYTES, load_kernels
from posegen.generation.workers import JobError, Starter, starter_of
from posegen.library.load import Library, load_library
from posegen.machine import available_cores, free_disk
from posegen.plugins import STORED_ARRAYS
from posegen.progress import Progress
from posegen.quantities import human_bytes
from posegen.synthesis import synthesize
from posegen.validation import validated

_SELECTION, _COMPLETE = "selection.json", "complete"
_UNPLACED = "posegen-writing~"
"""Beginning of the name of the folder from which a worker uploads a shard."""
_BLOCK = 32
"""Samples that are read at once."""
_NAMED = 3
_MOST_RECORD_BYTES = 1 << 30


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
        Name of the format; see :data:`posegen.plugins.EXPORTS`.
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
    dataset = _open(path)
    part, run, workers = parse_part(part), current_run(), workers or available_cores()
    shards = [shard for shard in range(dataset.header.shards()) if part is None or shard in part]
    # Workers import while this process prepares their jobs.
    with starter_of(_export_shard, min(workers, len(_missing(listed(out / RECORDS), shards)))) as starter:
        selection = select_sequences(dataset, form, splits, variants, where, fps)
        config = _config_at(path, dataset.header, selection.fps)
        if starter and config:
            starter.prepare(partial(load_kernels, config))
        with write_session(out, run, create=True, part=part.lock_name if part else "") as check:
            with shared_lock(out, run, is_part=part is not None):
                there = listed(out / RECORDS)
                missing = _missing(there, shards)
                needed = estimate_bytes(dataset, form, selection, missing)
                if isinstance(out, Path):
                    _check_free_space(out, needed, free_disk(out))
                _keep_selection(out, selection)
            jobs = [_Job(path, out, shard, selection, config, run) for shard in missing]
            try:
                _run(jobs, workers, progress or Progress(), check, starter)
            finally:
                _remove_unplaced(run)
                if part is None and isinstance(out, Path):  # of workers that were killed; no other run is there
                    for lock in (out / RECORDS).glob(f"{LOCK_FILE}-*"):
                        lock.unlink(missing_ok=True)
            if part:
                clips, left_out = _combine(out, shards)
                return ExportResult(out, clips, left_out, time.monotonic() - started, not missing, str(part))
            nothing_to_do = exists(there / _COMPLETE)
            clips, left_out = _combine(out, shards)
            if not nothing_to_do:
                _finish(out, form, shards, run)
                write_durably(out / RECORDS / _COMPLETE, b"")
            _remove_parts(out)  # also if the process was killed between these steps
    return ExportResult(out, clips, left_out, time.monotonic() - started, nothing_to_do)


def _missing(records: AnyPath, shards: Iterable[int]) -> list[int]:
    """Return the shards that have no record in a folder."""
    return [shard for shard in shards if not exists(records / _record_name(shard))]


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


def _check_free_space(out: Path, needed: int, free: int) -> None:
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
        is_empty = all(name == RECORDS or name.startswith(".") for name in list_names(out))
        if not is_empty and not exists(path):  # where there are no locks, another part may have begun meanwhile
            raise UsageError(f"{out}: is not empty. Choose another folder")
        if isinstance(out, Path):
            (out / PARTS).mkdir(parents=True, exist_ok=True)
        write_durably(path, document, expected=b"")
    if read_file(path, _MOST_RECORD_BYTES) != document:
        raise UsageError(f"{out}: holds the export of other sequences, or in another format. Choose another folder")


def _record_name(shard: int) -> str:
    return f"{shard:06}.json"


def _run(jobs: Sequence[_Job], workers: int, progress: Progress, check: Callable[[], None], starter: Starter | None) -> None:
    """Export shards."""
    if not jobs:
        return
    done, lost = 0, []
    progress.start("export", len(jobs), unit="shards")
    try:
        with closing(run_jobs(_export_shard, jobs, min(workers, len(jobs)), starter=starter)) as outcomes:
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

    def write(folder: Path) -> None:
        with pause_garbage_collection():
            content = form.write(blocks(), Shard(folder, job.shard, library))
        if isinstance(job.out, BucketPath):
            upload_folder(folder, job.out)
        record = {"clips": count, "left_out": left_out, "content": content}
        write_durably(job.out / RECORDS / _record_name(job.shard), json.dumps(record).encode())

    try:
        if isinstance(job.out, BucketPath):
            with _unplaced(job.run) as folder:
                write(folder)
        else:
            # Two parts may have this shard in common, and a worker may outlive its run for a moment.
            with locked(job.out / RECORDS, job.run, part=f"shard-{job.shard}", wait=SECONDS_TO_WAIT):
                if _missing(job.out / RECORDS, [job.shard]):
                    (job.out / PARTS).mkdir(exist_ok=True)
                    write(job.out)
    except PosegenError as error:
        raise JobError(str(error)) from error
    return job.shard


@contextmanager
def _unplaced(run: str) -> Iterator[Path]:
    """Make a folder of this machine for files that are uploaded from it, and remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_UNPLACED}{run}~"))
    try:
        (folder / PARTS).mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _finish(out: AnyPath, form: ExportFormat, shards: Sequence[int], run: str) -> None:
    """Write the files about all clips."""
    contents = (record["content"] for record in _records(out, shards))
    if isinstance(out, Path):
        form.finish(out, contents)
        return
    with _unplaced(run) as folder:
        is_whole = download_folder(out / PARTS, folder / PARTS)
        if exists(out / RECORDS / _COMPLETE):  # another run has finished, and may have removed parts before they were read
            return
        if not is_whole:
            raise PosegenError(f"{out}: another run has changed it meanwhile. Run the same command again")
        form.finish(folder, contents)
        shutil.rmtree(folder / RECORDS)
        upload_folder(folder, out)


def _remove_parts(out: AnyPath) -> None:
    if isinstance(out, Path):
        if (out / PARTS).exists():
            shutil.rmtree(out / PARTS)
        return
    for _ in map_files(out, lambda name: (out / PARTS / name).remove(), (out / PARTS).list()):
        pass


def _remove_unplaced(run: str) -> None:
    """Remove the folders of shards that workers of this run, or of ended ones, were to upload when they died."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_UNPLACED}*"):
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


def _records(out: AnyPath, shards: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of shards."""
    return map_files(out, lambda shard: _read_record(out, shard), shards)


def _read_record(out: AnyPath, shard: int) -> Mapping[str, Any]:
    path = out / RECORDS / _record_name(shard)
    try:
        record: Mapping[str, Any] = json.loads(read_file(path, _MOST_RECORD_BYTES))
    except ValueError as error:
        raise PosegenError(f"{path}: is damaged. Delete {out} and run the same command again") from error
    return record


def _combine(out: AnyPath, shards: Iterable[int]) -> tuple[int, dict[str, int]]:
    """Return the number of clips of shards, and what was left out."""
    clips, left_out = 0, Counter[str]()
    for record in _records(out, shards):
        clips += record["clips"]
        left_out.update(record["left_out"])
    return clips, dict(left_out)
