"""``posegen.export``: write the sequences of a dataset in a format of other programs, shard by shard.

A worker writes the clips of a shard to a folder of its own, moves or uploads them when they are on the disk, and then writes
the shard's record, which holds their sizes and hashes and the data for the files about all clips. The same call resumes and
repairs: a shard is complete if its record and files are intact. When all are there, the records are combined in the order of
the shards, so that the result does not depend on workers or interruptions.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import numpy as np

from posegen.config.schema import Config
from posegen.dataset import layout, receipts, runs
from posegen.dataset.files import check_real_folders, exists, read_file, remove_durably, write_durably
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import SPLITS
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.exchange import export_format as formats
from posegen.exchange import export_record as records
from posegen.exchange.clip import Clip, clip_name
from posegen.exchange.export_format import PARTS, RECORDS, ExportFormat, Selection, Shard, find_format
from posegen.exchange.features263 import standard_lengths
from posegen.fields.field import Sequences, compute_fields, fields_with_arrays
from posegen.fields.rotation import bone_offsets
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_known
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import STORED_ARRAYS
from posegen.foundations.progress import Progress
from posegen.foundations.validation import validated
from posegen.foundations.wording import counted
from posegen.generation.header import bytes_per_sample, stored_config
from posegen.generation.jobs import JobError, collect, run_jobs
from posegen.generation.session import write_session
from posegen.generation.shard import BLOCK_BYTES, prepare_worker
from posegen.library.load import Library, load_library
from posegen.synthesis.synthesize import synthesize

_SELECTION = "selection.json"
_UNPLACED = "posegen-writing~"
"""Begins the names of the folders that workers write shards to."""
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
        Whether it was complete before.
    """

    path: AnyPath
    clips: int
    left_out: dict[str, int]
    seconds: float
    nothing_to_do: bool


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
    progress : Progress, optional
        Nothing is shown by default.

    Raises
    ------
    UsageError
        If there is no such format, split, variant or column, a package is missing, or `out` holds another export.
    PosegenError
        If no clip remains, the dataset is damaged or cannot be synthesized at the rate of the format, or `out` cannot be
        written.
    """
    started = time.monotonic()
    path, out, form = to_path(path), to_path(out), find_format(to)
    _open.cache_clear()
    dataset, run = _open(path), runs.current_run()
    selection = formats.select_sequences(dataset, form, splits, variants, where, fps)
    config = _config_at(path, dataset.header, selection.fps)
    job, shards = _Job(path, out, 0, selection, config, run), range(dataset.header.shards())
    with write_session(out, run, create=True) as check:
        check_real_folders(out / RECORDS)
        _keep_selection(out, selection)
        is_new, clips, left_out = _write(job, shards, workers or available_cores(), progress or Progress(), check)
        storage_of(out / PARTS).remove_folder()  # also if the process was killed before it
    return ExportResult(out, clips, dict(left_out), time.monotonic() - started, not is_new)


def _write(
    job: _Job, shards: range, workers: int, progress: Progress, check: Callable[[], None]
) -> tuple[bool, int, Counter[str]]:
    """Export the shards that are missing or damaged, each as `job`, and write the files about all clips.

    Returns
    -------
    bool
        Whether anything was missing.
    int
        Clips in the export.
    Counter of str
        Sequences that the format cannot hold, by reason.
    """
    out, there = job.out, storage_of(job.out).listed()
    is_finished = records.find_intact(there, records.COMPLETE) is not None
    progress.wait("check the export")
    missing = [
        replace(job, shard=shard)
        for shard in shards
        if records.find_intact(there, _record_name(shard), has_parts=not is_finished) is None
    ]
    for name in [*(_record_name(each.shard) for each in missing), *([] if is_finished else [records.COMPLETE])]:
        if exists(there / RECORDS / name):
            remove_durably(out / RECORDS / name)
    try:
        _run(missing, workers, progress, check)
    finally:
        _remove_unplaced(out, job.run)
    clips, left_out = 0, Counter[str]()
    for record in _records(out, shards):
        clips += record.clips
        left_out.update(record.left_out)
    if not clips:
        storage_of(out / RECORDS).remove_folder()
        raise PosegenError(formats.why_no_clip(_open(job.dataset), job.selection, left_out))
    if not is_finished:
        _finish(job, shards)
    return bool(missing) or not is_finished, clips, left_out


def exported_files(out: AnyPath, path: AnyPath) -> Mapping[str, receipts.StoredFile]:
    """Return size and hash of the files of a complete export of the dataset at `path`, by their names inside the export."""
    held = [*_records(out, range(_open(path).header.shards())), records.read_record(out, records.COMPLETE)]
    files = ((name, file) for record in held for name, file in record.files.items())
    return {name: file for name, file in files if not name.startswith(f"{PARTS}/")}


def _config_at(path: AnyPath, header: layout.Header, fps: int) -> Config | None:
    """Return the config of the same scenes at another frame rate; None if the stored frames can be used."""
    if header.fps == fps:
        return None
    config = stored_config(path, header)
    scaled = config.as_data()
    scaled |= {"fps": fps, "frames": formats.scale_frames(config.frames, config.fps, fps)}
    if config.length is not None:
        bounds = {key: formats.scale_frames(getattr(config.length, key), config.fps, fps) for key in ("min", "max")}
        scaled["length"] = {**scaled["length"], **bounds}
    return validated(Config, scaled, lambda key: f"{path}: cannot be synthesized at {fps} frames per second: ")


def _keep_selection(out: AnyPath, selection: Selection) -> None:
    """Write the selection into the folder, or compare it with the one that is there."""
    document = json.dumps(asdict(selection), indent=2).encode()
    path = out / RECORDS / _SELECTION
    if not exists(path):
        is_empty = all(name == RECORDS or name.startswith(".") for name in storage_of(out).list_names())
        if not is_empty and not exists(path):  # where there are no locks, another run may have begun meanwhile
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
    done, config = count(1), jobs[0].config

    def find(job: _Job) -> int | None:
        return job.shard if exists(job.out / RECORDS / _record_name(job.shard)) else None

    load = partial(prepare_worker, config, 0, load_library(config.story.library)) if config else None
    progress.start("export", len(jobs), unit="shards")
    try:
        outcomes = run_jobs(_export_shard, jobs, min(workers, len(jobs)), load=load, find=find)
        lost = collect(outcomes, check, lambda _: progress.update(next(done)))
    finally:
        progress.stop()
    if lost:
        first = "; ".join(f"shard {each.job.shard}: {each.reason}" for each in lost[:_NAMED])
        raise PosegenError(
            f"{jobs[0].out}: {len(lost)} of {counted(len(jobs), 'shard')} could not be exported ({first}). Run it again"
        )


@lru_cache(1)
def _open(path: AnyPath) -> Dataset:
    """Open the dataset once for all shards that this process exports."""
    return open_dataset(path)


def _export_shard(job: _Job) -> int:
    """Write the clips of a shard and its record."""
    form, dataset = find_format(job.selection.form), _open(job.dataset)
    library, counts = load_library(dataset.config.story.library), Counter[str]()
    blocks = _shard_clips(job, form, dataset, library, counts)
    try:
        with _unplaced(job.out, job.run) as name:
            folder = Path(name)
            (folder / PARTS).mkdir(parents=True)
            content = form.write(blocks, Shard(folder, job.shard, library, standard_lengths(), dataset.header.licence))
            files = records.place_all(folder, job.out)
    except PosegenError as error:
        raise JobError(str(error)) from error
    record = records.ExportRecord(counts.pop("", 0), dict(counts), dict(content), files)
    records.write_record(job.out, _record_name(job.shard), record)
    return job.shard


def _unplaced(out: AnyPath, run: str) -> TemporaryDirectory[str]:
    """Make a folder of this machine for files that are moved or uploaded from it, and that is removed at the end."""
    return TemporaryDirectory(prefix=f"{_UNPLACED}{run}~", dir=_folder_of_unplaced(out), ignore_cleanup_errors=True)


def _folder_of_unplaced(out: AnyPath) -> Path:
    """Return the folder that unplaced files are in: on the disk of the export, or for a bucket that of temporary files."""
    local = storage_of(out).local
    return local / RECORDS if local else Path(gettempdir())


def _finish(job: _Job, shards: range) -> None:
    """Write the files about all clips, and the last record."""
    out, contents = job.out, (record.content for record in _records(job.out, shards))
    with _unplaced(out, job.run) as name:
        folder = Path(name)
        (folder / RECORDS).mkdir()
        if local := storage_of(out / PARTS).local:
            (folder / PARTS).symlink_to(local.absolute(), target_is_directory=True)
        else:
            is_whole = records.download_folder(out / PARTS, folder / PARTS)
            # Another run may have finished, and removed parts before they were read.
            if exists(out / RECORDS / records.COMPLETE):
                return
            if not is_whole:
                raise PosegenError(f"{out}: another run has changed it meanwhile. Run the same command again")
        find_format(job.selection.form).finish(folder, contents)
        shutil.rmtree(folder / RECORDS)
        records.write_record(out, records.COMPLETE, records.ExportRecord(0, {}, {}, records.place_all(folder, out)))


def _remove_unplaced(out: AnyPath, run: str) -> None:
    """Remove the folders of shards that workers of this run, or of ended ones, were writing when they died."""
    for folder in _folder_of_unplaced(out).glob(f"{_UNPLACED}*"):
        name = folder.name.split("~")[1]
        if name == run or runs.has_ended(name):
            shutil.rmtree(folder, ignore_errors=True)


def _shard_clips(
    job: _Job, form: ExportFormat, dataset: Dataset, library: Library, counts: Counter[str]
) -> Iterator[list[Clip]]:
    """Yield the selected clips of a shard in blocks.

    `counts` gets the number of clips under an empty name, and the number of sequences that the format cannot hold by reason.
    """
    header = dataset.header
    chosen = formats.choose(dataset, job.shard, job.selection)
    samples = np.array(sorted({sample for sample, _ in chosen}), np.int64)
    if job.config is None:
        step = header.chunk * max(1, _BLOCK // header.chunk)  # whole chunks, so that each is decoded once
    else:
        step = max(1, BLOCK_BYTES * header.fps // (bytes_per_sample(header) * job.config.fps))
    for numbers in _split_at(samples, step, job.shard * header.shard):
        sequences = _sequences(job, dataset, library, numbers)
        offsets = bone_offsets(sequences)
        arrays = compute_fields(sequences, fields_with_arrays(form.fields)) if form.fields else {}
        fields = {name: arrays[name] for name in form.fields}
        clips: list[Clip] = []
        for number, row in enumerate(sequences.rows):
            split = chosen.get((row["sample"], row["variant"]))
            if split is None:
                continue
            reason = formats.why_unfit(form, len(row["actors"]), row["length"])
            counts[reason] += 1 if reason else len(row["actors"])
            if not reason:
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
    return _stored(dataset, library, samples)


def _stored(dataset: Dataset, library: Library, samples: Array) -> Sequences:
    """Read samples."""
    span = slice(int(samples[0]), int(samples[-1]) + 1)
    stored = {name: dataset.arrays(name, span)[samples - span.start] for name in STORED_ARRAYS}
    rows = [row for sample in samples.tolist() for row in dataset.rows(sample)]
    return Sequences(dataset.config, library, samples, **stored, rows=rows)


def clip_files(dataset: Dataset, sample: int, variant: str, form: str) -> dict[str, bytes]:
    """Return the file of each actor of a sequence by name, in a format with a file for each clip, such as ``bvh``."""
    record, library = find_format(form), load_library(dataset.config.story.library)
    require_known(f"{dataset.path}: has no variant", variant, dataset.header.variants)
    sequences = _stored(dataset, library, np.array([sample]))
    arrays = compute_fields(sequences, fields_with_arrays(record.fields))
    fields = {name: arrays[name] for name in record.fields}
    index = 0, dataset.header.variants.index(variant)
    clips = list(_clips(sequences, bone_offsets(sequences), fields, index, ""))
    with TemporaryDirectory() as folder:
        record.write(iter([clips]), Shard(Path(folder), 0, library, standard_lengths(), dataset.header.licence))
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


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
            fields={name: values[at][frames] for name, values in fields.items()},
        )


def _records(out: AnyPath, shards: Iterable[int]) -> Iterator[records.ExportRecord]:
    """Yield the records of shards."""
    return storage_of(out).map(lambda shard: records.read_record(out, _record_name(shard)), shards)
