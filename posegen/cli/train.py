"""``posegen train``: train a model on a dataset or a config."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import PATH, WHOLE, Output, budget_option, command, folder_option, quoted, settings_option
from posegen.dataset.storage.address import storage_of, to_path
from posegen.foundations.errors import UsageError

if TYPE_CHECKING:
    from posegen.training.train import Result


def _existing(context: click.Context, parameter: click.Parameter, source: str) -> str:
    """Refuse what is no source before options are missed, and before torch is imported."""
    from posegen.config.load import require_source

    del context, parameter
    if storage_of(to_path(source)).local:
        require_source(source)
    return source


@command(
    "posegen train data/default-0 --task action --preset quick",
    "posegen train default --task action --set steps=200 --out runs/first",
    "posegen train clips.npz --task action --init runs/first --lora 8 --out runs/own",
    "posegen train prices.csv --label price",
    "posegen train pairs.parquet --pairs anchor,positive,negative",
)
@click.argument("source", metavar="DATASET|CONFIG|CLIPS|TABLE", callback=_existing)
@click.option(
    "--task",
    metavar="NAME",
    help="Task: action, retrieval, motion, identity, attribute, text or a plug-in's; none for TABLE.",
)
@click.option("--label", metavar="COLUMN", help="Column that is predicted, of TABLE or of a table beside CLIPS.")
@click.option("--pairs", metavar="A,B[,NEGATIVE]", help="Columns of texts of TABLE: fine-tune an encoder on these pairs.")
@click.option("--score", metavar="COLUMN", help="Similarity of the --pairs: numbers, or labels such as 1 and 0.")
@click.option("--encoder", metavar="NAME|PATH", help="Encoder of the texts of TABLE.  [default: one that needs no download]")
@click.option("--preset", default="quick", metavar="NAME|PATH", help="Training preset, or the path of a YAML file.")
@folder_option("Folder of the run.  [default: runs/TASK-NAME-PRESET]")
@settings_option("Change a setting, such as steps=200")
@click.option("--init", type=PATH, metavar="RUN", help="Initialise with the model of this run.")
@click.option(
    "--lora",
    type=WHOLE,
    metavar="RANK",
    help="Train low-rank adapters of this rank and the output layer only, of --init or an encoder.",
)
@budget_option("Maximum duration, such as 30m or 1h: refuse or stop a longer run.")
@click.option("--estimate", "only_estimate", is_flag=True, help="Estimate time and memory, and train nothing.")
def train(
    source: str,
    task: str | None,
    label: str | None,
    pairs: str | None,
    score: str | None,
    encoder: str | None,
    preset: str,
    out: Path | None,
    overrides: Sequence[str],
    init: Path | None,
    lora: int | None,
    budget: float | None,
    only_estimate: bool,
    output: Output,
) -> None:
    """Train a model on a dataset, or on a config whose samples are generated during training and not stored.

    The tasks are: action (classify actions), retrieval (match motion and captions), motion (generate motion from text),
    identity (recognise persons by their motion), attribute (estimate speed, cadence, energy and duration) and text (fine-tune
    a text encoder). `posegen docs training` describes tasks, presets and settings.

    The hardware, the choices made for it and the estimated duration are shown first. The same command resumes a stopped run at
    its last checkpoint. If the dataset has grown since, it trains as many steps again,
    on all samples.

    CLIPS are your own clips, for the tasks action, identity and attribute: an .npz file with joints [frames, 22, 3], offsets,
    fps and classes or subjects, or a folder with CLASS/NAME or SUBJECT/NAME as .npy, .bvh, .c3d or others. --label takes
    classes, subjects or, for attribute, numbers from a column of CLIPS/labels.csv, or of the .csv beside an .npz. --init starts
    from the model of another run.

    TABLE.csv, .tsv or .parquet with --label predicts one column from the others: texts, numbers, categories and vectors. Linear
    models and boosted trees are compared by cross-validation, with a constant and a linear baseline beside them; the presets
    balanced and best fine-tune the encoder as well, where that is better. If the table
    has grown since, the same command trains on all rows. --init takes the model and its settings from another run on a table.

    --pairs fine-tunes a text encoder on pairs of texts in two columns of TABLE, or triplets in three: `posegen docs embedding`
    describes it. `posegen pairs` mines them.
    """
    if pairs is not None:
        from posegen.cli.train_pairs import train_on_pairs

        given = {"--task": task, "--label": label, "--init": init}
        train_on_pairs(source, pairs, score, encoder, preset, out, overrides, lora, budget, only_estimate, given, output)
        return
    from posegen.dataset.table_files import TABLES
    from posegen.foundations.plugins import require_extra
    from posegen.training.settings import load_settings

    require_extra("train")
    named = [] if label is None else [f"table.label={json.dumps(label)}"]
    is_table = Path(source).suffix.lower() in TABLES
    for option, value in (("--score", score), ("--encoder", None if is_table else encoder)):
        if value is not None:
            raise UsageError(f"{option} is for --pairs{' or a TABLE' if option == '--encoder' else ''}. Remove it")
    if is_table:
        named += [] if encoder is None else [f"table.encoder={json.dumps(encoder)}"]
        named += [] if lora is None else [f"tuning.rank={lora}"]
        _train_table(Path(source), task, preset, [*overrides, *named], (out, budget, only_estimate, init, preset), output)
        return
    if task is None:
        names = "action, retrieval, motion, identity, attribute, text or a plug-in's"
        raise UsageError(f"Missing option '--task' (Task: {names}), which only a TABLE with --label or --pairs does not need")
    # The settings are checked before torch is imported, which takes seconds.
    settings = load_settings(preset, [*_with_init(init, lora, overrides), *named], task)
    from posegen.training.cluster import member
    from posegen.training.setup import Request
    from posegen.training.train import default_run
    from posegen.training.train import train as run_training

    request = Request(source, task, preset, settings, out, budget, only_estimate, init)
    if (place := member()) and place.rank:  # the first process reports
        run_training(request)
        return
    with output.resumable(default_run(request) if out is None else out):
        result = run_training(request, output.progress())
    document = asdict(result)
    if result.estimate is not None:
        document["estimate"] |= {"seconds": result.estimate.seconds}
    output.summary(document, _summary(result, only_estimate=only_estimate))


def _train_table(
    source: Path,
    task: str | None,
    preset: str,
    overrides: Sequence[str],
    options: tuple[Path | None, float | None, bool, Path | None, str],
    output: Output,
) -> None:
    """Train a model of a table, and print the result."""
    from posegen.foundations.quantities import human_time
    from posegen.tables.settings import load_table_settings
    from posegen.training.run_folder import format_measure

    if task not in (None, "text", "attribute"):
        raise UsageError(f"{source}: a table is no source of the task {task}. Remove --task")
    settings = load_table_settings(preset, overrides)
    if settings.table.label is None:
        raise UsageError(f"{source}: a table needs the column that is predicted. Name it with --label COLUMN")
    from posegen.tables.run import TableRequest, train_table

    request = TableRequest(source, settings, *options)
    with output.resumable(request.run):
        result = train_table(request, output.progress())
    if not result.chosen and result.estimate is not None:
        output.summary(asdict(result), f"Nothing was trained; training would take {result.estimate.summary()}.")
        return
    first = f"Trained in {human_time(result.seconds)}, in {result.run}"
    lines = [f"Nothing to do: {result.run} is complete" if result.nothing_to_do else first]
    measures = [f"{name} {format_measure(value)}" for name, value in result.measures.items() if name != "rows"]
    lines[0] += f": {result.chosen}."
    lines.append(f"On {result.measures['rows']:,.0f} test rows: {', '.join(measures)}.")
    lines += ["Next:", "  posegen runs", f"  posegen predict {quoted(result.run)} TABLE -o predictions.parquet"]
    output.summary(asdict(result), "\n".join(lines))


def _with_init(init: Path | None, lora: int | None, overrides: Sequence[str]) -> list[str]:
    """Return the overrides with the model size of the run that initialises the model, and the rank of --lora."""
    given = list(overrides)
    if init is not None:
        from posegen.training.trained_models import read_description

        trained = read_description(init)
        given = [f"model.size={trained.settings.size}", f"data.stride={trained.view.stride}", *given]
    return given if lora is None else [*given, f"adapter.rank={lora}"]


def _summary(result: Result, *, only_estimate: bool) -> str:
    from posegen.foundations.quantities import human_time

    if only_estimate and result.estimate is not None:
        needed = f"{human_time(result.estimate.seconds)} and {result.estimate.memory()} of memory"
        return f"Nothing was trained; training would take about {needed}."
    if result.stopped is not None:
        return f"Stopped after {result.steps:,} steps: {result.stopped}."
    if result.nothing_to_do:
        first = f"Nothing to do: {result.run} is complete, {result.steps:,} steps."
    else:
        first = f"Trained {result.steps:,} steps in {human_time(result.seconds)}, in {result.run}."
    measures = _measures({name: value for name, value in result.measures.items() if name != "clips"})
    return "\n".join(
        [
            first,
            f"On {result.measures['clips']:,.0f} clips of the test split: {measures}",
            "Next:",
            "  posegen runs",
            f"  posegen {_next_command(result)}",
        ]
    )


def _next_command(result: Result) -> str:
    """Return a command that uses the trained model."""
    from posegen.training.task import find_task

    task, run = find_task(result.task), quoted(result.run)
    if task.abilities.generates_motion:
        return f"animate {run} 'a person walks forward' -o out.gif"
    return f"predict {run} DATASET -o predictions.parquet" if task.abilities.takes_motion else f"embed DATASET --encoder {run}"


def _measures(measures: Mapping[str, float]) -> str:
    """Return measures as one line, and those of one direction of retrieval as a line of their own."""
    from posegen.training.run_folder import format_measure

    directions = ("text_to_motion_", "motion_to_text_")
    both = [f"{name} {format_measure(value)}" for name, value in measures.items() if not name.startswith(directions)]
    lines = [", ".join(both) + "."]
    for direction in directions:
        of_direction = {name.removeprefix(direction): value for name, value in measures.items() if name.startswith(direction)}
        if of_direction:
            figures = ", ".join(f"{name} {format_measure(value)}" for name, value in of_direction.items())
            lines.append(f"  {direction.replace('_', ' ')}{figures}")
    return "\n".join(lines)
