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

from posegen.config import Config
from posegen.errors import PosegenError, UsageError
from posegen.generation.fields import array_fields
from posegen.generation.ledger import Ledger, failure_message, open_ledger
from posegen.generation.plan import new_header
from posegen.generation.pool import available_cores, run_jobs
from posegen.generation.progress import Reporter, Silence
from posegen.generation.stopping import stoppable
from posegen.generation.worker import make_shard_or_say, warm_up
from posegen.library import load_library
from posegen.store.files import is_temporary, sweep
from posegen.store.lock import locked
from posegen.store.runs import current_run

__all__ = ["GenerationError", "GenerationResult", "default_place", "generate"]


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
) -> GenerationResult:
    """Make a dataset, or what is missing of it.

    Parameters
    ----------
    config : Config
    samples : int, optional
        How many samples there are to be; as the config says unless given. Fewer than there are change nothing.
    workers : int, optional
        How many processes work at once; as the config says unless given, and otherwise one for each core. With 1, the work
        is done in this process.
    out : str or Path, optional
        Folder of the dataset; ``data/<config>-<seed>`` unless given.
    progress : Reporter, optional
        Who is told how it goes; nobody unless given. See :func:`posegen.generation.progress.reporter`.

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
    path = default_place(config) if out is None else Path(out)
    library = load_library(config.story.library)
    wanted = new_header(config, library, array_fields(config, library))
    reporter = progress or Silence()
    run = current_run()
    started = time.monotonic()
    with stoppable() as check, _folder(path), locked(path, run), _clearing_up(path, run):
        ledger = open_ledger(path, wanted, samples, run, reporter)
        if len(ledger.plan.shards):
            _make_shards(ledger, config, min(workers, len(ledger.plan.shards)), check)
        ledger.publish()
    if ledger.failures:
        raise GenerationError(failure_message(ledger))
    return _result(ledger, time.monotonic() - started)


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make the folder; if nothing comes to lie in it, take it away again."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        msg = f"{path}: is a file or lies in one. Choose a folder with --out"
        raise UsageError(msg) from error
    try:
        yield
    finally:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def _clearing_up(path: Path, run: str) -> Iterator[None]:
    """Remove the temporary files that dead runs left, and in the end those that workers of this run left that were killed."""
    sweep(path)
    try:
        yield
    finally:
        for file in path.rglob("*"):
            if is_temporary(file) and run in file.name:
                file.unlink(missing_ok=True)


def _make_shards(ledger: Ledger, config: Config, workers: int, check: Callable[[], None]) -> None:
    try:
        warm_up(config, ledger.plan.span(ledger.plan.shards[0]).start, ledger.reporter)
        ledger.started = time.monotonic()
        ledger.reporter.start(ledger.progression)
        with closing(run_jobs(make_shard_or_say, ledger.jobs(config), workers)) as outcomes:
            for outcome in outcomes:
                check()
                ledger.enter(outcome)
    except KeyboardInterrupt:
        ledger.publish()
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        msg = f"{ledger.path}: the disk is full. What is complete stays; make room and run the same command again"
        raise PosegenError(msg) from error
    except MemoryError as error:
        msg = (
            f"{ledger.path}: memory is short. What is complete stays; run the same command again with fewer --workers, "
            "or make a new dataset with a smaller store.shard"
        )
        raise PosegenError(msg) from error
    finally:
        ledger.reporter.stop()


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
    )
