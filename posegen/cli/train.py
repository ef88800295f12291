"""``posegen train``: train a model on a dataset or a config."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli import options as cli
from posegen.dataset.storage.address import storage_of, to_path
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.plugins import TASKS
from posegen.foundations.wording import counted, table

if TYPE_CHECKING:
    from posegen.training.run_folder import Result

_TASKS = "action, retrieval, motion, identity, attribute, lifting, imu, text or a plug-in's"
_USELESS = {
    "--pairs": ("--task", "--label", "--init", "--with"),
    "--task text": ("--score", "--label", "--init", "--with"),
    "a TABLE": ("--score", "--with"),
    "a model of motion": ("--score", "--encoder"),
}
"""Options without effect, by the kind of training."""
_ENCODER, _RANK = ("text.encoder", "table.encoder"), ("adapter.rank", "tuning.rank")
"""Settings of a model, and of one of a table."""
_TITLES = {
    "r1": "recall@1",
    "r10": "recall@10",
    "hard_r1": "nearer than the hard negative",
    "spearman": "rank correlation",
    "auc": "AUC",
    "tar": "true accepts at 1 % false accepts",
    "hard_auc": "AUC, hard negatives",
    "hard_tar": "true accepts at 1 % false accepts, hard negatives",
}
"""Measures of an encoder on pairs."""
_RATES = (0.001, 0.01)


@cli.command(
    "posegen train data/default-0 --task action --preset quick",
    "posegen train default --task action --set steps=200 --out runs/first",
    "posegen train clips.npz --task action --init runs/first --lora 8 --out runs/own",
    "posegen train prices.csv --label price",
    "posegen train pairs.parquet --pairs anchor,positive,negative",
)
@click.argument("source", metavar="DATASET|CONFIG|CLIPS|TABLE")
@click.option("-t", "--task", metavar="NAME", help=f"Task: {_TASKS}; none for TABLE.", **cli.completed(TASKS.names))
@click.option("--label", metavar="COLUMN", help="Column to predict, of TABLE or of a table beside CLIPS.")
@click.option("--pairs", metavar="A,B[,NEGATIVE]", help="Columns of texts of TABLE: fine-tune an encoder on these pairs.")
@click.option("--score", metavar="COLUMN", help="Similarity of the --pairs: numbers, or labels such as 1 and 0.")
@click.option(
    "--encoder",
    metavar="NAME|PATH",
    help="Encoder of the texts of TABLE, or that --task text begins with.  [default: one that needs no download]",
)
@click.option("--preset", default="quick", metavar="NAME|PATH", help="Training preset, or the path of a YAML file.")
@cli.folder_option("Folder of the run.  [default: runs/TASK-NAME-PRESET]")
@cli.settings_option("Change a setting, such as steps=200")
@click.option("--init", type=cli.PATH, metavar="RUN", help="Initialise with the model of this run.")
@click.option(
    "--lora",
    type=cli.WHOLE,
    metavar="RANK",
    help="Train low-rank adapters of this rank and the output layer only, of --init or an encoder.",
)
@click.option("--with", "generated", metavar="DATASET", help="Generated clips that train beside CLIPS in the same run.")
@click.option("--ratio", metavar="REAL:GENERATED", help="Clips of both in the steps that have both.  [default: 1:4]")
@click.option("--labels-map", metavar="NAME|YAML", help="Actions of DATASET by class of CLIPS.  [default: equal names]")
@cli.budget_option("Maximum duration, such as 30m or 1h: refuse or stop a longer run.")
@click.option("--estimate", "only_estimate", is_flag=True, help="Estimate time and memory, and train nothing.")
def train(
    source: str, task: str | None, label: str | None, encoder: str | None, lora: int | None, output: cli.Output, **options: Any
) -> None:
    """Train a model on a dataset, or on a config whose samples are generated during training and not stored.

    The tasks are: action (classify actions), retrieval (match motion and captions), motion (generate motion from text),
    identity (recognise persons by their motion), attribute (estimate speed, cadence, energy and duration), lifting (estimate
    joints from 2D joints), imu (classify actions by an inertial sensor) and text (fine-tune a text encoder). `posegen docs
    training` describes tasks, presets and settings.

    The hardware, the choices made for it and the estimated duration are shown first. The same command resumes a stopped run at
    its last checkpoint. If the dataset has grown since, it trains as many steps again,
    on all samples.

    CLIPS are your own clips, for all tasks but motion and text: an .npz file with joints [frames, 22, 3], offsets,
    fps and classes or subjects, or a folder with CLASS/NAME or SUBJECT/NAME as .npy, .bvh, .c3d or others. --label takes
    classes, subjects or, for attribute, numbers from a column of CLIPS/labels.csv, or of the .csv beside an .npz. --init starts
    from the model of another run.

    --with trains on CLIPS and generated clips in one run: on generated ones first, then on both in a --ratio, then on CLIPS.
    Validation and test have CLIPS alone. `posegen docs together` describes it.

    TABLE.csv, .tsv or .parquet with --label predicts one column from the others: texts, numbers, categories and vectors. Linear
    models and boosted trees are compared by cross-validation, with a constant and a linear baseline beside them; the presets
    balanced and best fine-tune the encoder as well, where that is better. If the table
    has grown since, the same command trains on all rows. --init takes the model and its settings from another run on a table.

    --pairs fine-tunes a text encoder on pairs of texts in two columns of TABLE, or triplets in three: `posegen docs embedding`
    describes it. `posegen pairs` mines them.
    """
    from posegen.config.load import require_source
    from posegen.dataset.table_files import TABLES
    from posegen.foundations.plugins import require_extra

    if storage_of(to_path(source)).local:
        require_source(source)
    is_table = Path(source).suffix.lower() in TABLES
    of_motion = "--task text" if task == "text" else "a model of motion"
    pairs, score, overrides, added = (options.pop(name) for name in ("pairs", "score", "overrides", "generated"))
    together = _take_together(options, added)
    kind = "--pairs" if pairs is not None else "a TABLE" if is_table else of_motion
    given = {"--task": task, "--label": label, "--score": score, "--encoder": encoder}
    given |= {"--init": options["init"], "--with": added}
    cli.refuse_useless(f"with {kind}", {option: given[option] for option in _USELESS[kind]})
    of_table = kind == "a TABLE" or (task == "attribute" and label is not None)
    named = {"table.label": label, _ENCODER[of_table]: encoder, _RANK[of_table]: lora} | together
    settings = [*overrides, *(f"{key}={json.dumps(value)}" for key, value in named.items() if value is not None)]
    if kind in ("--pairs", "--task text"):
        columns = () if pairs is None else tuple(name.strip() for name in pairs.split(","))
        _train_on_pairs(source, overrides, settings, options | {"columns": columns, "score": score}, output)
        return
    require_extra("train")
    if kind == "a TABLE":
        _train_table(Path(source), task, settings, options, output)
    elif task is None:
        raise UsageError(f"Missing option '--task' (Task: {_TASKS}), which only a TABLE with --label or --pairs does not need")
    elif of_table:
        _train_labelled_clips(source, str(label), settings, options, output)
    else:
        _train_task(source, task, [*_size_of(options["init"]), *settings], options, output)


@cli.command(
    "posegen worth clips --with data/default-0",
    "posegen worth clips.npz --with data/utd --labels-map utd_mhad --task imu",
)
@click.argument("source", type=cli.PATH, metavar="CLIPS")
@click.option("--with", "generated", required=True, metavar="DATASET", help="Generated clips.")
@click.option("-t", "--task", default="action", metavar="NAME", help="Task: action, retrieval, lifting or imu.")
@click.option("--ratio", metavar="REAL:GENERATED", help="Clips of both in the steps that have both.  [default: 1:4]")
@click.option("--labels-map", metavar="NAME|YAML", help="Actions of DATASET by class of CLIPS.  [default: equal names]")
@click.option("--preset", default="quick", metavar="NAME|PATH", help="Training preset, or the path of a YAML file.")
@cli.folder_option("Folder for the results.  [default: runs/worth-TASK-NAME]")
@cli.settings_option("Change a setting, such as steps=600")
def worth(source: Path, generated: str, task: str, output: cli.Output, **options: Any) -> None:
    """Measure how many real clips the generated clips of DATASET are worth.

    Models are trained on 1, 5, 10, 25 and 100 % of CLIPS, with and without DATASET, in equally many steps, three times each
    with other persons held back for the test. The command writes worth.json, and with the extra view the curves as worth.png.
    The same command resumes an interrupted measurement. `posegen docs together` describes the method.
    """
    from posegen.config.load import require_source
    from posegen.foundations.plugins import require_extra
    from posegen.training.settings import WORTH_SETTINGS, load_settings

    require_source(source)
    named = _take_together(options, generated)
    changed = [f"{key}={json.dumps(value)}" for key, value in named.items() if value is not None]
    settings = load_settings(options["preset"], [*WORTH_SETTINGS, *options["overrides"], *changed], task)
    require_extra("train")
    with output.progress().working("load torch"):
        from posegen.training.setup import Request
        from posegen.training.worth import draw_curves, measure_worth, report

    out = options["out"] or Path("runs") / f"worth-{task}-{source.resolve().stem}"
    with output.resumable(out):
        found = measure_worth(Request(str(source), task, options["preset"], settings, out), output.progress())
    draw_curves(found, out, output.note)
    output.summary(asdict(found), report(found))


def _take_together(options: dict[str, Any], dataset: str | None) -> dict[str, str | None]:
    """Take the options about generated clips, and return their settings; refuse options that nothing uses."""
    given = {"--ratio": options.pop("ratio"), "--labels-map": options.pop("labels_map")}
    if dataset is None:
        cli.refuse_useless("without --with", given)
    return {"together.dataset": dataset, "together.ratio": given["--ratio"], "together.labels": given["--labels-map"]}


_Options = dict[str, Any]
"""Attributes of a request that are options: `out`, `budget`, `only_estimate`, `init` and `preset`."""


def _train_task(source: str, task: str, overrides: Sequence[str], options: _Options, output: cli.Output) -> None:
    """Train a model on a dataset, a config or clips, and print the result."""
    from posegen.training.settings import load_settings

    # The settings are checked before torch is imported, which takes seconds.
    settings = load_settings(options["preset"], overrides, task)
    from posegen.training.setup import Request
    from posegen.training.task import find_task
    from posegen.training.train import train as run_training

    request = Request(source, task, settings=settings, **options)
    following = f"predict {cli.quoted(request.run)} DATASET -o predictions.parquet"
    if find_task(task).abilities.generates_motion:
        following = f"animate {cli.quoted(request.run)} 'a person walks forward' -o out.gif"
    _run(run_training, request, output, partial(_summary, "clips", following))


def _train_table(source: Path, task: str | None, overrides: Sequence[str], options: _Options, output: cli.Output) -> None:
    """Train a model of a table, and print the result."""
    from posegen.tables.settings import TableRequest, load_table_settings

    if task not in (None, "text", "attribute"):
        raise UsageError(f"{source}: a table is no source of the task {task}. Remove --task")
    settings = load_table_settings(options["preset"], overrides)
    if settings.table.label is None:
        raise UsageError(f"{source}: a table needs the column that is predicted. Name it with --label COLUMN")
    from posegen.tables.run import train_table

    request = TableRequest(source, settings, **options)
    following = f"predict {cli.quoted(request.run)} TABLE -o predictions.parquet"
    _run(train_table, request, output, partial(_summary, "rows", following))


def _train_labelled_clips(source: str, label: str, overrides: Sequence[str], options: _Options, output: cli.Output) -> None:
    """Train a model of a table with statistics of the motion of a user's clips, and their label."""
    from posegen.dataset.files import write_durably
    from posegen.dataset.header import is_dataset
    from posegen.dataset.tables import encode_table
    from posegen.training.data.own_clips import labelled_clips

    path = Path(source)
    if is_dataset(path) or not path.exists():
        raise UsageError(f"{source}: --label names a column of your own table or clips. Remove it")
    table, notes = labelled_clips(path, label)
    for note in notes:
        output.note(note)
    run = options["out"] or Path("runs") / f"attribute-{path.resolve().stem}-{Path(options['preset']).stem}"
    write_durably(run / "clips.parquet", encode_table(table))
    _train_table(run / "clips.parquet", None, overrides, options | {"out": run}, output)


def _train_on_pairs(
    source: str, overrides: Sequence[str], changed: Sequence[str], options: _Options, output: cli.Output
) -> None:
    """Fine-tune an encoder on pairs of a table, or of captions of a dataset without any, and print the measures."""
    from posegen.foundations.plugins import require_extra
    from posegen.training.settings import PAIR_PRESETS, PAIR_SETTINGS, load_settings, training_presets

    of_table = bool(options["columns"])
    if of_table and options["preset"] in training_presets():
        require_known("--pairs has no preset", options["preset"], PAIR_PRESETS)
    known = PAIR_SETTINGS if of_table else (*PAIR_SETTINGS, "data.samples")
    for override in overrides:
        require_known(f"{'--pairs' if of_table else '--task text'} has no setting", override.partition("=")[0], known)
    task = "pairs" if of_table else "text"
    settings = load_settings(options["preset"], changed, task)
    require_extra("train")
    with output.progress().working("load torch and sentence-transformers"):
        from posegen.training.text_pairs import PairRequest, train_pairs

    request = PairRequest(source, task, settings=settings, **options)
    _run(train_pairs, request, output, partial(_summary_of_pairs, source))


def _run(train: Callable[..., Result], request: Any, output: cli.Output, summarise: Callable[[Result], str]) -> None:
    """Train, and print the summary of a complete training, or why it is not complete."""
    from posegen.foundations.quantities import human_time

    with output.resumable(request.run):
        result = train(request, output.progress())
    document, estimate = asdict(result), result.estimate
    if estimate is not None:
        document["estimate"] |= {"seconds": estimate.seconds}
    if estimate is not None and request.only_estimate:
        needed = f"{human_time(estimate.seconds)} and {estimate.memory()} of memory"
        output.summary(document, f"Nothing was trained; training would take about {needed}.")
    elif result.stopped is not None:
        output.summary(document, f"Stopped after {counted(result.steps, 'step')}: {result.stopped}.")
    else:
        output.summary(document, summarise(result))


def _size_of(init: Path | None) -> list[str]:
    """Return the overrides with the model size of the run that initialises the model."""
    if init is None:
        return []
    from posegen.training.trained_models import load_model

    trained = load_model(init)
    return [f"model.size={trained.settings.size}", f"data.stride={trained.view.stride}"]


def _summary(counted_name: str, following: str, result: Result) -> str:
    """Return the result of a complete training as text.

    Parameters
    ----------
    counted_name : str
        The measure that is the number of test clips or rows.
    following : str
        A command that uses the model, without the name of the program.
    result : Result
    """
    from posegen.training.run_folder import format_measure

    tests = counted(int(result.measures[counted_name]), f"test {counted_name.removesuffix('s')}")
    measures = [f"{name} {format_measure(value)}" for name, value in result.measures.items() if name != counted_name]
    tested = f"On {tests}: {', '.join(measures)}."
    return "\n".join([_first_line(result), tested, "Next:", "  posegen runs", f"  posegen {following}"])


def _first_line(result: Result) -> str:
    from posegen.foundations.quantities import human_time

    made = result.chosen or counted(result.steps, "step")
    if result.nothing_to_do:
        return f"Nothing to do: {result.run} is complete, {made}."
    return f"Trained {made} in {human_time(result.seconds)}, in {result.run}."


def _summary_of_pairs(source: str, result: Result) -> str:
    from posegen.training.run_folder import RESULT, format_measure, read_document

    measures = result.measures
    rows = [
        (title, format_measure(measures.get(f"{name}_before")), format_measure(measures[name]))
        for name, title in _TITLES.items()
        if name in measures
    ]
    lines = [
        _first_line(result),
        table(("", "before", "after"), rows, f"On {counted(int(measures['pairs']), 'held-out pair')}:"),
    ]
    stored = read_document(result.run, RESULT) or {"table": {"rates": []}}
    for rate in stored["table"]["rates"]:
        if rate["far"] in _RATES:
            accepted = f"{100 * rate['test_tar']:.1f} % of the right pairs exceed it"
            lines.append(f"threshold {rate['threshold']:.3f} at a false accept rate of {100 * rate['far']:g} %: {accepted}")
    return "\n".join([*lines, "Next:", f"  posegen embed {cli.quoted(Path(source))} --encoder {cli.quoted(result.run)}"])
