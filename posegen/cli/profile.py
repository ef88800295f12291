"""``posegen profile``: estimate time, memory and disk of a dataset, and of the pipeline from it to trained models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import (
    WHOLE,
    Output,
    budget_option,
    command,
    config_option,
    encoder_option,
    folder_option,
    presets_option,
    seed_option,
    set_option,
    tasks_option,
    workers_option,
)
from posegen.cli.run import make_request
from posegen.foundations.errors import UsageError
from posegen.foundations.quantities import human_bytes, human_time
from posegen.foundations.wording import shown, table

if TYPE_CHECKING:
    from posegen.generation.profile.estimate import Target
    from posegen.generation.profile.profile import Profile
    from posegen.pipeline.estimate import PipelineEstimate
    from posegen.pipeline.stages import Request


_MOST_TARGETS = 20
_STAGES = ("generate", "embed", "train", "evaluate", "animate")
_PAGE: click.Path = click.Path(path_type=Path, dir_okay=False)
_BAR = 20
_LEAST_SECONDS = 0.0005


def _has_folder(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Check that the folder of the page exists, before the measurements."""
    del ctx, parameter
    if path is not None and not path.absolute().parent.is_dir():
        raise UsageError(f"--html {shown(str(path))}: its folder does not exist; create it, or choose another")
    return path


def _parse_targets(ctx: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> tuple[int, ...]:
    """Parse numbers of samples separated by commas."""
    numbers = [WHOLE.convert(text.strip(), parameter, ctx) for given in texts for text in given.split(",")]
    if len(numbers) > _MOST_TARGETS:
        raise UsageError(f"--target has {len(numbers)} numbers; {_MOST_TARGETS} are the most")
    return tuple(numbers)


@command(
    "posegen profile --samples 1000 --target 100000,1000000",
    "posegen profile --config full --budget 2h --html profile.html",
    "posegen profile --config smoke --through animate",
    "posegen profile --target 10000 --through train --task retrieval --task motion --preset motion:balanced --budget 14h",
)
@config_option
@click.option("--samples", type=WHOLE, default=1000, metavar="N", help="Samples of each measured run.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="N,N",
    callback=_parse_targets,
    help="Numbers of samples to estimate.  [default: that of the config]",
)
@click.option("--repeats", type=WHOLE, default=5, metavar="R", help="Number of measured runs.")
@click.option(
    "--through",
    type=click.Choice(_STAGES),
    metavar="STAGE",
    help="Also estimate `posegen run` through this stage: generate, embed, train, evaluate or animate.",
)
@tasks_option("With --through: model to train. May be repeated.")
@presets_option("With --through: preset of all trainings, or with TASK: of one. May be repeated.")
@encoder_option
@workers_option
@seed_option
@folder_option("Folder on the disk to measure, such as that of the dataset.  [default: data/CONFIG-SEED]")
@set_option
@budget_option(
    "Duration such as 30m or 2h: print how many samples fit, and exit with 1 if a target may take longer, or disk or memory "
    "are too small."
)
@click.option("--html", type=_PAGE, callback=_has_folder, metavar="FILE", help="Write a page with a flame chart.")
def profile(
    config: str,
    samples: int,
    targets: tuple[int, ...],
    repeats: int,
    through: str | None,
    budget: float | None,
    html: Path | None,
    output: Output,
    **options: Any,
) -> int:
    """Estimate time, memory and disk for a dataset.

    The command generates small datasets, several times, in a temporary folder on the disk of --out. With --through, the other
    stages run once on a few samples, with a few training steps.
    """
    from posegen.generation.profile.profile import profile as measure

    request, progress = make_request(config, None, **options), output.progress()
    names = [] if through is None else _stages(request, through)
    workers, out = request.workers, options["out"]
    found = measure(
        request.config, samples=samples, targets=targets, workers=workers, repeats=repeats, out=out, progress=progress
    )
    if html is not None:
        from posegen.generation.profile.report import profile_page

        html.write_text(profile_page(found, budget), encoding="utf-8")
    document = found.to_dict(budget)
    estimates: list[PipelineEstimate] = []
    fitting = {} if budget is None else {"generate": _most(found, lambda samples: found.estimate(samples).fits(budget))}
    if names:
        from posegen.pipeline.estimate import measure_pipeline

        estimate = measure_pipeline(request, names, found, progress)
        estimates = [estimate(target.samples) for target in found.targets]
        document["pipelines"] = [_pipeline_data(each, budget) for each in estimates]
        if budget is not None:
            for number, name in enumerate(names[1:], 2):
                fitting[name] = _most(found, partial(_fits, estimate, number, budget))
    document["samples_within_budget"] = fitting
    sections = [] if output.quiet else _measurements(found)
    sections += [_target_table(found, budget), "\n".join(_advice(found, budget)), *_pipeline_sections(estimates, budget)]
    if budget is not None:
        rows = [(name, f"{samples:,}") for name, samples in fitting.items()]
        title = f"Samples that fit into {human_time(budget)} and on the disk, with all stages up to each one"
        # rich wraps the title of a table to its width.
        sections.append(f"{title}\n\n{table(('stage', 'samples'), rows)}")
    output.result(document, "\n\n".join(sections))
    fits = all(target.fits(budget) for target in found.targets) and all(each.fits(budget) for each in estimates)
    return 0 if budget is None or fits else 1


def _stages(request: Request, through: str) -> list[str]:
    """Return the names of the stages of a pipeline, or refuse it before anything is measured."""
    from posegen.pipeline.estimate import missing_encoder, select_stages

    if through != "generate" and request.config.quotas is not None:
        msg = "--through: quotas fix the number of samples, so that no pilot run is possible; use a config without quotas"
        raise UsageError(msg)
    missing_encoder(request)
    return select_stages(request, through)


def _fits(estimate: Callable[[int], PipelineEstimate], stages: int, budget: float, samples: int) -> bool:
    return estimate(samples).through(stages).fits(budget)


def _most(found: Profile, fits: Callable[[int], bool]) -> int:
    """Return the most samples that fit; quotas fix their number."""
    from posegen.config.schema import MOST_SAMPLES
    from posegen.generation.profile.estimate import most_samples

    return most_samples(fits, MOST_SAMPLES if found.config.quotas is None else found.config.quotas.total)


def _pipeline_data(found: PipelineEstimate, budget: float | None) -> dict[str, Any]:
    total = asdict(found.total)
    del total["name"]
    return {**asdict(found), **total, "fits": found.fits(budget)}


def _pipeline_sections(estimates: Sequence[PipelineEstimate], budget: float | None) -> Iterator[str]:
    for pipeline in estimates:
        costs, total = (*pipeline.stages, pipeline.total), pipeline.total
        rows = [
            (cost.name, human_time(cost.seconds), _interval(cost.low, cost.high), human_bytes(cost.bytes)) for cost in costs
        ]
        lines = [table(("stage", "time", "interval", "disk"), rows, f"Pipeline with {pipeline.samples:,} samples")]
        lines += [f"{cost.note}." for cost in costs if cost.note]
        if total.bytes > pipeline.disk_free:
            lines.append(f"It does not fit on this disk, which has {human_bytes(pipeline.disk_free)} free.")
        if budget is not None and total.high > budget:
            lines.append(f"It may take longer than {human_time(budget)}: up to {human_time(total.high)}.")
        yield "\n".join(lines)


def _interval(low: float, high: float) -> str:
    return f"{human_time(low)} to {human_time(high)}"


def _measurements(found: Profile) -> list[str]:
    """Return the measured stages, start-up and rates."""
    from posegen.generation.profile.estimate import STAGES

    block = "█" if (sys.stdout.encoding or "utf-8").lower().startswith("utf") else "#"
    stages = []
    for stage in found.stages:
        if max(stage.seconds, stage.background) >= _LEAST_SECONDS:
            share = stage.seconds / found.shard_seconds
            background = f"{1000 * stage.background:,.0f}" if stage.background else ""
            figures = f"{1000 * stage.seconds:,.0f}", f"{share:.1%}", block * round(_BAR * share), background
            stages.append((stage.name, *figures, STAGES.get(stage.name, "")))
    rates, variants = found.costs.rates, len(found.config.variants.names)
    speeds = []
    for level in rates:
        rate = level.samples_per_second
        times = f"{rate / rates[0].samples_per_second:.2f}"
        speeds.append((str(level.workers), f"{rate:,.0f}", f"{variants * rate:,.0f}", times, human_bytes(level.peak_bytes)))
    startup, title = found.startup, f"Stages of a shard of {found.config.store.shard} samples, {rates[-1].workers} at once"
    once = (
        f"start-up, once per run: {sum(startup.values()):.1f} s (program {startup['program']:.1f} s, "
        f"workers {startup['workers']:.1f} s, longer first shards {startup['first_shard']:.1f} s)"
    )
    if found.compile_seconds is not None:
        once += f"; compiling, once per version: {human_time(found.compile_seconds)}"
    return [
        table(("", "ms", "share", "", "background, ms", ""), stages, title),
        once,
        table(("workers", "samples/s", "sequences/s", "times 1 worker", "memory each"), speeds, "Rates in the long run"),
    ]


def _target_table(found: Profile, budget: float | None) -> str:
    columns = ["samples", "time", "9 of 10 runs", "disk", "workers", "memory", "limited by"]
    rows = []
    for target in found.targets:
        interval = _interval(target.seconds_low, target.seconds_high)
        row = [f"{target.samples:,}", human_time(target.seconds), interval, human_bytes(target.bytes)]
        rows.append([*row, str(target.workers), human_bytes(target.memory_bytes), target.limited_by])
        if budget is not None:
            rows[-1].append("yes" if target.fits(budget) else "no")
    if budget is not None:
        columns.append(f"in {human_time(budget)}")
    return table(columns, rows, "Estimated costs")


def _advice(found: Profile, budget: float | None) -> Iterator[str]:
    costs = found.costs
    free = f"{human_bytes(found.disk_free)} free on the disk of {found.folder}"
    yield f"{human_bytes(costs.sample_bytes)} a sample; {free}; {human_bytes(costs.memory)} of memory to use."
    if all(target.disk_suffices and target.memory_suffices for target in found.targets):
        yield "There is enough disk and memory."
    for target in found.targets:
        yield from _shortages(target, budget)
    for workers, shard in dict.fromkeys((target.recommended_workers, target.recommended_shard) for target in found.targets):
        shards = f"shards of {shard} samples"
        shards += "" if shard == found.config.store.shard else f" (--set store.shard={shard})"
        yield f"Recommended: --workers {workers}, {shards}."


def _shortages(target: Target, budget: float | None) -> Iterator[str]:
    if not target.disk_suffices:
        yield f"{target.samples:,} samples do not fit on this disk: they need {human_bytes(target.bytes)}."
    if not target.memory_suffices:
        yield f"{target.workers} workers need {human_bytes(target.memory_bytes)} of memory: use fewer, or smaller shards."
    if budget is not None and target.seconds_high > budget:
        verb = "take" if target.seconds_low > budget else "may take"
        yield f"{target.samples:,} samples {verb} longer than {human_time(budget)}: up to {human_time(target.seconds_high)}."
