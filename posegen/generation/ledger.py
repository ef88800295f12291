"""What a run knows while it works: what is complete, what it made itself, and what could not be made."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from posegen.config.schema import Config
from posegen.dataset.files import remove_durably
from posegen.dataset.header import is_dataset, load_header, repair_header
from posegen.dataset.layout import Header
from posegen.dataset.receipts import Receipt, complete_prefix, complete_shards, load_receipt
from posegen.dataset.write import create, publish, unfinished_files
from posegen.generation.plan import Plan, adopt, check_space, make_plan, target_samples
from posegen.generation.pool import DIED, SHORT_OF_MEMORY, Lost
from posegen.generation.progress import Progression, Reporter
from posegen.generation.stored import stored_config
from posegen.generation.worker import Failure, Job
from posegen.machine import free_disk

__all__ = ["Ledger", "failure_message", "open_ledger"]

SECONDS_BETWEEN_PUBLICATIONS = 2.0
MEASURED_SHARDS = 4
NAMED_FAILURES = 10
_ADVICE = {
    DIED: "; it may need more memory than there is",
    SHORT_OF_MEMORY: "; try fewer --workers, or a new dataset with a smaller store.shard",
}


@dataclass
class Ledger:
    """What a run knows while it works.

    Attributes
    ----------
    plan : Plan
    header : Header
        As it is on disk.
    complete : dict of int to int
        How many samples each complete shard has.
    run : str
        Name of the run.
    reporter : Reporter
    started, published : float
        When shards began to be made, and when readers were last told what there is.
    samples, bytes, shards : int
        What this run has made.
    failures : list of str
        What could not be made, and why.
    """

    plan: Plan
    header: Header
    complete: dict[int, int]
    run: str
    reporter: Reporter
    started: float = field(default_factory=time.monotonic)
    published: float = field(default_factory=time.monotonic)
    samples: int = 0
    bytes: int = 0
    shards: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """Of the dataset."""
        return self.plan.path

    @property
    def progression(self) -> Progression:
        """How far the run is."""
        seconds = time.monotonic() - self.started
        sequences = self.samples * len(self.header.variants)
        return Progression(self.samples, self.plan.samples_to_make, sequences, self.bytes, seconds)

    def jobs(self, config: Config) -> Iterator[Job]:
        """Give what is to be made, one after another."""
        # Not a generator: two threads of a pool must not find it running.
        return map(partial(_job, self, config), self.plan.shards)

    def enter(self, outcome: Receipt | Failure | Lost[Job]) -> None:
        """Take down what came of a job, and let readers see it from time to time."""
        if not isinstance(outcome, Receipt):
            self.failures.append(outcome.reason if isinstance(outcome, Failure) else _reason(outcome))
            return
        self.complete[outcome.shard] = outcome.count
        self.samples += outcome.count
        self.bytes += outcome.size
        self.shards += 1
        self.reporter.update(self.progression)
        if self.shards == 1:
            self._check_space_again()
        if time.monotonic() - self.published > SECONDS_BETWEEN_PUBLICATIONS:
            self.publish()

    def publish(self) -> None:
        """Let readers see what is complete without a gap; what describes it is mended if it is not as it should be."""
        self.published = time.monotonic()
        prefix = complete_prefix(self.path, self.header, self.complete)
        if prefix >= self.header.samples:
            self.header = publish(self.path, self.header, prefix, self.run)

    def _check_space_again(self) -> None:
        """Now that a shard is there, it is known how large they are."""
        free = free_disk(self.path)
        check_space(self.path, self.header, self.complete, self.plan.target, self.bytes / self.samples, free)


def open_ledger(path: Path, wanted: Header, samples: int, run: str, reporter: Reporter) -> Ledger:
    """Look at what is there, plan what is missing, and make an empty dataset if there is none.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    wanted : Header
        Of the dataset that is asked for.
    samples : int
        How many samples there are to be.
    run : str
    reporter : Reporter
    """
    repair_header(path, run, wanted.identity)
    is_there = is_dataset(path)
    header = adopt(load_header(path), wanted, path) if is_there else wanted
    if is_there:
        stored_config(path, header)
    # There may be complete shards without a header: it and its copy were damaged, and its user followed the advice.
    complete = complete_shards(path, header)
    target = target_samples(path, header, complete, samples)
    if samples < target:
        reporter.say(f"{path} has {target:,} samples already, more than the {samples:,} asked for: nothing is taken away")
    check_space(path, header, complete, target, _measured_bytes(path, header, complete), free_disk(path))
    plan = make_plan(path, header, complete, target)
    if not is_there:
        create(path, header, run)
    elif len(plan.shards):
        # A shard that is about to be made again must not be seen half, nor by who reads the arrays with zarr alone: the
        # descriptions are brought back, too, where a run died before it could do that.
        header = publish(path, header, min(header.samples, plan.span(plan.shards[0]).start), run)
    if is_there:
        # A run that was to make more died, and this one is to make less.
        for name in unfinished_files(path, header, set(plan.shards.tolist())):
            remove_durably(path / name)
    return Ledger(plan, header, complete, run, reporter)


def failure_message(ledger: Ledger) -> str:
    """Name what could not be made."""
    failures = ledger.failures
    lines = [
        f"{ledger.path}: {len(failures)} of {len(ledger.plan.shards)} shards could not be made; all others are complete. "
        "The same command tries again:",
        *failures[:NAMED_FAILURES],
    ]
    if len(failures) > NAMED_FAILURES:
        lines.append(f"and {len(failures) - NAMED_FAILURES} more")
    return "\n  ".join(lines)


def _job(ledger: Ledger, config: Config, shard: int) -> Job:
    return Job(ledger.path, ledger.header, config, ledger.plan.span(shard), ledger.run)


def _reason(lost: Lost[Job]) -> str:
    span = lost.job.span
    named = f"shard {span.shard} (samples {span.start} to {span.stop - 1} of seed {lost.job.config.seed})"
    again = f", then {lost.attempts} more times with nothing beside it" if lost.attempts else ""
    return f"{named}: {lost.why}{again}{_ADVICE.get(lost.why, '; --shard-timeout gives it longer')}"


def _measured_bytes(path: Path, header: Header, complete: dict[int, int]) -> float | None:
    receipts = [load_receipt(path, header, shard) for shard in list(complete)[:MEASURED_SHARDS]]
    return sum(receipt.size for receipt in receipts) / sum(receipt.count for receipt in receipts) if receipts else None
