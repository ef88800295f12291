"""``posegen predict``: save the predictions of a trained model for a dataset, clips or texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import DATASET, PATH, Output, command, file_option
from posegen.dataset.storage.address import AnyPath, storage_of

if TYPE_CHECKING:
    from posegen.training.predictions import NamedClip


@command(
    "posegen predict runs/action-default-0-quick data/default-0 -o predictions.parquet",
    "posegen predict runs/action-default-0-quick walk.bvh -o predictions.parquet",
)
@click.argument("run", type=PATH)
@click.argument("source", type=DATASET, metavar="DATASET|CLIPS|TEXTS.csv")
@file_option("Table to write.", metavar="FILE.parquet")
def predict(run: Path, source: AnyPath, out: Path, output: Output) -> None:
    """Run the trained model of RUN on a dataset, clips or texts, and save its predictions as a Parquet table.

    For a DATASET, the table has a row for each sequence, in order, with its sample and variant; for a model that reads texts, a
    row for each caption. CLIPS is a .bvh, .npz, .npy or .c3d file, or a folder of them: the table has a row for each clip, or
    for each stretch of a long one. TEXTS.csv (or .parquet) has a column text, or the columns that a model of a table
    reads: the table has a row for each row, with the predicted label and, of categories, its calibrated probability.

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
    elif predicts_table(run):
        from posegen.tables.model import predict_table

        rows = predict_table(run, local, out, progress)
    elif local.suffix.lower() in TABLES:
        rows = predictions.predict_table(run, local, out, progress)
    else:

        def refuse(message: str) -> None:
            refused.append(message)
            output.note(f"left out: {message}")

        rows = predictions.predict_clips(run, named_clips(local, refuse, output.note), out, progress)
    output.summary({"path": out, "rows": rows, "refused": refused}, f"Wrote {out}: {rows:,} rows.")


def named_clips(source: Path, refuse: Callable[[str], object], note: Callable[[str], object]) -> Iterator[NamedClip]:
    """Yield the clips of a file or folder.

    `refuse` is called with the message for each file or clip that cannot be read, `note` for each clip of which not all frames
    are used.

    Raises
    ------
    UsageError
        If there are no files of clips, or a single file cannot be read.
    """
    from posegen.mocap.sources import read_clips
    from posegen.training.predictions import NamedClip

    for clip in read_clips(source, refuse):
        if clip.note:
            note(f"{clip.name}: {clip.note}")
        yield NamedClip(clip.name, clip.joints, clip.fps, clip.begin)
