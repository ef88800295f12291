"""``posegen.derive``: fields computed from what a dataset holds and stored beside it, shard by shard.

Each family becomes a layer of the dataset. Like generation, deriving takes the lock, reads from receipts what is there, makes
what is missing, and can be stopped at any moment and gone on with by the same call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.dataset.header import load_header
from posegen.dataset.layout import ROWS, Header, Layer, check_folders
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset, open_shard
from posegen.dataset.receipts import Receipt, list_layer_receipts, load_receipt
from posegen.dataset.runs import current_run
from posegen.dataset.write import add_layer, commit_layer
from posegen.errors import PosegenError, UsageError
from posegen.fields.field import DerivedField, Sequences, compute_fields, fields_with_arrays, select_fields
from posegen.generation.faults import trip_sample, trip_shard
from posegen.generation.fields import layer_of_family
from posegen.generation.plan import bytes_per_sample
from posegen.generation.pool import Lost, run_jobs
from posegen.generation.progress import Progression, Reporter, Silence
from posegen.generation.run import GenerationError, clearing_up, told_plainly
from posegen.generation.stopping import stoppable
from posegen.generation.stored import stored_config
from posegen.generation.watching import Limit
from posegen.generation.worker import Failure
from posegen.library.load import load_library
from posegen.machine import available_cores
from posegen.plugins import FIELDS

__all__ = ["DerivationResult", "derive"]

BLOCK_BYTES = 32 << 20
"""How much of the samples' arrays is read at once."""

LEAST_SECONDS_A_SHARD = 600.0


@dataclass(frozen=True)
class DerivationResult:
    """What deriving has done.

    Attributes
    ----------
    path : Path
        Of the dataset.
    layers : tuple of str
        What was asked for, and is complete now.
    arrays : tuple of str
        The arrays in them.
    shards_made : int
        Shards of layers that this run made.
    samples : int
        That the dataset holds.
    bytes : int
        That this run wrote.
    seconds : float
    nothing_to_do : bool
        Whether everything was there already.
    """

    path: Path
    layers: tuple[str, ...]
    arrays: tuple[str, ...]
    shards_made: int
    samples: int
    bytes: int
    seconds: float
    nothing_to_do: bool


@dataclass(frozen=True)
class _Job:
    path: Path
    header: Header
    config: Config
    layer: Layer
    shard: int
    run: str


def derive(
    path: str | Path, add: Iterable[str] = (), *, workers: int | None = None, progress: Reporter | None = None
) -> DerivationResult:
    """Compute fields of all samples of a dataset and store them beside the others.

    Parameters
    ----------
    path : str or Path
        Of the dataset.
    add : iterable of str
        Names of families, see :data:`posegen.plugins.FIELDS`; none completes those that were begun.
    workers : int, optional
        How many processes work at once; one for each core unless given.
    progress : Reporter, optional
        Who is told how it goes.

    Raises
    ------
    UsageError
        If there is no such field, or nothing is asked for.
    PosegenError
        If the dataset is of another content version or lacks what a field is computed from, or something cannot be stored.
    KeyboardInterrupt
        On Ctrl-C or SIGTERM. What is complete stays, and the same call goes on from there.

    Examples
    --------
    >>> import tempfile, posegen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = posegen.generate(posegen.load_config("smoke"), samples=4, workers=1, out=f"{folder}/motion").path
    ...     result = posegen.derive(place, ["velocity"], workers=1)
    ...     shape = posegen.open(place)[0].velocity.shape
    >>> result.arrays, shape
    (('velocity', 'acceleration'), (5, 1, 100, 22, 3))
    """
    if workers is not None and workers < 1:
        msg = f"workers must be at least 1, not {workers}"
        raise UsageError(msg)
    place, started, run, reporter = Path(path), time.monotonic(), current_run(), progress or Silence()
    asked = select_fields(add)
    config = stored_config(place, load_header(place))
    with (
        stoppable() as check,
        told_plainly(place, "See to its permissions"),
        locked(place, run),
        clearing_up(place, run),
    ):
        header = load_header(place)
        check_folders(place, header)
        header, layers = _with_layers(place, header, config, asked, run)
        jobs = [_Job(place, header, config, layer, shard, run) for layer in layers for shard in _missing(place, header, layer)]
        written = _make(jobs, workers or available_cores(), reporter, check) if jobs else 0
    return DerivationResult(
        path=place,
        layers=tuple(layer.name for layer in layers),
        arrays=tuple(field.name for layer in layers for field in layer.fields),
        shards_made=len(jobs),
        samples=header.samples,
        bytes=written,
        seconds=time.monotonic() - started,
        nothing_to_do=not jobs,
    )


def _with_layers(
    path: Path, header: Header, config: Config, asked: Sequence[DerivedField], run: str
) -> tuple[Header, tuple[Layer, ...]]:
    """Add the layers that are not there yet, and list those that were asked for, or all."""
    own = {*fields_with_arrays(field.name for field in header.fields)}
    there = {layer.name: layer for layer in header.layers}
    for layer in there.values():
        if not asked or any(layer.name == family.name for family in asked):
            _check_version(path, layer)
    if not asked and not there:
        known = "; ".join(f"{name}: {FIELDS.load(name).summary}" for name in FIELDS.names())
        msg = f"{path}: has nothing derived to go on with. Name a field with --add; there are {known}"
        raise UsageError(msg)
    for family in asked:
        _check_sources(path, header, family)
        if family.name not in own and family.name not in there:
            there[family.name] = layer_of_family(config, family)
            header = add_layer(path, header, there[family.name], run)
    wanted = [family.name for family in asked if family.name in there] if asked else list(there)
    return header, tuple(there[name] for name in wanted)


def _check_version(path: Path, layer: Layer) -> None:
    family = FIELDS.load(layer.name) if layer.name in FIELDS else None
    if family is None or family.version != layer.version:
        here = "does not know it" if family is None else f"makes version {family.version}, whose values differ"
        msg = f"{path}: {layer.name} was derived in version {layer.version}, and this posegen {here}. Use the one that made it"
        raise PosegenError(msg)


def _check_sources(path: Path, header: Header, family: DerivedField) -> None:
    missing = {*family.sources} - {ROWS, *(field.name for field in header.fields)}
    if missing:
        names = ", ".join(sorted(missing))
        msg = f"{path}: does not store {names}, which {family.name} is computed from. Make it anew with {names} in store.fields"
        raise PosegenError(msg)


def _missing(path: Path, header: Header, layer: Layer) -> list[int]:
    return [shard for shard, found in list_layer_receipts(path, header, layer) if isinstance(found, str)]


def _make(jobs: Sequence[_Job], workers: int, reporter: Reporter, check: Callable[[], None]) -> int:
    """Do the jobs, and count the bytes that were written."""
    started, variants = time.monotonic(), len(jobs[0].header.variants)
    total = sum(job.header.count(job.shard) for job in jobs)
    done = written = 0
    failures: list[str] = []
    at_once = min(workers, len(jobs))
    limit = None if at_once == 1 else Limit(LEAST_SECONDS_A_SHARD, grows=True)
    reporter.start(Progression(0, total, 0, 0, 0.0))
    try:
        with closing(run_jobs(_derive_shard, jobs, at_once, limit)) as outcomes:
            for outcome in outcomes:
                check()
                if isinstance(outcome, Receipt):
                    done += outcome.count
                    written += sum(file.bytes for file in outcome.files.values())
                else:
                    failures.append(_reason(outcome))
                reporter.update(Progression(done, total, done * variants, written, time.monotonic() - started))
    finally:
        reporter.stop()
    if failures:
        head = f"{jobs[0].path}: {len(failures)} of {len(jobs)} shards could not be derived; all others are complete:"
        raise GenerationError("\n  ".join([head, *failures[:10]]))
    return written


def _reason(outcome: Failure | Lost[_Job]) -> str:
    return f"shard {outcome.job.shard}: {outcome.why}" if isinstance(outcome, Lost) else outcome.reason


def _derive_shard(job: _Job) -> Receipt | Failure:
    """Derive a layer of a shard and commit it, or say why it cannot be derived."""
    started = time.monotonic()
    trip_shard()
    try:
        own = load_receipt(job.path, job.header, job.shard)
        arrays = _computed(job, open_shard(job.path, replace(job.header, layers=()), own), own)
    except PosegenError as error:
        return Failure(job.shard, str(error))
    return commit_layer(job.path, job.header, job.layer, own, arrays, job.run, time.monotonic() - started)


def _computed(job: _Job, dataset: Dataset, own: Receipt) -> dict[str, NDArray[Any]]:
    """Compute the arrays of a layer, some samples at a time."""
    rows, variants = dataset.table(job.shard).to_pylist(), len(job.header.variants)
    library = load_library(job.config.story.library)
    parts: list[dict[str, NDArray[Any]]] = []
    size = max(1, BLOCK_BYTES // bytes_per_sample(dataset.header))
    end = own.first + own.count
    for start in range(own.first, end, size):
        stop = min(start + size, end)
        trip_sample(start, stop)
        held = {name: _held(dataset, name, start, stop) for name in ("joints", "action", "contact")}
        told = rows[(start - own.first) * variants : (stop - own.first) * variants]
        parts.append(
            compute_fields(Sequences(job.config, library, np.arange(start, stop), **held, rows=told), [job.layer.name])
        )
    return {field.name: np.concatenate([part[field.name] for part in parts]) for field in job.layer.fields}


def _held(dataset: Dataset, name: str, start: int, stop: int) -> NDArray[Any]:
    """Read an array; an empty one stands for what is not stored, which no family that is asked for is computed from."""
    if name not in dataset.fields:
        return np.zeros((stop - start, 0))
    return dataset.arrays(name, slice(start, stop))
