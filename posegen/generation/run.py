"""``posegen.generate``: make a dataset of a config, or the shards that are missing.

A run holds the dataset's lock, plans, makes the missing shards, and publishes the complete prefix every few seconds and at the
end. All that it knows of earlier runs it reads from their receipts, however they ended. A run that makes one of several parts
holds the lock of the part and publishes nothing: see :mod:`posegen.generation.finish`.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

from posegen.config.load import ConfigSource, load_config
from posegen.config.schema import Config
from posegen.dataset import files, layout, lock, manifest, parts, receipts, runs
from posegen.dataset.header import is_dataset, load_header, repair_header
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.write import create, publish, unfinished_files
from posegen.foundations.errors import PosegenError, ServerError, UsageError, require_positive
from posegen.foundations.machine import available_cores, most_workers
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes
from posegen.foundations.wording import counted
from posegen.generation import header as headers
from posegen.generation.backends import check_backend
from posegen.generation.jobs import DIED, SHORT_OF_MEMORY, TOO_SLOW, LostJob, TimeLimit, collect, run_jobs
from posegen.generation.plan import Plan, check_free_space, check_space, make_plan
from posegen.generation.session import write_session
from posegen.generation.shard import ShardJob, find_shard, make_shard, prepare_worker, warm_up
from posegen.library.load import load_library

LEAST_SHARD_SECONDS = 300.0
SLOWEST_BYTES_PER_SECOND = 1e6
"""A core makes and stores more than 100 MB a second. A shard as slow as this hangs."""

SECONDS_BETWEEN_PUBLICATIONS = 2.0
SECONDS_BETWEEN_PUBLICATIONS_IN_BUCKET = 30.0
"""Publishing takes about 20 requests, for which all workers may have to wait."""
NAMED_FAILURES = 10
_HINTS = {
    DIED: "; it may need more memory than there is",
    SHORT_OF_MEMORY: "; use fewer --workers, or a new dataset with a smaller store.shard",
    TOO_SLOW: "; a larger --shard-timeout gives it more time",
}


@dataclass(frozen=True)
class GenerationResult:
    """Summary of a run.

    Attributes
    ----------
    path : Path
        Dataset folder.
    samples, sequences : int
        In the dataset now.
    shards_made, sequences_made : int
        Made by this run.
    seconds, startup_seconds : float
        Duration of this run, and the part of it before the first shard, such as the compilation of kernels.
    sequences_per_second : float
        Rate of this run after its start-up.
    bytes : int
        Size of the dataset on disk.
    nothing_to_do : bool
        Whether the dataset was complete before.
    incomplete_layers : tuple of str
        Derived fields that some samples lack: `posegen derive` completes them.
    part : str or None
        The part that this run made, such as ``3/16``. Then samples are in the dataset once they are published.
    """

    path: AnyPath
    samples: int
    sequences: int
    shards_made: int
    sequences_made: int
    seconds: float
    startup_seconds: float
    sequences_per_second: float
    bytes: int
    nothing_to_do: bool
    incomplete_layers: tuple[str, ...] = ()
    part: str | None = None


class GenerationError(PosegenError):
    """Some shards could not be made; all others are complete."""


def default_path(config: Config) -> Path:
    """Return the default dataset folder of a config."""
    return Path("data") / f"{config.name}-{config.seed}"


def generate(
    config: Config | ConfigSource,
    *,
    samples: int | None = None,
    workers: int | None = None,
    out: str | AnyPath | None = None,
    part: parts.Part | str | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: Progress | None = None,
    shard_timeout: float | None = None,
) -> GenerationResult:
    """Generate a dataset, or the part of it that is missing.

    On Ctrl-C or SIGTERM it raises KeyboardInterrupt. Complete shards are kept, and the same call resumes.

    Parameters
    ----------
    config : Config, str, Path or mapping
        A config, or what :func:`posegen.load_config` takes.
    samples : int, optional
        Number of samples; by default that of the config. Existing samples are never removed.
    workers : int, optional
        Number of processes; by default that of the config, or one for each core. With 1 and no `shard_timeout`, this process
        does the work.
    out : str, Path or BucketPath, optional
        Dataset folder, or its address in a bucket, such as ``s3://BUCKET/PATH``; ``data/<config>-<seed>`` by default.
    part : Part or str, optional
        Make only this part, such as ``"3/16"``, without publishing it; see :func:`posegen.generation.finish.finish`.
    backend, scheduler : str, optional
        ``loky``, processes of this machine, or ``dask``: with the address of the scheduler of a Dask cluster, such as
        ``tcp://10.0.0.1:8786``, whose workers share the folder (needs ``posegen[dask]``).
    progress : Progress, optional
        Nothing is shown by default. See :func:`posegen.foundations.progress.make_progress`.
    shard_timeout : float, optional
        Seconds that a shard may take before its worker is killed; see :class:`posegen.generation.jobs.TimeLimit`.

    Raises
    ------
    UsageError
        If the folder holds something else.
    GenerationError
        If samples could not be made. They are named, and all other shards are complete.

    Examples
    --------
    >>> import tempfile, posegen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = posegen.generate(posegen.load_config("smoke"), samples=4, workers=1, out=f"{folder}/motion")
    >>> result.samples, result.sequences, result.nothing_to_do
    (4, 20, False)
    """
    check_backend(backend, scheduler)
    config = load_config(config)
    path, parsed = default_path(config) if out is None else to_path(out), parts.parse_part(part)
    return _generate(config, samples, workers, path, parsed, scheduler, progress or Progress(), shard_timeout)


def _generate(
    config: Config,
    samples: int | None,
    workers: int | None,
    path: AnyPath,
    part: parts.Part | None,
    scheduler: str | None,
    progress: Progress,
    shard_timeout: float | None,
) -> GenerationResult:
    """Hold the lock of a dataset, and make and publish what is missing."""
    samples = config.samples if samples is None else samples
    workers = workers if workers is not None else config.workers or available_cores()
    _check_arguments(config, samples, workers, shard_timeout)
    name, started = runs.current_run(), time.monotonic()
    header = headers.new_header(config, load_library(config.story.library))
    with write_session(path, name, create=True, part=part.lock_name if part else "") as check:
        run = _open_run(path, header, samples, name, progress, part)
        try:
            outcomes = _make_shards(run, config, workers, shard_timeout, scheduler, progress)
            lost = collect(outcomes, check, partial(run.record, progress))
        except ServerError:
            raise  # to publish would mean to wait for the server once more
        except BaseException:
            # However the run ends, complete shards are published. The error that ended the run may also prevent this.
            with suppress(OSError, PosegenError, ServerError):
                run.publish()
            raise
        finally:
            progress.stop()
        run.end()
    check_lost(path, lost, run.plan.shards)
    return run.result(started)


@dataclass
class _Run:
    """State of a run.

    Attributes
    ----------
    path : Path
        Dataset folder.
    plan : Plan
    header : Header
        As it is on disk.
    complete : dict of int to int
        Number of samples of each complete shard.
    name : str
        Name of the session.
    started, published : float
        When the first shard was started, and when the complete prefix was last published.
    samples, bytes, shards : int
        Made by this run.
    part : Part or None
        The only part that is made; its samples are not published.
    """

    path: AnyPath
    plan: Plan
    header: layout.Header
    complete: dict[int, int]
    name: str
    started: float = field(default_factory=time.monotonic)
    published: float = field(default_factory=time.monotonic)
    samples: int = 0
    bytes: int = 0
    shards: int = 0
    part: parts.Part | None = None

    def record(self, progress: Progress, receipt: receipts.Receipt) -> None:
        """Count a complete shard, show the progress, and publish the complete prefix from time to time."""
        self.complete[receipt.shard] = receipt.count
        if receipt.made_by_run != self.name:  # another run has made it meanwhile
            return
        self.samples += receipt.count
        self.bytes += receipt.size
        self.shards += 1
        rate = self.samples * len(self.header.variants) / max(time.monotonic() - self.started, 1e-9)
        progress.update(self.samples, f"{rate:,.0f} sequences/s, {human_bytes(self.bytes)}")
        if self.shards == 1:  # the size of a sample on disk is known now
            target, bytes_each = self.plan.header.samples, self.bytes / self.samples
            check_space(self.path, self.header, self.complete, target, bytes_each, storage_of(self.path).free_bytes())
        is_local = storage_of(self.path).local is not None
        pause = SECONDS_BETWEEN_PUBLICATIONS if is_local else SECONDS_BETWEEN_PUBLICATIONS_IN_BUCKET
        if time.monotonic() - self.published > pause:
            self.publish()

    def publish(self) -> None:
        """Make the complete prefix visible to readers, and restore damaged metadata."""
        if self.part:
            return
        self.published = time.monotonic()
        prefix = receipts.complete_prefix(self.path, self.header, self.complete)
        if prefix >= self.header.samples:
            self.header = publish(self.path, self.header, prefix, self.name)

    def end(self) -> None:
        """Publish what is complete; once all of it is, forget the request, and write the manifest."""
        self.publish()
        if self.part:
            return
        record = parts.read_parts(self.path)
        if record and record.samples <= self.header.samples:
            parts.remove_parts(self.path, record)
        if self.plan.shards or not manifest.covers_all(self.path, self.header):
            manifest.store_manifest(self.path, manifest.make_manifest(self.path, self.header), self.name)

    def result(self, began: float) -> GenerationResult:
        """Return the summary of a run that began at a time of the monotonic clock."""
        now = time.monotonic()
        path, header, variants = self.path, self.header, len(self.header.variants)
        return GenerationResult(
            path=path,
            samples=header.samples,
            sequences=header.samples * variants,
            shards_made=self.shards,
            sequences_made=self.samples * variants,
            seconds=now - began,
            startup_seconds=self.started - began,
            sequences_per_second=self.samples * variants / max(now - self.started, 1e-9),
            bytes=sum(entry.size for entry in storage_of(path).list().values()),
            nothing_to_do=not self.plan.shards,
            incomplete_layers=tuple(incomplete_layers(path, header)),
            part=str(self.part) if self.part else None,
        )


def _make_shards(
    run: _Run, config: Config, workers: int, shard_timeout: float | None, scheduler: str | None, progress: Progress
) -> Generator[receipts.Receipt | LostJob[ShardJob], None, None]:
    """Make the missing shards of a run, and yield the outcome of each."""
    plan = run.plan
    if not plan.shards:
        return
    is_local = storage_of(run.path).local is not None
    # The only shard of a new dataset is made in this process, because a worker takes longer to start. The only missing shard of
    # an existing dataset may have killed a worker of an earlier run.
    processes = min(workers, max(plan.shards, 2) if run.complete else plan.shards)
    limit = None if shard_timeout is None else TimeLimit(shard_timeout)
    if limit is None and processes > 1:
        shard_bytes = headers.bytes_per_sample(run.header) * run.header.shard
        limit = TimeLimit(max(LEAST_SHARD_SECONDS, shard_bytes / SLOWEST_BYTES_PER_SECOND), grows=True)
    most = most_workers() if scheduler is None and is_local else processes  # workers of a bucket wait for uploads
    if processes > most:
        progress.log(f"using {most} workers, not {processes}: more are slower on this machine (cores: {available_cores()})")
        processes = most
    warm_up(config, plan.first, progress, here=scheduler is None and processes == 1 and limit is None)
    run.started = time.monotonic()
    progress.start("generate", plan.samples_to_make)
    # Workers of a cluster have other working directories.
    path = run.path if scheduler is None else run.path.resolve()
    job = ShardJob(path, plan.header, config, plan.first, run.name, is_shared=bool(run.part) or not is_local)
    jobs = (replace(job, shard=shard) for shard in chain.from_iterable(plan.missing))
    load = partial(prepare_worker, config, plan.first, load_library(config.story.library))
    yield from run_jobs(make_shard, jobs, processes, limit, scheduler=scheduler, load=load, find=find_shard)


def incomplete_layers(path: AnyPath, header: layout.Header) -> list[str]:
    """Return the names of the derived fields that some visible samples lack."""
    return [
        layer.name
        for layer in header.layers
        if any(isinstance(receipt, str) for _, receipt in receipts.list_layer_receipts(path, header, layer))
    ]


def _check_arguments(config: Config, samples: int, workers: int, shard_timeout: float | None) -> None:
    require_positive("samples", samples)
    require_positive("workers", workers)
    if shard_timeout is not None and not shard_timeout > 0:
        raise UsageError(f"shard_timeout must be more than 0 seconds, not {shard_timeout}")
    if config.quotas is not None:
        # Imported here because few configs have quotas, and planning takes long to import.
        from posegen.planning.quotas import check_quotas

        if samples > config.quotas.total:
            msg = f"samples is {samples:,}, but the quotas define {config.quotas.total:,}; reduce it, or raise quotas.samples"
            raise UsageError(msg)
        check_quotas(config, load_library(config.story.library))


def _open_run(
    path: AnyPath, expected: layout.Header, samples: int, name: str, progress: Progress, part: parts.Part | None
) -> _Run:
    """Read the state of the dataset, plan the missing shards, and create an empty dataset if there is none.

    Parameters
    ----------
    path : Path
        Dataset folder.
    expected : Header
        Header of the requested dataset.
    samples : int
        Requested number of samples.
    name : str
        Name of the session.
    progress : Progress
    part : Part or None
        The only part that is made; then nothing is published, and other parts may be made meanwhile.
    """
    others: dict[int, int] = {}
    with lock.shared_lock(path, name, is_part=part is not None):  # another part may be creating the dataset at this moment
        repair_header(path, name, expected.identity)
        exists, header = is_dataset(path), replace(expected, created=headers.new_creation())
        if exists:
            header = load_header(path)
            headers.check_same_dataset(header, expected, path)
            if note := headers.settings_kept(header, expected, path):
                progress.log(note)
            headers.stored_config(path, header)
        elif part:
            header = create(path, header, name)
        target = max(samples, header.samples, parts.samples_after_repair(path))
        if part:
            target = parts.record_parts(path, target, part.count, name)
            whole = header.with_samples(target)
            others = {shard: whole.count(shard) for shard in range(whole.shards()) if shard not in part}
    # Complete shards may exist without a header, if it and its copy were damaged and the user removed them as advised.
    own = receipts.complete_shards(path, header, lambda shard: part is None or shard in part)
    target = target if part else max(target, receipts.complete_prefix(path, header, own))
    if samples < target:  # existing samples stay
        verb = "is to have" if part else "has"
        progress.log(f"{path} {verb} {counted(target, 'sample')}, more than the requested {samples:,}; none is removed")
    check_free_space(path, header, own, target, others)
    complete = others | own
    plan = make_plan(header.with_samples(target), complete)
    if plan.shards:
        files.remove_durably(path / layout.MANIFEST_FILE)
    if part is None:
        header = _show_only_complete(path, header, plan, name, exists=exists)
    return _Run(path, plan, header, complete, name, part=part)


def _show_only_complete(path: AnyPath, header: layout.Header, plan: Plan, name: str, *, exists: bool) -> layout.Header:
    """Hide shards that are about to be made again, record what is to be made, and return the header that is on disk."""
    target = plan.header.samples
    if not exists:
        header = create(path, header, name)
    elif plan.shards:
        # Readers, zarr included, must not see a shard that is about to be made again. This also restores metadata that an
        # earlier run did not write before it died.
        visible = min(header.samples, plan.first)
        if storage_of(path).local is None and target == header.samples:
            # A condition is the present content, so that a request that hides a shard, repeated late, would hide it again once
            # the header has its former content. Readers miss the receipt.
            visible = target
        if visible < header.samples - header.samples % header.shard:  # more than a last shard that is only extended
            parts.record_repair(path, max(header.samples, parts.samples_after_repair(path)), name)
        header = publish(path, header, visible, name)
    if plan.shards or parts.read_parts(path):  # so that what is missing is known however the run ends
        parts.record_parts(path, target, 0, name)
    if exists:
        # Files of a run that was to make more samples and died.
        for file in unfinished_files(path, header, plan.header.shards()):
            files.remove_durably(path / file)
    return header


def check_lost(path: AnyPath, lost: Sequence[LostJob[ShardJob]], shards: int) -> None:
    """Raise GenerationError if any of a run's shards could not be made."""
    if not lost:
        return
    lines = [
        f"{path}: {len(lost)} of {counted(shards, 'shard')} could not be made; all others are complete. "
        "Run the same command to try again:",
        *map(_describe_loss, lost[:NAMED_FAILURES]),
    ]
    if len(lost) > NAMED_FAILURES:
        lines.append(f"and {len(lost) - NAMED_FAILURES} more")
    raise GenerationError("\n  ".join(lines))


def _describe_loss(lost: LostJob[ShardJob]) -> str:
    job = lost.job
    name = f"shard {job.shard} (samples {job.start} to {job.stop - 1} of seed {job.config.seed})"
    alone = ", also without other shards" if lost.was_alone else ""
    hint = next((hint for reason, hint in _HINTS.items() if lost.reason.startswith(reason)), "")
    return f"{name}: {lost.reason}{alone}{hint}"
