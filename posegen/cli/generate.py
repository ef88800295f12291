"""``posegen profile``, ``generate``, ``status``, ``finish``, ``derive`` and ``run``: make datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli import options as cli
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import FIELDS, TASKS
from posegen.foundations.quantities import human_bytes, human_time
from posegen.foundations.wording import counted, table, verb

if TYPE_CHECKING:
    from posegen.config.schema import Config
    from posegen.generation.profile import Profile


@cli.command("posegen generate --samples 10000 --workers 8", "posegen generate --config smoke --out data/first")
@cli.config_option
@cli.dataset_options
@cli.folder_option("Dataset folder, or s3://BUCKET/PATH.  [default: data/CONFIG-SEED]", cli.DATASET)
@cli.part_option("Make")
@click.option("--backend", metavar="loky|dask", default="loky", help="Backend of joblib: this machine, or a Dask cluster.")
@click.option("--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler, such as tcp://10.0.0.1:8786.")
@click.option(
    "--shard-timeout",
    type=float,
    metavar="SECONDS",
    help="Kill a worker whose shard takes longer, and try again.  [default: at least 5 minutes; none with 1 worker]",
)
@cli.loads_config
def generate(config: Config, out: AnyPath | None, output: cli.Output, **options: Any) -> None:
    """Generate a dataset of labelled human motion.

    The same command resumes an interrupted run; with more samples, it extends the dataset.

    With --part, any number of jobs make one dataset, in any order and on any machines that share the folder. `posegen status`
    shows how many shards they have made, and `posegen finish` publishes it.
    """
    from posegen.generation.run import default_path
    from posegen.generation.run import generate as make

    path = default_path(config) if out is None else out
    with output.resumable(path):
        result = make(config, out=path, progress=output.progress(), **options)
    part_text = f"part {result.part} of " if result.part else ""
    if result.nothing_to_do:
        lines = [f"Nothing to do: {part_text}{result.path} is complete."]
    else:
        seconds, rate = result.seconds - result.startup_seconds, result.sequences_per_second
        made = f"{counted(result.sequences_made, 'sequence')} in {f'{seconds:.1f}s' if seconds < 10 else human_time(seconds)}"
        lines = [f"Generated {made}, {rate:,.0f} per second, in {part_text}{result.path}."]
    shown = cli.quoted(result.path)
    if result.part:
        lines += ["Next, once all parts are made:", f"  posegen finish {shown}"]
        output.summary(result, "\n".join(lines))
        return
    if result.incomplete_layers:
        lines.append(f"Incomplete fields: {', '.join(result.incomplete_layers)}. Run: posegen derive {shown}")
    lines += [
        f"It holds {counted(result.samples, 'sample')}, {counted(result.sequences, 'sequence')}, {human_bytes(result.bytes)}.",
        "Next:",
        f"  posegen view {shown}",
        f"  posegen info {shown}",
        f"  posegen show {shown} --sample 0 -o sample.gif",
    ]
    output.summary(result, "\n".join(lines))


@cli.command("posegen status data/default-0")
@click.argument("dataset", type=cli.DATASET)
def status(dataset: AnyPath, output: cli.Output) -> None:
    """Show how far DATASET is while runs or parts make it: shards and running parts.

    It reads only the names of receipts. `posegen verify` reads the files.
    """
    from posegen.generation.describe import find_status

    found = find_status(dataset)
    lines = [
        f"{dataset}: {found.made:,} of {counted(found.shards, 'shard')} {verb(found.shards)} made.",
        f"Published: {found.samples:,} of {counted(found.target, 'sample')}.",
        f"Running: {'not known for a bucket' if found.running is None else ', '.join(found.running) or 'nothing'}.",
    ]
    if found.state == "stopped":
        lines.append("Stopped before its end. Run the same `posegen generate` command again: it makes the missing shards.")
    if found.samples < found.target and found.parts:
        lines.append("Once all parts are made, `posegen finish` publishes the samples.")
    output.result(asdict(found), "\n".join(lines))


_GAPS_SHOWN = 10


@cli.command("posegen finish data/default-0")
@click.argument("dataset", type=cli.DATASET)
def finish(dataset: AnyPath, output: cli.Output) -> int:
    """Publish the samples that the parts of DATASET have made, from the first up to the first gap.

    It names the shards that are missing, and the parts to run again. It may be run while parts are being made. The exit code is
    0 if nothing is missing, else 1.
    """
    from posegen.generation.finish import finish as publish

    result = publish(dataset, output.progress())
    lines = [f"{dataset}: published {counted(result.samples, 'sample')}, {counted(result.sequences, 'sequence')}."]
    if result.missing:
        gaps = [f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last in result.missing]
        more = f" and {len(gaps) - _GAPS_SHOWN:,} more" if len(gaps) > _GAPS_SHOWN else ""
        lost = result.shards - result.complete
        whole = f"{counted(result.shards, 'shard')} {verb(result.shards)}"
        lines.append(f"{lost:,} of {whole} missing: {', '.join(gaps[:_GAPS_SHOWN])}{more}.")
        parts = ", ".join(f"{number}/{result.of_parts}" for number in result.parts[:_GAPS_SHOWN])
        more = " and more" if len(result.parts) > _GAPS_SHOWN else ""
        lines.append(
            f"Run again: posegen generate --part {parts}{more}, with the other options as before, or --part all for all "
            "of them; then this command."
            if result.of_parts > 1
            else "Run the same `posegen generate` command again: it makes and publishes them."
        )
    else:
        lines += ["Nothing is missing. Next:", f"  posegen verify {cli.quoted(dataset)}"]
    if result.incomplete_layers:
        fields = ", ".join(result.incomplete_layers)
        lines.append(f"Incomplete fields: {fields}. Run: posegen derive {cli.quoted(dataset)}")
    output.summary(asdict(result), "\n".join(lines))
    return int(bool(result.missing))


@cli.command("posegen derive data/default-0 --add velocity", "posegen derive data/default-0")
@click.argument("dataset", type=cli.DATASET)
@click.option(
    "--add", "names", metavar="FIELD", multiple=True, help=f"Field to add: {', '.join(FIELDS.names())}. May be repeated."
)
@cli.workers_option
@cli.part_option("Derive")
def derive(dataset: AnyPath, names: Sequence[str], workers: int | None, part: str | None, output: cli.Output) -> None:
    """Compute fields of all samples of DATASET and store them with the others.

    The same command resumes an interrupted run, and covers samples that were added since. Without --add, it updates all
    fields that were added before. `posegen docs fields` describes them.
    """
    from posegen.generation.derive import derive as compute

    with output.resumable(dataset):
        result = compute(dataset, names, workers=workers, part=part, progress=output.progress())
    fields = ", ".join(result.layers) or "all derived fields"
    of_part = f" in part {result.part}" if result.part else ""
    if result.nothing_to_do:
        text = f"Nothing to do: {fields} of {result.path} is complete{of_part}."
    else:
        made = f"{counted(result.shards_made, 'shard')}, {human_bytes(result.bytes)}"
        work = f"{fields} of {counted(result.samples, 'sample')} ({made}) in {human_time(result.seconds)}"
        text = f"Derived {work}{of_part}: {', '.join(result.arrays)}."
    if result.part:
        text += f"\nNext, once all parts are derived:\n  posegen finish {cli.quoted(dataset)}"
    output.summary(result, text)


_MOST_TARGETS = 20


def _parse_targets(ctx: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> tuple[int, ...]:
    """Parse numbers of samples separated by commas."""
    numbers = [cli.WHOLE.convert(text.strip(), parameter, ctx) for given in texts for text in given.split(",")]
    if len(numbers) > _MOST_TARGETS:
        raise UsageError(f"--target has {len(numbers)} numbers; {_MOST_TARGETS} are the most")
    return tuple(numbers)


@cli.command("posegen profile --samples 1000 --target 100000,1000000")
@cli.config_option
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="N,N",
    callback=_parse_targets,
    help="Numbers of samples to estimate.  [default: that of the config]",
)
@click.option("--repeats", type=cli.WHOLE, default=3, metavar="R", help="Number of measured runs.")
@click.option("--samples", "measured", type=cli.WHOLE, default=1000, metavar="N", help="Number of samples of each run.")
@cli.workers_option
@cli.seed_option
@cli.set_option
@cli.folder_option("Folder on the disk to measure, such as that of the dataset.  [default: data/CONFIG-SEED]")
@cli.loads_config
def profile(config: Config, measured: int, output: cli.Output, **options: Any) -> None:
    """Estimate time, memory and disk for a dataset.

    The command generates datasets of --samples, several times, in a temporary folder on the disk of --out.
    """
    from posegen.generation.profile import profile as measure

    found = measure(config, samples=measured, progress=output.progress(), **options)
    output.result(asdict(found), "\n".join(_lines(found)))


def _lines(found: Profile) -> Iterator[str]:
    rows = []
    for target in found.targets:
        interval = f"{human_time(target.seconds_low)} to {human_time(target.seconds_high)}"
        rows.append((f"{target.samples:,}", human_time(target.seconds), interval, human_bytes(target.bytes)))
    yield table(("samples", "time", "interval", "disk"), rows, f"Estimated costs, {found.workers} at once")
    yield ""
    yield (
        f"{found.samples_per_second:,.0f} samples/s after {found.startup_seconds:.1f} s of start-up, "
        f"{human_bytes(found.bytes_per_sample)} a sample."
    )
    yield f"All processes together hold {human_bytes(found.memory)} of memory; {human_bytes(found.memory_free)} are free."
    yield f"The disk of {found.folder} has {human_bytes(found.disk_free)} free."
    for target in found.targets:
        if not target.fits_disk:
            yield f"{target.samples:,} samples do not fit on this disk: they need {human_bytes(target.bytes)}."


@cli.command("posegen run -c smoke", "posegen run --samples 2000 --task retrieval --task motion --preset fast")
@cli.config_option
@click.option(
    "-t",
    "--task",
    "tasks",
    multiple=True,
    default=("retrieval", "motion"),
    metavar="NAME",
    help="Model to train. May be repeated.",
    **cli.completed(TASKS.names),
)
@click.option("--preset", default="quick", metavar="NAME|PATH", help="Preset of all trainings.")
@click.option("--encoder", metavar="NAME|PATH", help="Text encoder of the captions.  [default: one that needs no download]")
@click.option(
    "--text",
    "texts",
    multiple=True,
    default=("a person walks forward, then waves",),
    metavar="TEXT",
    help="Text to animate with the task motion. May be repeated.",
)
@cli.dataset_options
@cli.folder_option("Result folder.  [default: runs/NAME-SEED of the config]")
@cli.loads_config
def run(config: Config, out: Path | None, output: cli.Output, **options: Any) -> None:
    """Generate a dataset, embed its captions, train models on it, and evaluate it.

    Complete stages are skipped. The same command resumes an interrupted run. A stage that needs other options is run by its
    own command.
    """
    from posegen.pipeline.stages import Request, run_pipeline

    folder = out or Path("runs") / f"{config.name}-{config.seed}"
    request, progress, stages = Request(config, folder, **options), output.progress(), []
    with output.resumable(folder):
        for stage in run_pipeline(request, progress):
            stages.append(stage)
            state = "already complete" if stage.was_complete else f"done in {human_time(stage.seconds)}"
            progress.log(f"{stage.name}: {state}: {stage.summary}")
    nothing = all(stage.was_complete for stage in stages)
    first = f"Nothing to do: {folder} is complete." if nothing else f"All results are in {folder}."
    lines = [first, *(f"  {stage.name}: {stage.summary}" for stage in stages), "Next:"]
    output.summary({"path": folder, "stages": stages}, "\n".join([*lines, f"  posegen runs {cli.quoted(folder)}"]))
