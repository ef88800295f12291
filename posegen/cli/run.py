"""``posegen run``: the pipeline from a config to trained models, in one command that resumes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import (
    example,
    json_option,
    note,
    print_json,
    quiet_option,
    samples_option,
    seed_option,
    set_option,
    workers_option,
)
from posegen.progress import make_progress
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.pipeline.run import CompletedStage


@click.command(epilog=example("posegen run smoke", "posegen run default --samples 2000 --task retrieval --task motion"))
@click.argument("config", metavar="CONFIG")
@click.option("--task", "tasks", multiple=True, default=("retrieval", "motion"), show_default=True, metavar="NAME",
              help="Model to train. May be repeated.")  # fmt: skip
@click.option(
    "--preset", default="quick", show_default=True, metavar="NAME|PATH", help="Preset of the training: its size and duration."
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    default=("a person walks forward, then waves",),
    show_default=True,
    metavar="TEXT",
    help="Text to animate with the task motion. May be repeated.",
)
@samples_option
@workers_option
@seed_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder.  [default: runs/CONFIG-SEED]")
@set_option
@json_option
@quiet_option
def run(
    config: str,
    tasks: tuple[str, ...],
    preset: str,
    texts: tuple[str, ...],
    samples: int | None,
    workers: int | None,
    seed: int | None,
    out: Path | None,
    overrides: Sequence[str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Generate the dataset of CONFIG, embed its captions, train models on it, and evaluate it.

    Complete stages are skipped. The same command resumes an interrupted run.
    """
    from posegen.config.load import load_config
    from posegen.pipeline.run import Request, run_pipeline

    loaded = load_config(config, overrides, samples=samples, workers=workers, seed=seed)
    folder = Path("runs") / f"{loaded.name}-{loaded.seed}" if out is None else out
    request = Request(loaded, folder, tasks, preset, workers, texts)
    progress, stages = make_progress(quiet=quiet), []
    try:
        for stage in run_pipeline(request, progress):
            stages.append(stage)
            progress.log(_line(stage))
    except KeyboardInterrupt:
        note(f"stopped; complete results stay in {folder}; run the same command to resume", quiet=quiet)
        raise
    if as_json:
        print_json({"path": str(folder), "stages": [asdict(stage) for stage in stages]})
    elif not quiet:
        click.echo(printable(_summary(folder, stages)))


def _line(stage: CompletedStage) -> str:
    from posegen.quantities import human_time

    state = "already complete" if stage.was_complete else f"done in {human_time(stage.seconds)}"
    return f"{stage.name}: {state}: {stage.summary}"


def _summary(folder: Path, stages: Sequence[CompletedStage]) -> str:
    nothing = all(stage.was_complete for stage in stages)
    first = f"Nothing to do: {folder} is complete." if nothing else f"All results are in {folder}."
    lines = (f"  {stage.name}: {stage.summary}" for stage in stages)
    return "\n".join([first, *lines, "Next:", f"  posegen runs {shlex.quote(str(folder))}"])
