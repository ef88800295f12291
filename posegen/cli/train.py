"""``posegen train``: a model from a dataset, or straight from a config."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import WHOLE, example, json_option, note, out_option, print_json, quiet_option, seconds_of, set_option

if TYPE_CHECKING:
    from posegen.training.train import Result

__all__ = ["train"]

_PREDICT = "predict {} DATASET -o predictions.parquet"
_NEXT = {"motion": "animate {} 'a person walks forward' -o out.gif", "text": "embed DATASET --encoder {}"}
"""What a trained model is for."""


@click.command(
    epilog=example(
        "posegen train data/default-0 --task action --preset quick",
        "posegen train default --task action --set steps=200 --out runs/first",
        "posegen train clips.npz --task action --init runs/first --lora 8 --out runs/own",
    )
)
@click.argument("source", metavar="DATASET|CONFIG")
@click.option(
    "--task", required=True, metavar="NAME", help="What is learned: action, retrieval, motion, identity, attribute or text."
)
@click.option("--preset", default="quick", show_default=True, metavar="NAME|PATH", help="How much is spent on it.")
@out_option
@set_option
@click.option("--init", type=click.Path(path_type=Path), metavar="RUN", help="Begin with the model of this run.")
@click.option("--lora", type=WHOLE, metavar="RANK", help="Train low-rank adapters beside its weights, and its answers.")
@click.option("--budget", metavar="TIME", callback=seconds_of, help="Refuse or stop what takes longer, such as 1h.")
@click.option("--estimate", "only_estimate", is_flag=True, help="Tell what it will take, and train nothing.")
@json_option
@quiet_option
def train(
    source: str,
    task: str,
    preset: str,
    out: Path | None,
    overrides: Sequence[str],
    init: Path | None,
    lora: int | None,
    budget: float | None,
    only_estimate: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train a model on a dataset, or on a config whose samples are made on the way and never written.

    What the machine is and what was chosen for it is shown first, and what the run will take. Run again, the same command
    goes on at the step where it was stopped; when the dataset has grown in the meantime, it trains on with what is new.

    With --init, DATASET may be clips of your own: an .npz file with joints [frames, 22, 3], offsets, fps and classes, or a
    folder with WORD/anything.npy.
    """
    from posegen.cli.training_text import reporter
    from posegen.training.settings import load_settings
    from posegen.training.train import Request, default_run
    from posegen.training.train import train as make

    settings = load_settings(preset, _with_init(init, lora, overrides), task)
    request = Request(source, task, preset, settings, out, budget, only_estimate, init)
    try:
        result = make(request, reporter(quiet=quiet))
    except KeyboardInterrupt:
        place = default_run(request) if out is None else out
        note(f"stopped; the same command goes on from the last checkpoint in {place}", quiet=quiet)
        raise
    if as_json:
        print_json(_document(result))
    elif not quiet:
        click.echo(_summary(result))


def _with_init(init: Path | None, lora: int | None, overrides: Sequence[str]) -> list[str]:
    """Take the size of a model from the run that it begins with, and the rank of adapters from --lora."""
    given = list(overrides)
    if init is not None:
        from posegen.training.model_files import load_model

        trained = load_model(init)
        given = [f"model.size={trained.settings.size}", f"data.stride={trained.view.stride}", *given]
    return given if lora is None else [*given, f"adapter.rank={lora}"]


def _document(result: Result) -> dict[str, Any]:
    document = asdict(result) | {"run": str(result.run)}
    if result.estimate is not None:
        document["estimate"] |= {"seconds": result.estimate.seconds}
    return document


def _summary(result: Result) -> str:
    from posegen.quantities import human_time

    if result.estimate is not None:
        return f"Nothing was trained; {human_time(result.estimate.seconds)} is what it would take."
    if result.stopped is not None:
        return f"Stopped after {result.steps:,} steps: {result.stopped}."
    if result.nothing_to_do:
        first = f"Nothing to do: {result.run} is complete, {result.steps:,} steps."
    else:
        first = f"Trained {result.steps:,} steps in {human_time(result.seconds)}, in {result.run}."
    told = _measures({name: value for name, value in result.measures.items() if name != "clips"})
    place = shlex.quote(str(result.run))
    return "\n".join(
        [
            first,
            f"On {result.measures['clips']:,.0f} clips of samples that it has never seen: {told}",
            "Next:",
            "  posegen runs",
            f"  posegen {_NEXT.get(result.task, _PREDICT).format(place)}",
        ]
    )


def _measures(measures: Mapping[str, float]) -> str:
    """Tell measures in a line; those that go one way of two in a line of their own."""
    ways = ("text_to_motion_", "motion_to_text_")
    lines = [", ".join(f"{name} {_figure(value)}" for name, value in measures.items() if not name.startswith(ways)) + "."]
    for way in ways:
        own = [f"{name.removeprefix(way)} {_figure(value)}" for name, value in measures.items() if name.startswith(way)]
        lines += [f"  {way.replace('_', ' ')}{', '.join(own)}"] if own else []
    return "\n".join(lines)


def _figure(value: float) -> str:
    """Show counts whole, shares and errors by three places."""
    return f"{value:,.0f}" if value > 1 and float(value).is_integer() else f"{value:.3f}"
