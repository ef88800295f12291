"""``posegen.generate``: from a config to a dataset on disk.

A run takes the dataset's lock, clears away what dead runs left, plans, makes the shards that are missing, and publishes
what is complete without a gap, now and then and at the end. Everything that it knows about earlier runs it reads from the
receipts, so that it does not matter how they ended.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from posegen.config.schema import Config
from posegen.dataset.files import remove_temporary_files, temporary_run
from posegen.dataset.layout import Layer
from posegen.dataset.lock import locked
from posegen.dataset.receipts import list_layer_receipts
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError, UsageError
from posegen.generation.fields import array_fields
from posegen.generation.ledger import Ledger, failure_message, open_ledger
from posegen.generation.measures import ShardMeasures
from posegen.generation.plan import bytes_per_sample, new_header
from posegen.generation.pool import run_jobs
from posegen.generation.profile.comparison import comparison
from posegen.generation.progress import Reporter, Silence
from posegen.generation.stopping import stoppable
from posegen.generation.watching import Limit
from posegen.generation.worker import Made, make_shard_or_say, warm_up
from posegen.library.load import Library, load_library
from posegen.machine import available_cores

__all__ = ["GenerationError", "GenerationResult", "clearing_up", "default_place", "generate", "told_plainly"]

LEAST_SECONDS_A_SHARD = 300.0
SLOWEST_BYTES_PER_SECOND = 1e6
"""A core makes and stores more than 100 MB a second; a shard that takes as long as this hangs."""


@dataclass(frozen=True)
class GenerationResult:
    """What a run has done.

    Attributes
    ----------
    path : Path
        Of the dataset.
    samples, sequences : int
        That the dataset holds now.
    shards_made : int
        That this run made, and how many `sequences_made` are in them.
    seconds : float
        That this run took.
    sequences_per_second : float
        That this run made, once it had compiled what it needs.
    bytes : int
        Size of the dataset on disk.
    nothing_to_do : bool
        Whether everything was there already.
    layers_behind : tuple of str
        The layers that are not derived of all samples: `posegen derive` completes them.
    """

    path: Path
    samples: int
    sequences: int
    shards_made: int
    sequences_made: int
    seconds: float
    sequences_per_second: float
    bytes: int
    nothing_to_do: bool
    layers_behind: tuple[str, ...] = ()


class GenerationError(PosegenError):
    """Some shards could not be made; all others are complete."""


def default_place(config: Config) -> Path:
    """Where the dataset of a config goes unless told otherwise."""
    return Path("data") / f"{config.name}-{config.seed}"


def generate(
    config: Config,
    *,
    samples: int | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Reporter | None = None,
    shard_timeout: float | None = None,
    measured: Callable[[ShardMeasures], None] | None = None,
) -> GenerationResult:
    """Make a dataset, or what is missing of it.

    Parameters
    ----------
    config : Config
    samples : int, optional
        How many samples there are to be; as the config says unless given. Fewer than there are change nothing.
    workers : int, optional
        How many processes work at once; as the config says unless given, and otherwise one for each core. With 1 and no
        `shard_timeout`, the work is done in this process.
    out : str or Path, optional
        Folder of the dataset; ``data/<config>-<seed>`` unless given.
    progress : Reporter, optional
        Who is told how it goes; nobody unless given. See :func:`posegen.generation.progress.reporter`.
    shard_timeout : float, optional
        Seconds that a shard may take, some for loading the program into a new worker among them. A worker that takes longer is
        killed, and its shard is tried again alone, three times at most. Unless given, it is 5 minutes, 20 times what the
        slowest shard so far took, or what the shard takes at 1 MB a second, whichever is the longest; but none where the work
        is done in this process, which cannot stop itself: with one worker, and for the only shard of a new dataset.
    measured : callable, optional
        Called with what was measured of each shard, when it is complete.

    Returns
    -------
    GenerationResult

    Raises
    ------
    UsageError
        If the folder holds something else.
    GenerationError
        If samples could not be made; they are named, and everything else is complete.
    KeyboardInterrupt
        On Ctrl-C or SIGTERM. What is complete stays, and the same call goes on from there.

    Examples
    --------
    >>> import tempfile, posegen
    >>> config = posegen.load_config("smoke")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = posegen.generate(config, samples=4, workers=1, out=f"{folder}/motion")
    ...     again = posegen.generate(config, samples=4, workers=1, out=f"{folder}/motion")
    >>> result.samples, result.sequences, result.nothing_to_do, again.nothing_to_do
    (4, 20, False, True)
    """
    samples = config.samples if samples is None else samples
    workers = workers if workers is not None else config.workers or available_cores()
    for name, value in (("samples", samples), ("workers", workers)):
        if value < 1:
            msg = f"{name} must be at least 1, not {value}"
            raise UsageError(msg)
    if shard_timeout is not None and not shard_timeout > 0:
        msg = f"shard_timeout must be more than 0 seconds, not {shard_timeout}"
        raise UsageError(msg)
    path = default_place(config) if out is None else Path(out)
    library = load_library(config.story.library)
    _check_quotas(config, library, samples)
    wanted = new_header(config, library, array_fields(config, library))
    reporter = progress or Silence()
    run = current_run()
    started = time.monotonic()
    with stoppable() as check, told_plainly(path), _folder(path), locked(path, run), clearing_up(path, run):
        ledger = open_ledger(path, wanted, samples, run, reporter)
        if len(ledger.plan.shards):
            _make_shards(ledger, config, workers, shard_timeout, check, measured)
        ledger.publish()
    if ledger.failures:
        raise GenerationError(failure_message(ledger))
    return _result(ledger, time.monotonic() - started)


def _check_quotas(config: Config, library: Library, samples: int) -> None:
    if config.quotas is None:
        return
    # Imported here because most configs have none, and planning takes long to import.
    from posegen.planning.quotas import check_quotas

    if samples > config.quotas.total:
        msg = f"samples is {samples:,}, and the quotas are of {config.quotas.total:,}; lower it, or raise quotas.samples"
        raise UsageError(msg)
    check_quotas(config, library)


@contextmanager
def told_plainly(path: Path, cure: str = "Choose a folder that you may write in, with --out") -> Iterator[None]:
    """Say what it means for the user that the system refused something; `cure` is what to do where nothing may be written."""
    try:
        yield
    except BrokenPipeError:
        raise  # who read the progress has gone, which is nothing about the dataset
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            what = f"{error.filename} cannot be written ({error.strerror})"
            msg = f"{path}: {what}. {cure}"
            raise UsageError(msg) from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            msg = f"{path}: the disk is full. What is complete stays; make room and run the same command again"
        else:
            msg = f"{path}: {error}. What is complete stays; see to the disk, then run the same command again"
        raise PosegenError(msg) from error


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make the folder; if nothing comes to lie in it, take it away again."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        _make_folder(path)
        yield
    finally:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        msg = f"{path}: is a file or lies in one. Choose a folder with --out"
        raise UsageError(msg) from error


@contextmanager
def clearing_up(path: Path, run: str) -> Iterator[None]:
    """Remove the temporary files that dead runs left, and in the end those that workers of this run left that were killed."""
    remove_temporary_files(path)
    try:
        yield
    finally:
        # Once more those of dead runs: a worker of one may have lived for a moment longer than its parent.
        remove_temporary_files(path)
        for file in path.rglob("*"):
            if temporary_run(file.name) and run in file.name:
                file.unlink(missing_ok=True)


def _make_shards(
    ledger: Ledger,
    config: Config,
    workers: int,
    shard_timeout: float | None,
    check: Callable[[], None],
    measured: Callable[[ShardMeasures], None] | None,
) -> None:
    at_once = _at_once(ledger, workers)
    limit = _limit(ledger, at_once, shard_timeout)
    compare = comparison(ledger.path, ledger.header, at_once, ledger.reporter)
    try:
        first = ledger.plan.span(ledger.plan.shards[0]).start
        warm_up(config, first, ledger.reporter, here=at_once == 1 and limit is None)
        ledger.started = time.monotonic()
        ledger.reporter.start(ledger.progression)
        with closing(run_jobs(make_shard_or_say, ledger.jobs(config), at_once, limit)) as outcomes:
            for outcome in outcomes:
                check()
                if isinstance(outcome, Made):
                    compare(outcome.measures)
                    if measured is not None:
                        measured(outcome.measures)
                ledger.enter(outcome.receipt if isinstance(outcome, Made) else outcome)
    except BaseException:
        # However the run ends, readers may have what is complete. What stopped the run may also stop this.
        with suppress(OSError, PosegenError):
            ledger.publish()
        raise
    finally:
        ledger.reporter.stop()


def _at_once(ledger: Ledger, workers: int) -> int:
    """Decide how many processes work at once."""
    shards = len(ledger.plan.shards)
    # The only shard of a new dataset is made in this process, because a worker takes longer to start. The only one that is
    # missing of an older one may be that which an earlier run's worker died of.
    return min(workers, max(shards, 2) if ledger.complete else shards)


def _limit(ledger: Ledger, workers: int, shard_timeout: float | None) -> Limit | None:
    """Decide how long a shard may take; None lets one worker do its work in this process."""
    if shard_timeout is not None:
        return Limit(shard_timeout)
    if workers == 1:
        return None
    shard_bytes = bytes_per_sample(ledger.header) * ledger.header.shard
    return Limit(max(LEAST_SECONDS_A_SHARD, shard_bytes / SLOWEST_BYTES_PER_SECOND), grows=True)


def _result(ledger: Ledger, seconds: float) -> GenerationResult:
    making = time.monotonic() - ledger.started
    variants = len(ledger.header.variants)
    return GenerationResult(
        path=ledger.path,
        samples=ledger.header.samples,
        sequences=ledger.header.samples * variants,
        shards_made=ledger.shards,
        sequences_made=ledger.samples * variants,
        seconds=seconds,
        sequences_per_second=ledger.samples * variants / making,
        bytes=sum(file.lstat().st_size for file in ledger.path.rglob("*") if file.is_file()),
        nothing_to_do=not len(ledger.plan.shards),
        layers_behind=tuple(layer.name for layer in ledger.header.layers if _is_behind(ledger, layer)),
    )


def _is_behind(ledger: Ledger, layer: Layer) -> bool:
    return any(isinstance(found, str) for _, found in list_layer_receipts(ledger.path, ledger.header, layer))
