"""What a trained model says of the clips of a dataset, written as a table while it goes through them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posegen.dataset.files import sync_folder
from posegen.dataset.read import Dataset, open_dataset
from posegen.errors import UsageError
from posegen.training.data.cache import view_of
from posegen.training.data.sources import ClipSource, Reading
from posegen.training.measures.judging import answers_in_order
from posegen.training.trained.models import Trained, load_motion_model

__all__ = ["Predicted", "predict"]

_SHOWN = 2
"""The first of a task's arrays are what it sees; its labels, behind them, are not looked at."""


@dataclass(frozen=True)
class Predicted:
    """What was written: where, and of how many clips."""

    path: Path
    clips: int


def predict(run: Path, source: Path, out: Path, tell: Callable[[int, int], None]) -> Predicted:
    """Write what the model of a run says of all sequences of a dataset.

    Parameters
    ----------
    run : Path
    source : Path
        The dataset; neither labels nor captions are looked at.
    out : Path
        A Parquet file: ``sample`` and ``variant``, and what the task tells.
    tell : callable
        Is given how many clips are done, and of how many.

    Raises
    ------
    UsageError
        If the model has seen motion at another rate, or `out` is no place for a table.
    """
    if out.suffix != ".parquet":
        msg = f"{out}: is a Parquet file, so its name must end in .parquet"
        raise UsageError(msg)
    trained = load_motion_model(run)
    if trained.task.describe is None:
        msg = f"{run}: its model makes motion and says nothing of any; `posegen animate {run} TEXT -o FILE` has it made"
        raise UsageError(msg)
    dataset = open_dataset(source)
    view = view_of(dataset, trained.view.stride)
    if view.fps != trained.view.fps:
        rates = f"{view.fps * view.stride:g} frames a second, and the model was trained on {trained.view.fps * view.stride:g}"
        msg = f"{source}: has {rates}. Generate it with --set fps={trained.view.fps * view.stride:g}"
        raise UsageError(msg)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}~{os.getpid()}.temporary")
    try:
        clips = _written(trained, dataset, beside, tell)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(out)
        sync_folder(out.parent)
    finally:
        beside.unlink(missing_ok=True)
    return Predicted(out, clips)


def _written(trained: Trained, dataset: Dataset, path: Path, tell: Callable[[int, int], None]) -> int:
    header = dataset.header
    view = view_of(dataset, trained.view.stride)
    source = ClipSource(Reading(dataset), trained.task.recipes[:_SHOWN], view, np.arange(len(dataset)))
    total, done = len(dataset) * len(header.variants), 0
    writer = None
    for table in _tables(trained, source, header.variants):
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
        done += len(table)
        tell(done, total)
    if writer is not None:
        writer.close()
    return done


def _tables(trained: Trained, source: ClipSource, variants: tuple[str, ...]) -> Iterator[pa.Table]:
    tell = trained.task.describe
    assert tell is not None, "refused before"
    for said, clips in answers_in_order(trained.task, trained.model, source):
        columns: dict[str, Any] = {
            "sample": clips["sample"].numpy(),
            "variant": [variants[i] for i in clips["variant"].tolist()],
        }
        yield pa.table(columns | tell(said, clips, trained.view))
