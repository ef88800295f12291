"""``posegen.derive``: compute derived fields of a dataset and store them as layers, shard by shard.

Like generation, it holds the lock, reads from receipts what is complete, makes what is missing, and can be interrupted at any
time and resumed by the same call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posegen.config.schema import Config
from posegen.dataset import files, layout, lock, manifest, receipts, runs
from posegen.dataset.header import load_header
from posegen.dataset.parts import Part, parse_part
from posegen.dataset.read import Dataset, open_shard
from posegen.dataset.storage.address import AnyPath, to_path
from posegen.dataset.write import add_layer, commit_layer
from posegen.fields.field import DerivedField, Sequences, compute_fields, fields_with_arrays, select_fields
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_positive
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import FIELDS, STORED_ARRAYS
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes
from posegen.generation.header import field_layer, stored_config
from posegen.generation.jobs import JobError, TimeLimit, collect, run_jobs
from posegen.generation.run import check_lost
from posegen.generation.session import write_session
from posegen.generation.shard import ShardJob, blocks, inject_faults
from posegen.library.load import load_library

LEAST_SHARD_SECONDS = 600.0


@dataclass(frozen=True)
class DerivationResult:
    """Summary of a derivation.

    Attributes
    ----------
    path : Path
        Dataset folder.
    layers : tuple of str
        Requested fields, which are complete now, in the shards of the part.
    arrays : tuple of str
        Their arrays.
    shards_made : int
        Shards of layers that this run made.
    samples : int
        In the dataset.
    bytes : int
        Written by this run.
    seconds : float
    nothing_to_do : bool
        Whether the layers were complete before.
    part : str or None
        The part that this run derived, such as ``3/16``.
    """

    path: AnyPath
    layers: tuple[str, ...]
    arrays: tuple[str, ...]
    shards_made: int
    samples: int
    bytes: int
    seconds: float
    nothing_to_do: bool
    part: str | None = None


def derive(
    path: str | AnyPath,
    add: Iterable[str] = (),
    *,
    workers: int | None = None,
    part: Part | str | None = None,
    progress: Progress | None = None,
) -> DerivationResult:
    """Compute derived fields of all samples of a dataset and store them.

    On Ctrl-C or SIGTERM it raises KeyboardInterrupt. Complete shards are kept, and the same call resumes.

    Parameters
    ----------
    path : str, Path or BucketPath
    add : iterable of str
        Names of fields, see :data:`posegen.foundations.plugins.FIELDS`. By default, the fields that were derived before are
        completed.
    workers : int, optional
        Number of processes; one for each core by default.
    part : Part or str, optional
        Derive only this part of the shards, such as ``"3/16"``; other runs may derive the others at the same time.
    progress : Progress, optional
        Nothing is shown by default.

    Raises
    ------
    UsageError
        If a field is unknown, or there is no field to complete.
    PosegenError
        If the dataset has another content version, lacks the inputs of a field, or cannot be written.

    Examples
    --------
    >>> import tempfile, posegen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = posegen.generate(posegen.load_config("smoke"), samples=4, workers=1, out=f"{folder}/motion").path
    ...     result = posegen.derive(path, ["velocity"], workers=1)
    ...     shape = posegen.open(path)[0].velocity.shape
    >>> result.arrays, shape
    (('velocity', 'acceleration'), (5, 1, 100, 22, 3))
    """
    require_positive("workers", workers)
    return _derive(to_path(path), select_fields(add), workers or available_cores(), parse_part(part), progress or Progress())


def _derive(
    path: AnyPath, fields: Sequence[DerivedField], workers: int, part: Part | None, progress: Progress
) -> DerivationResult:
    """Hold the lock of a dataset, and derive what is missing."""
    started, run = time.monotonic(), runs.current_run()
    config = stored_config(path, load_header(path))
    with write_session(path, run, part=part.lock_name if part else "") as check:
        with lock.shared_lock(path, run, is_part=part is not None):
            header = load_header(path)
            layout.check_folders(path, header)
            header, layers = _open_layers(path, header, config, fields, run)
        shards = [shard for shard in range(header.shards()) if part is None or shard in part]
        jobs = [
            ShardJob(path, header, config, shard, run, layer)
            for layer in layers
            for shard, receipt in receipts.list_layer_receipts(path, header, layer, shards)
            if isinstance(receipt, str)
        ]
        if jobs:
            files.remove_durably(path / layout.MANIFEST_FILE)
        written = _derive_shards(jobs, workers, progress, check) if jobs else 0
        if part is None and (jobs or not manifest.covers_all(path, header)):
            manifest.store_manifest(path, manifest.make_manifest(path, header), run)
    return DerivationResult(
        path=path,
        layers=tuple(layer.name for layer in layers),
        arrays=tuple(field.name for layer in layers for field in layer.fields),
        shards_made=len(jobs),
        samples=header.samples,
        bytes=written,
        seconds=time.monotonic() - started,
        nothing_to_do=not jobs,
        part=str(part) if part else None,
    )


def _open_layers(
    path: AnyPath, header: layout.Header, config: Config, fields: Sequence[DerivedField], run: str
) -> tuple[layout.Header, tuple[layout.Layer, ...]]:
    """Add the layers of `fields` that are missing, and return the requested layers, or all of them."""
    generated = {*fields_with_arrays(field.name for field in header.fields if field.name not in STORED_ARRAYS)}
    layers = {layer.name: layer for layer in header.layers}
    for layer in layers.values():
        if not fields or any(layer.name == field.name for field in fields):
            _check_version(path, layer)
    if not fields and not layers:
        known = "; ".join(f"{name}: {FIELDS.load(name).summary}" for name in FIELDS.names())
        raise UsageError(f"{path}: has no derived fields to complete. Name a field with --add. Fields: {known}")
    for field in fields:
        _check_sources(path, header, field)
        if field.name not in generated and field.name not in layers:
            layers[field.name] = field_layer(config, field)
            header = add_layer(path, header, layers[field.name], run)
    names = [field.name for field in fields if field.name in layers] if fields else list(layers)
    return header, tuple(layers[name] for name in names)


def _check_version(path: AnyPath, layer: layout.Layer) -> None:
    version = FIELDS.load(layer.name).version if layer.name in FIELDS else None
    if version != layer.version:
        here = "has no such field" if version is None else f"makes version {version}, whose values differ"
        msg = f"{path}: {layer.name} was derived in version {layer.version}; this posegen {here}. Use the one that derived it"
        raise PosegenError(msg)


def _check_sources(path: AnyPath, header: layout.Header, field: DerivedField) -> None:
    if names := ", ".join(sorted({*field.sources} - {layout.ROWS, *(stored.name for stored in header.fields)})):
        msg = f"{path}: does not store {names}, an input of {field.name}. Generate it again with {names} in store.fields"
        raise PosegenError(msg)


def _derive_shards(jobs: Sequence[ShardJob], workers: int, progress: Progress, check: Callable[[], None]) -> int:
    """Derive shards and return the bytes that were written."""
    done = written = 0

    def receive(receipt: receipts.Receipt) -> None:
        nonlocal done, written
        done += receipt.count
        written += receipt.size
        progress.update(done, human_bytes(written))

    processes = min(workers, len(jobs))
    limit = None if processes == 1 else TimeLimit(LEAST_SHARD_SECONDS, grows=True)
    progress.start("derive", sum(job.stop - job.start for job in jobs))
    try:
        lost = collect(run_jobs(_derive_shard, jobs, processes, limit, find=_find_layer), check, receive)
    finally:
        progress.stop()
    check_lost(jobs[0].path, lost, len(jobs))
    return written


def _find_layer(job: ShardJob) -> receipts.Receipt | None:
    """Return the receipt of a layer that is complete."""
    assert job.layer is not None
    found = (receipt for _, receipt in receipts.list_layer_receipts(job.path, job.header, job.layer, [job.shard]))
    return next((receipt for receipt in found if isinstance(receipt, receipts.Receipt)), None)


def _derive_shard(job: ShardJob) -> receipts.Receipt:
    """Derive the layer of a shard and commit it; JobError if its samples cannot be read."""
    assert job.layer is not None
    started = time.monotonic()
    if made := _find_layer(job):  # by another part meanwhile
        return made
    try:
        own = receipts.load_receipt(job.path, job.header, job.shard)
        arrays = _compute_layer(job, job.layer, open_shard(job.path, replace(job.header, layers=()), own), own)
    except PosegenError as error:
        raise JobError(str(error)) from error
    return commit_layer(job.path, job.header, job.layer, own, arrays, job.run, time.monotonic() - started)


def _compute_layer(job: ShardJob, layer: layout.Layer, dataset: Dataset, own: receipts.Receipt) -> dict[str, Array]:
    """Compute the arrays of a layer, a block of samples at a time."""
    rows, variants = dataset.table(own.shard).to_pylist(), len(job.header.variants)
    library = load_library(job.config.story.library)
    computed: list[dict[str, Array]] = []
    for start, stop in blocks(dataset.header, own.first, own.first + own.count):
        inject_faults(start, stop)
        # An array that is not stored is no input of the field: see _check_sources.
        stored = {
            name: dataset.arrays(name, slice(start, stop)) if name in dataset.fields else np.zeros((stop - start, 0))
            for name in STORED_ARRAYS
        }
        block = rows[(start - own.first) * variants : (stop - own.first) * variants]
        sequences = Sequences(job.config, library, np.arange(start, stop), **stored, rows=block)
        computed.append(compute_fields(sequences, [layer.name]))
    return {field.name: np.concatenate([arrays[field.name] for arrays in computed]) for field in layer.fields}
