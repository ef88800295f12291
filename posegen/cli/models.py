"""``posegen runs``, ``predict``, ``compare`` and ``export-model``: list and use trained models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, PATH, Output, command, file_option
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import MODEL_FORMATS
from posegen.foundations.progress import Progress
from posegen.foundations.wording import counted, table

if TYPE_CHECKING:
    from posegen.mocap.sources import SourceClip


@command(
    "posegen predict runs/action-default-0-quick data/default-0 -o predictions.parquet",
    "posegen predict runs/action-default-0-quick walk.bvh -o predictions.parquet",
)
@click.argument("run", type=PATH)
@click.argument("source", type=DATASET, metavar="DATASET|CLIPS|TABLE")
@file_option("Table to write.", metavar="FILE.parquet")
def predict(run: Path, source: AnyPath, out: Path, output: Output) -> None:
    """Run the trained model of RUN on a dataset, clips or a table of texts, and save its predictions as a Parquet table.

    For a DATASET, the table has a row for each sequence, in order, with its sample and variant. CLIPS is a .bvh, .npz, .npy or
    .c3d file, or a folder of them: the table has a row for each clip, or for each stretch of a long one. TABLE.csv (or
    .parquet) has the columns that a model of a table reads: the table has a row for each row, with the predicted label and, of
    categories, its calibrated probability.

    For the task action, the table has a row for each actor of a sequence with several. A row has the predicted action, the
    share of frames with that action, and the action of each frame of the model's input.
    """
    from posegen.dataset.header import is_dataset
    from posegen.dataset.table_files import TABLES
    from posegen.training import predictions
    from posegen.training.run_folder import predicts_table

    progress, refused = output.progress(), list[str]()
    local = storage_of(source).local
    if local is None or is_dataset(local):
        rows = predictions.predict(run, source, out, progress)
    elif predicts_table(run) and local.suffix.lower() in TABLES:
        from posegen.tables.model import predict_table

        rows = predict_table(run, local, out, progress)
    elif local.suffix.lower() in TABLES:
        raise UsageError(f"{run}: is a model of motion, and {source} a table. Give a dataset or clips")
    else:
        predicted = _predict_labels if predicts_table(run) else predictions.predict_clips
        try:
            rows = predicted(run, named_clips(local, refused.append, output.note), out, progress)
        finally:
            for reason in refused:
                output.refuse(reason)
    output.summary({"path": out, "rows": rows, "refused": refused}, f"Wrote {out}: {counted(rows, 'row')}.")


def _predict_labels(run: Path, clips: Iterable[SourceClip], out: Path, progress: Progress) -> int:
    """Write the labels that a model of a table predicts for clips; see :func:`posegen.training.predictions.predict_clips`."""
    import pyarrow.parquet as pq

    from posegen.dataset.files import write_durably
    from posegen.dataset.tables import encode_table
    from posegen.tables.model import predict_table
    from posegen.training.data.own_clips import motion_statistics

    named = list(clips)
    with TemporaryDirectory(prefix="posegen-") as folder:
        rows_file = Path(folder) / "clips.parquet"
        rows_file.write_bytes(encode_table(motion_statistics((clip.joints, clip.fps) for clip in named)))
        rows = predict_table(run, rows_file, out, progress)
    write_durably(out, encode_table(pq.read_table(out).add_column(0, "clip", [[clip.name for clip in named]])))
    return rows


def named_clips(source: Path, refuse: Callable[[str], object], note: Callable[[str], object]) -> Iterator[SourceClip]:
    """Yield the clips of a file or folder.

    `refuse` is called with the message for each file or clip that cannot be read, `note` for each clip with unused frames.

    Raises
    ------
    UsageError
        If there are no files of clips, or a single file cannot be read.
    """
    from posegen.mocap.sources import read_clips

    for clip in read_clips(source, refuse):
        if clip.note:
            note(f"{clip.name}: {clip.note}")
        yield clip


@command("posegen compare runs/identity-default-0-quick one.bvh other.bvh --far 0.01")
@click.argument("run", type=PATH)
@click.argument("one", type=PATH, metavar="CLIP")
@click.argument("other", type=PATH, metavar="CLIP")
@click.option("--far", type=float, default=0.01, metavar="RATE", help="False accept rate: 0.001, 0.002, 0.005, 0.01, ... 0.1.")
def compare(run: Path, one: Path, other: Path, far: float, output: Output) -> None:
    """Decide with the identity model of RUN whether two clips show the same person.

    The clips are .bvh, .npz, .npy or .c3d files, or folders with several clips of one person. The threshold was calibrated on
    the validation split of the run, and the true accept rate that it promises is shown with its 95 % interval. The persons of
    that split were never trained on, except in a run on your own clips of fewer than six persons: its rates are not valid for
    others, as the result states.
    """
    from posegen.training.predictions import compare_clips

    first, second = (named_clips(path, output.note, output.note) for path in (one, other))
    decision = compare_clips(run, first, second, far)
    output.result(decision, decision.text())


@command("posegen export-model runs/action-default-0-quick --format onnx", name="export-model")
@click.argument("run", type=PATH)
@click.option("--format", "form", required=True, metavar="FORMAT", help=f"File format: {' or '.join(MODEL_FORMATS.built_in)}.")
@file_option("File to write.  [default: RUN/export.FORMAT]", required=False)
def export_model(run: Path, form: str, out: Path | None, output: Output) -> None:
    """Export the trained model of RUN in another format, and compare the outputs of the exported model with the original.

    Models of all tasks but text can be exported. Most take motion [clip, frame, 69], as
    posegen.training.data.features.features_of computes it from joints, and length [clip]; `posegen docs training` lists the
    inputs of the others, `posegen docs animate` a sampler for the task motion. The file's metadata holds inputs, output, class
    names and frame rate.
    """
    from posegen.training.model_formats import export_model as export

    path = run / f"export.{form}" if out is None else out
    difference = export(run, form, path)
    document = {"path": path, "format": form, "difference": difference}
    output.summary(document, f"Wrote {path}; largest difference from the original outputs: {difference:.1e}.")


@command("posegen runs", "posegen runs experiments --json")
@click.argument("folder", type=PATH, default=Path("runs"))
def runs(folder: Path, output: Output) -> None:
    """List the training runs in FOLDER (default: runs), the best first, with the settings in which they differ."""
    from posegen.training.run_folder import find_runs

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. Name the folder that holds the runs")
    rows = [_row(*run) for run in find_runs(folder, output.warn)]
    rows.sort(key=lambda row: (row["task"], -(row["best"] or 0)))
    none = f"{folder}: no training runs. To make one: posegen train DATASET --task action"
    output.result({"runs": rows}, _table(rows) if rows else none)


def _row(path: Path, record: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    from posegen.training.run_folder import TABLE_TASK

    about = {"run": str(path), "task": record["task"], "source": record["source"], "settings": record["settings"]}
    complete = result is not None and result["rounds"] == len(record["rounds"])
    found = (_table_values if record["task"] == TABLE_TASK else _motion_values)(path, record, result)
    return about | {"complete": complete} | found


def _motion_values(path: Path, record: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    """Return steps, time and measures of a run on motion or captions."""
    from posegen.training.run_folder import newest_progress
    from posegen.training.task import find_task

    progress = newest_progress(path)
    monitor = "r1" if record["task"] == "text" else find_task(record["task"]).restored(record["form"]).monitor
    return {
        "steps": progress.step if result is None else result.get("steps", progress.step),
        "of": record["rounds"][-1]["first"] + record["settings"]["steps"],
        "seconds": progress.seconds,
        "measure": monitor,
        "best": progress.best,
        "test": None if result is None else result["measures"].get(monitor),
    }


def _table_values(path: Path, record: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    """Return the same of a run on a user's table, whose steps are the candidates. Errors are negative: higher is better."""
    done = len(list((path / "candidates").glob(f"{len(record['rounds'])}-*.json")))
    found = {"steps": done, "of": len(record["estimate"]["candidates"]), "best": None}
    if result is None:
        return found | {"seconds": 0.0, "measure": None, "test": None}
    monitor = result["monitor"]
    value = (1 if monitor == "accuracy" else -1) * result["measures"][monitor]
    return found | {"seconds": result["seconds"], "measure": monitor, "test": value}


def _table(runs: list[dict[str, Any]]) -> str:
    from posegen.foundations.quantities import human_time

    rows = []
    for run in runs:
        best, test = (f"{run[name]:.3f} {run['measure']}" if run[name] is not None else "-" for name in ("best", "test"))
        steps = f"{run['steps']:,}" if run["complete"] else f"{run['steps']:,} of {run['of']:,}"
        rows.append((run["run"], run["task"], steps, human_time(run["seconds"]), best, test))
    found = table(("run", "task", "steps", "time", "best check", "test"), rows)
    return "\n".join([found, *_differing_settings(runs)])


def _differing_settings(runs: list[dict[str, Any]]) -> list[str]:
    """Return lines with the settings that differ between runs. They are printed below the table, whose cells would cut them."""
    from posegen.training.run_folder import flatten_settings
    from posegen.training.settings import NOT_CONTENT

    flat = [dict(flatten_settings(run["settings"])) | {"on": run["source"]} for run in runs]
    keys = [key for key in flat[0] if key.partition(".")[0] not in NOT_CONTENT and len({str(run.get(key)) for run in flat}) > 1]
    if not keys:
        return []
    values = (", ".join(f"{key}={run.get(key)}" for key in keys) for run in flat)
    lines = [f"  {run['run']}: {settings}" for run, settings in zip(runs, values, strict=True)]
    return ["", "Settings that differ:", *lines]
