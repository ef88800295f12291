"""``posegen run``: the whole road from a config to trained models, in one resumable command."""

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
from posegen.progress import Progress, make_progress
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.pipeline.run import Done
    from posegen.progress import Progress as TrainingProgress

__all__ = ["run"]


@click.command(epilog=example("posegen run smoke", "posegen run default --samples 2000 --task retrieval --task motion"))
@click.argument("config", metavar="CONFIG")
@click.option("--task", "tasks", multiple=True, default=("retrieval", "motion"), show_default=True, metavar="NAME",
              help="A model to train; may be repeated.")  # fmt: skip
@click.option("--preset", default="quick", show_default=True, metavar="NAME|PATH", help="How much is spent on each model.")
@click.option(
    "--say",
    "texts",
    multiple=True,
    default=("a person walks forward, then waves",),
    show_default=True,
    metavar="TEXT",
    help="What a model of the task motion animates; may be repeated.",
)
@samples_option
@workers_option
@seed_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of it all.  [default: runs/CONFIG-SEED]")
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

    Each stage whose result stands is skipped; run again, the same command goes on where it was stopped.
    """
    from posegen.config.load import load_config
    from posegen.pipeline.run import Request, run_pipeline

    loaded = load_config(config, overrides, samples=samples, workers=workers, seed=seed)
    place = Path("runs") / f"{loaded.name}-{loaded.seed}" if out is None else out
    request = Request(loaded, place, tasks, preset, workers, texts)
    done = []
    try:
        for stage in run_pipeline(request, _View(quiet=quiet)):
            done.append(stage)
            note(_line(stage), quiet=quiet)
    except KeyboardInterrupt:
        note(f"stopped; what is complete stays in {place}, and the same command goes on from there", quiet=quiet)
        raise
    if as_json:
        print_json({"path": str(place), "stages": [asdict(stage) for stage in done]})
    elif not quiet:
        click.echo(printable(_summary(place, done)))


class _View:
    """One view of all stages: a heading for each, and below it how far it is."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def stage(self, number: int, of: int, name: str) -> None:
        note(f"[{number}/{of}] {name}", quiet=self._quiet)

    def say(self, text: str) -> None:
        note(text, quiet=self._quiet)

    def generation(self) -> Progress:
        return make_progress(quiet=self._quiet)

    def embedding(self) -> Progress:
        return make_progress(quiet=self._quiet)

    def training(self) -> TrainingProgress:
        from posegen.progress import make_progress

        return make_progress(quiet=self._quiet)


def _line(stage: Done) -> str:
    from posegen.quantities import human_time

    how = "stood already" if stage.stood else f"done in {human_time(stage.seconds)}"
    return f"{stage.name}: {how}: {stage.told}"


def _summary(place: Path, done: Sequence[Done]) -> str:
    nothing = all(stage.stood for stage in done)
    first = f"Nothing to do: {place} is complete." if nothing else f"All of it is in {place}."
    told = (f"  {stage.name}: {stage.told}" for stage in done)
    return "\n".join([first, *told, "Next:", f"  posegen runs {shlex.quote(str(place))}"])
