"""Output of ``posegen profile`` on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from posegen.generation.profile.profile import Profile, Target
from posegen.generation.profile.stages import STAGES
from posegen.quantities import human_bytes, human_time
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.pipeline.estimate import PipelineEstimate


_BAR = 20
_LEAST_SECONDS = 0.0005
_WIDTH = 120


def print_profile(found: Profile, budget: float | None, *, quiet: bool) -> None:
    """Print a profile; with `quiet`, only the targets."""
    console = _console()
    if not quiet:
        console.print(_stages(found, "█" if console.encoding.startswith("utf") else "#"))
        console.print(_once(found))
        console.print(_rates(found))
    console.print(_targets(found, budget))
    for line in _advice(found, budget):
        console.print(printable(line))


def print_pipelines(estimates: Sequence[PipelineEstimate], budget: float | None) -> None:
    """Print the estimated costs of each stage of a pipeline for each target."""
    console = _console()
    for pipeline in estimates:
        table = _table(f"Pipeline with {pipeline.samples:,} samples", "stage", "time", "interval", "disk")
        for cost in (*pipeline.stages, pipeline.total):
            interval = f"{human_time(cost.low)} to {human_time(cost.high)}"
            table.add_row(cost.name, human_time(cost.seconds), interval, human_bytes(cost.bytes))
        console.print(table)
        if pipeline.total.bytes > pipeline.disk_free:
            console.print(f"It does not fit on this disk, which has {human_bytes(pipeline.disk_free)} free.")
        if budget is not None and pipeline.total.high > budget:
            console.print(f"It may take longer than {human_time(budget)}: up to {human_time(pipeline.total.high)}.")


def _console() -> Console:
    stream = sys.stdout
    # Without a terminal rich would cut lines at 80 letters.
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, highlight=False, markup=False, width=width)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 or not column else "right", no_wrap=True)
    return table


def _stages(found: Profile, block: str) -> Table:
    shard, workers = found.config.store.shard, found.costs.rates[-1].workers
    table = _table(f"Stages of a shard of {shard} samples, {workers} at once", "", "ms", "share", "", "background, ms")
    table.add_column("", justify="left", style="dim")
    for stage in found.stages:
        share = stage.seconds / found.shard_seconds
        if max(stage.seconds, stage.background) < _LEAST_SECONDS:
            continue
        background = f"{1000 * stage.background:,.0f}" if stage.background else ""
        bar = block * round(_BAR * share)
        description = STAGES.get(stage.name, "")
        table.add_row(stage.name, f"{1000 * stage.seconds:,.0f}", f"{share:.1%}", bar, background, description)
    return table


def _once(found: Profile) -> str:
    startup = found.startup
    compiling = (
        f"; compiling, once per version: {human_time(found.compile_seconds)}" if found.compile_seconds is not None else ""
    )
    return (
        f"start-up, once per run: {sum(startup.values()):.1f} s (program {startup['program']:.1f} s, "
        f"workers {startup['workers']:.1f} s, longer first shards {startup['first_shard']:.1f} s){compiling}\n"
    )


def _rates(found: Profile) -> Table:
    table = _table("Rates in the long run", "workers", "samples/s", "sequences/s", "times 1 worker", "memory each")
    one, variants = found.costs.rates[0], len(found.config.variants.names)
    for level in found.costs.rates:
        rate = level.samples_per_second
        times = f"{rate / one.samples_per_second:.2f}"
        table.add_row(str(level.workers), f"{rate:,.0f}", f"{variants * rate:,.0f}", times, human_bytes(level.peak_bytes))
    return table


def _targets(found: Profile, budget: float | None) -> Table:
    table = _table("Estimated costs", "samples", "time", "9 of 10 runs", "disk", "workers", "memory", "limited by")
    if budget is not None:
        table.add_column(f"in {human_time(budget)}", justify="right")
    for target in found.targets:
        estimate = target.estimate
        interval = f"{human_time(estimate.low)} to {human_time(estimate.high)}"
        row = [f"{target.samples:,}", human_time(estimate.seconds), interval, human_bytes(target.bytes), str(target.workers)]
        row += [human_bytes(target.memory_bytes), target.limited_by]
        table.add_row(*row, *([] if budget is None else ["yes" if target.fits(budget) else "no"]))
    return table


def _advice(found: Profile, budget: float | None) -> Iterator[str]:
    costs = found.costs
    free = f"{human_bytes(found.disk_free)} free on the disk of {found.folder}"
    yield f"{human_bytes(costs.sample_bytes)} a sample; {free}; {human_bytes(costs.memory)} of memory to use."
    if all(target.disk_suffices and target.memory_suffices for target in found.targets):
        yield "There is enough disk and memory."
    for target in found.targets:
        yield from _shortages(found, target, budget)
    for workers, shard in dict.fromkeys((target.recommended_workers, target.recommended_shard) for target in found.targets):
        shards = f"shards of {shard} samples"
        shards += "" if shard == found.config.store.shard else f" (--set store.shard={shard})"
        yield f"Recommended: --workers {workers}, {shards}."


def _shortages(found: Profile, target: Target, budget: float | None) -> Iterator[str]:
    if not target.disk_suffices:
        yield f"{target.samples:,} samples do not fit on this disk: they need {human_bytes(target.bytes)}."
    if not target.memory_suffices:
        yield f"{target.workers} workers need {human_bytes(target.memory_bytes)} of memory: use fewer, or smaller shards."
    if budget is not None and target.estimate.high > budget:
        verb = "take" if target.estimate.low > budget else "may take"
        at_most = f"up to {human_time(target.estimate.high)}"
        yield f"{target.samples:,} samples {verb} longer than {human_time(budget)}: {at_most}."
