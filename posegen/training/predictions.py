"""Tables of the predictions of a trained model: for a dataset, for a user's clips, and for texts.

Files of clips are read by the caller.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from posegen.dataset.clip_files import resample
from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.folder import sync_folder
from posegen.dataset.table_files import read_texts
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress
from posegen.training.data.feature_cache import read_field
from posegen.training.data.sources import ClipSource, dataset_origin
from posegen.training.trained_models import SHORTEST, TrainedModel, load_model, model_outputs, require_abilities, view_for

_INPUTS = 2
"""Number of a task's recipes that are model inputs; the rest are labels, which predictions do not need."""
_TEXTS_AT_ONCE = 1000


@dataclass(frozen=True)
class NamedClip:
    """A clip of a user.

    Attributes
    ----------
    name : str
    joints : float [frame, 22, 3]
        Metres, y up, the floor at 0.
    fps : float
    begin : float
        Seconds in the file before the first frame of `joints`.
    """

    name: str
    joints: Array
    fps: float
    begin: float = 0.0


def predict(run: Path, source: AnyPath, out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for each sequence of a dataset, or for each of its captions.

    Parameters
    ----------
    run : Path
        Folder of the training run.
    source : Path or BucketPath
        The dataset. Labels are not read.
    out : Path
        Parquet file with the columns ``sample``, ``variant`` and those of the task; for a model of single actors on a dataset
        with several also ``actor``; for a model that reads texts also ``caption``, the number of the caption, and ``text``.
    progress : Progress, optional

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    UsageError
        If the frame rate differs from that of the training, or `out` does not end in .parquet.
    """
    trained, dataset = load_model(run), open_dataset(source)
    if trained.task.abilities.describe_texts is not None:
        return _write(_caption_tables(trained, dataset), out, None, progress)
    require_abilities(run, trained.task, "describe")
    rows = (
        len(dataset)
        * len(dataset.header.variants)
        * (view_for(trained, dataset)[1].actors if trained.task.reading.by_actor else 1)
    )
    return _write(_sequence_tables(trained, dataset), out, rows, progress)


def predict_clips(run: Path, clips: Iterable[NamedClip], out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for a user's clips.

    Clips are resampled to the frame rate of the training. Clips longer than those of the training are cut into stretches.
    Clips with too few frames are left out and logged.

    Parameters
    ----------
    run : Path
    clips : iterable of NamedClip
    out : Path
        Parquet file with a row for each stretch: ``clip``, ``start`` and ``end`` in seconds of the file, and those of
        the task.
    progress : Progress, optional

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    UsageError
        If the model predicts nothing about clips, or no clip is left.
    """
    progress = progress or Progress()
    trained = load_model(run, "takes_motion", "describe")
    done = _write(_clip_tables(trained, clips, progress), out, None, progress)
    if not done:
        raise UsageError(f"no clip has the {SHORTEST} frames that the model needs, {SHORTEST / trained.view.fps:.1f} s")
    return done


def predict_table(run: Path, path: Path, out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for the table of a file; see :func:`predict_texts`.

    Raises
    ------
    UsageError
        If the model does not read texts, or the file lacks a column that it reads.
    """
    trained, table = load_model(run, "describe_texts"), read_texts(path)
    return _write(_text_tables(trained, table), out, len(table), progress)


def predict_texts(run: Path, table: pa.Table, out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for texts.

    Parameters
    ----------
    run : Path
    table : Table
        See :func:`read_texts`.
    out : Path
        Parquet file with a row for each text: ``row``, its number from 0, ``text``, and the columns of the task.
    progress : Progress, optional

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    UsageError
        If the model does not read texts.
    """
    trained = load_model(run, "describe_texts")
    return _write(_text_tables(trained, table), out, len(table), progress)


def _write(tables: Iterator[pa.Table], out: Path, total: int | None, progress: Progress | None) -> int:
    """Write tables durably into one file; return the number of rows."""
    if out.suffix != ".parquet":
        raise UsageError(f"{out}: the file name must end in .parquet")
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}~{os.getpid()}.temporary")
    progress = progress or Progress()
    if total is not None:
        progress.start("predict", total, unit="rows")
    done, writer = 0, None
    try:
        for table in tables:
            writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
            writer.write_table(table)
            done += len(table)
            if total is not None:
                progress.update(done)
        if writer is None:
            return 0
        writer.close()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(out)
        sync_folder(out.parent)
    finally:
        progress.stop()
        temporary.unlink(missing_ok=True)
    return done


def _chunks(dataset: Dataset) -> list[Array]:
    chunk = dataset.header.chunk
    return np.split(np.arange(len(dataset)), range(chunk, len(dataset), chunk))


def _sequence_tables(trained: TrainedModel, dataset: Dataset) -> Iterator[pa.Table]:
    """Yield the predictions for the clips of each chunk, in order of sample and variant."""
    describe, variants = trained.task.abilities.describe, dataset.header.variants
    assert describe is not None, "checked by predict"
    task, view = view_for(trained, dataset)
    task = replace(task, reading=replace(task.reading, first_variant_only=False))
    for numbers in _chunks(dataset):
        source = ClipSource(dataset_origin(dataset), task.recipes[:_INPUTS], view, numbers)
        for outputs, clips in model_outputs(task, trained.model, source, None, size=len(numbers) * len(variants)):
            names = [variants[i] for i in clips["variant"].tolist()]
            order = [clips[name] for name in ("actor", "variant", "sample") if name in clips]
            columns = {"sample": clips["sample"].numpy(), "variant": names}
            columns |= {"actor": clips["actor"].numpy()} if "actor" in clips else {}
            yield pa.table(columns | describe(outputs, clips, trained.view)).take(np.lexsort(order))


def _caption_tables(trained: TrainedModel, dataset: Dataset) -> Iterator[pa.Table]:
    """Yield the predictions for the captions of each chunk, in order of sample, variant and caption."""
    for numbers in _chunks(dataset):
        every = read_field(dataset, ROWS, numbers)
        captions = [
            {"sample": sample, "variant": variant, "caption": i, "text": caption["text"], **_known(row, dataset)}
            for sample, rows in zip(numbers.tolist(), every, strict=True)
            for variant, row in zip(dataset.header.variants, rows, strict=True)
            for i, caption in enumerate(row["captions"])
        ]
        if captions:
            yield _described(trained, pa.Table.from_pylist(captions), ["sample", "variant", "caption", "text"])


def _known(row: dict[str, Any], dataset: Dataset) -> dict[str, float]:
    actor = row["actors"][0]
    return {
        "stature": float(actor["stature"]),
        "age": float(actor["age"]),
        "male": float(actor["male"]),
        "seconds": row["length"] / dataset.header.fps,
    }


def _text_tables(trained: TrainedModel, table: pa.Table) -> Iterator[pa.Table]:
    numbers = pa.array(range(len(table)))
    numbered = table.append_column("row", numbers) if "row" not in table.column_names else table
    for start in range(0, len(table), _TEXTS_AT_ONCE):
        yield _described(trained, numbered.slice(start, _TEXTS_AT_ONCE), ["row", "text"])


def _described(trained: TrainedModel, table: pa.Table, kept: list[str]) -> pa.Table:
    """Return some columns of a table of texts, with the predictions for them."""
    describe = trained.task.abilities.describe_texts
    assert describe is not None, "checked by the callers"
    with torch.inference_mode():
        columns = describe(trained.model, table, trained.view)
    return pa.table({name: table[name] for name in kept if name not in columns} | columns)


def motion_inputs(trained: TrainedModel, clip: NamedClip) -> Iterator[tuple[float, float, dict[str, torch.Tensor]]]:
    """Yield the stretches of a clip as the model reads them: start and end in seconds of the file, and the inputs of one clip.

    Parameters
    ----------
    trained : TrainedModel
    clip : NamedClip
        Any frame rate.
    """
    view = trained.view
    rate = view.fps * view.stride
    joints = np.asarray(clip.joints if clip.fps == rate else resample(clip.joints, clip.fps, rate), np.float32)
    start = 0
    for stretch in np.array_split(joints, max(1, -(-len(joints) // (view.frames * view.stride)))):
        if len(stretch) >= SHORTEST * view.stride:
            fields = {"joints": stretch[None, None]}
            values = {recipe.name: recipe.compute(fields, view) for recipe in trained.task.recipes[:_INPUTS]}
            tensors = {name: torch.from_numpy(value) for name, value in values.items()}
            tensors = {name: value.float() if value.dtype == torch.float16 else value for name, value in tensors.items()}
            yield clip.begin + start / rate, clip.begin + (start + len(stretch)) / rate, tensors
        start += len(stretch)


def _clip_tables(trained: TrainedModel, clips: Iterable[NamedClip], progress: Progress) -> Iterator[pa.Table]:
    describe = trained.task.abilities.describe
    assert describe is not None, "checked by predict_clips"
    for clip in clips:
        stretches = list(motion_inputs(trained, clip))
        if not stretches:
            progress.log(f"{clip.name}: left out; the model needs {SHORTEST / trained.view.fps:.1f} s")
        for start, end, inputs in stretches:
            with torch.inference_mode():
                columns = describe(trained.task.apply(trained.model, inputs), inputs, trained.view)
            yield pa.table({"clip": [clip.name], "start": [start], "end": [end]} | columns)
