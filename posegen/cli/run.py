"""``posegen run``: the pipeline from a config to trained models, in one command that resumes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import (
    Output,
    budget_option,
    command,
    dataset_options,
    encoder_option,
    folder_option,
    presets_option,
    quoted,
    split_by_task,
    split_presets,
    tasks_option,
)

if TYPE_CHECKING:
    from posegen.pipeline.stages import Request

TEXT = "a person walks forward, then waves"


@command(
    "posegen run smoke",
    "posegen run default --samples 2000 --task retrieval --task motion",
    "posegen run default --preset fast --preset motion:balanced --set motion:steps=3000 --set frames=200",
)
@click.argument("config", metavar="CONFIG")
@tasks_option("Model to train. May be repeated.")
@presets_option("Preset of all trainings, or with TASK: of one. May be repeated.")
@encoder_option
@click.option(
    "--text",
    "texts",
    multiple=True,
    default=(TEXT,),
    metavar="TEXT",
    help="Text to animate with the task motion. May be repeated.",
)
@dataset_options
@budget_option("Maximum duration, such as 2h: no stage begins after it, and training that would exceed it is refused.")
@folder_option("Result folder.  [default: runs/CONFIG-SEED]")
def run(config: str, texts: tuple[str, ...], budget: float | None, samples: int | None, output: Output, **options: Any) -> None:
    """Generate the dataset of CONFIG, embed its captions, train models on it, and evaluate it.

    Complete stages are skipped. The same command resumes an interrupted run. --set changes a key of the config, and --set
    TASK:KEY=VALUE a setting of a training.
    """
    from posegen.foundations.quantities import human_time
    from posegen.pipeline.stages import run_pipeline

    deadline = None if budget is None else time.monotonic() + budget
    request = replace(make_request(config, samples, **options), texts=texts, deadline=deadline)
    folder, progress, stages = request.out, output.progress(), []
    with output.resumable(folder):
        for stage in run_pipeline(request, progress):
            stages.append(stage)
            state = "already complete" if stage.was_complete else f"done in {human_time(stage.seconds)}"
            progress.log(f"{stage.name}: {state}: {stage.summary}")
    nothing = all(stage.was_complete for stage in stages)
    first = f"Nothing to do: {folder} is complete." if nothing else f"All results are in {folder}."
    lines = [first, *(f"  {stage.name}: {stage.summary}" for stage in stages), "Next:"]
    text = "\n".join([*lines, f"  posegen runs {quoted(folder)}"])
    output.summary({"path": folder, "stages": stages}, text)


def make_request(
    config: str,
    samples: int | None,
    tasks: tuple[str, ...],
    presets: Sequence[str],
    encoder: str | None,
    overrides: Sequence[str],
    workers: int | None,
    seed: int | None,
    out: Path | None,
) -> Request:
    """Return the pipeline that the options of a command describe."""
    from posegen.config.load import load_config
    from posegen.pipeline.stages import Request

    changed, of_tasks = split_by_task(overrides)
    preset, of_presets = split_presets(presets)
    loaded = load_config(config, changed, samples=samples, workers=workers, seed=seed)
    folder = out or Path("runs") / f"{loaded.name}-{loaded.seed}"
    return Request(loaded, folder, tasks, preset, workers, (TEXT,), encoder, of_presets, of_tasks)
