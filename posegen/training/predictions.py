"""Use a trained model: tables of predictions for a dataset and for a user's clips, and decisions about two clips.

Files of clips are read by the caller.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posegen.dataset.files import write_durably
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.table_files import require_parquet
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress
from posegen.mocap.sources import SourceClip
from posegen.training import trained_models
from posegen.training.data.sources import ClipSource, dataset_origin
from posegen.training.run_folder import RESULT, read_document
from posegen.training.verification import FALSE_ACCEPT_RATES


def predict(run: Path, source: AnyPath, out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for each sequence of a dataset.

    Parameters
    ----------
    run : Path
        Folder of the training run.
    source : Path or BucketPath
        The dataset. Labels are not read.
    out : Path
        Parquet file with the columns ``sample``, ``variant`` and those of the task; for a model of single actors on a dataset
        with several also ``actor``.
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
    trained, dataset = trained_models.load_model(run, "describe"), open_dataset(source)
    actors = trained_models.view_for(trained, dataset)[1].actors if trained.task.reading.by_actor else 1
    rows = len(dataset) * len(dataset.header.variants) * actors
    return _write(_sequence_tables(trained, dataset), out, rows, progress)


def predict_clips(run: Path, clips: Iterable[SourceClip], out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for a user's clips.

    Clips are resampled to the frame rate of the training. Clips longer than those of the training are cut into stretches.
    Clips with too few frames are left out and logged.

    Parameters
    ----------
    run : Path
    clips : iterable of SourceClip
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
    trained = trained_models.load_model(run, "describe")
    done = _write(_clip_tables(trained, clips, progress), out, None, progress)
    if not done:
        shortest = trained_models.SHORTEST
        raise UsageError(f"no clip has the {shortest} frames that the model needs, {shortest / trained.view.fps:.1f} s")
    return done


def _write(tables: Iterator[pa.Table], out: Path, total: int | None, progress: Progress | None) -> int:
    """Write tables durably into one file; return the number of rows."""
    require_parquet(out)
    progress, data, writer, done = progress or Progress(), io.BytesIO(), None, 0
    if total is not None:
        progress.start("predict", total, unit="rows")
    try:
        for table in tables:
            writer = writer or pq.ParquetWriter(data, table.schema, compression="zstd")
            writer.write_table(table)
            done += len(table)
            if total is not None:
                progress.update(done)
    finally:
        progress.stop()
    if writer is not None:
        writer.close()
        write_durably(out, data.getvalue())
    return done


def _sequence_tables(trained: trained_models.TrainedModel, dataset: Dataset) -> Iterator[pa.Table]:
    """Yield the predictions for the clips of each chunk, in order of sample and variant."""
    describe, variants = trained.task.abilities.describe, dataset.header.variants
    assert describe is not None, "checked by predict"
    task, view = trained_models.view_for(trained, dataset)
    task = replace(task, reading=replace(task.reading, first_variant_only=False))
    chunk = dataset.header.chunk
    for numbers in np.split(np.arange(len(dataset)), range(chunk, len(dataset), chunk)):
        source = ClipSource(dataset_origin(dataset), task.recipes[: trained_models.INPUTS], view, numbers)
        for outputs, clips in trained_models.model_outputs(
            task, trained.model, source, None, size=len(numbers) * len(variants)
        ):
            names = [variants[i] for i in clips["variant"].tolist()]
            order = [clips[name] for name in ("actor", "variant", "sample") if name in clips]
            columns = {"sample": clips["sample"].numpy(), "variant": names}
            columns |= {"actor": clips["actor"].numpy()} if "actor" in clips else {}
            yield pa.table(columns | describe(outputs, clips, trained.view)).take(np.lexsort(order))


def _clip_tables(trained: trained_models.TrainedModel, clips: Iterable[SourceClip], progress: Progress) -> Iterator[pa.Table]:
    describe = trained.task.abilities.describe
    assert describe is not None, "checked by predict_clips"
    for clip in clips:
        stretches = list(trained_models.clip_outputs(trained, clip.joints, clip.fps))
        if not stretches:
            progress.log(f"{clip.name}: left out; the model needs {trained_models.SHORTEST / trained.view.fps:.1f} s")
        for start, end, inputs, outputs in stretches:
            times = {"start": [clip.begin + start], "end": [clip.begin + end]}
            yield pa.table({"clip": [clip.name], **times, **describe(outputs, inputs, trained.view)})


@dataclass(frozen=True)
class Decision:
    """A decision about two clips.

    Attributes
    ----------
    same : bool
        Whether they show the same person.
    similarity : float
    rate : dict
        The threshold with its rates; see :func:`posegen.training.verification.verification_rates`.
    known_persons : bool
        Whether the model was trained on the persons of the rates, which are then not valid for others.
    """

    same: bool
    similarity: float
    rate: dict[str, Any]
    known_persons: bool = False

    def text(self) -> str:
        """Return the decision as one line for the user."""
        rate = self.rate
        verdict, sign = ("same person", ">") if self.same else ("different persons", "<=")
        promise = f"true accept rate {100 * rate['tar']:.1f} % ({100 * rate['tar_low']:.1f} to {100 * rate['tar_high']:.1f})"
        persons = f"{rate['persons']} " + ("known persons: not valid for others" if self.known_persons else "unseen persons")
        return (
            f"{verdict}: similarity {self.similarity:.3f} {sign} {rate['threshold']:.3f}, the threshold at a false accept rate "
            f"of {100 * rate['far']:g} %; {promise} on {persons}"
        )


def compare_clips(run: Path, one: Iterable[SourceClip], two: Iterable[SourceClip], far: float = 0.01) -> Decision:
    """Decide whether two recordings show the same person.

    Parameters
    ----------
    run : Path
        Run of the task identity.
    one, two : iterable of SourceClip
        The clips of each recording; the similarity is the mean cosine of all pairs.
    far : float
        False accept rate, one of :data:`FALSE_ACCEPT_RATES`.

    Raises
    ------
    UsageError
        If the run has another task or no threshold at this rate, or a recording is too short.
    """
    trained, result = trained_models.load_model(run, "calibrate"), read_document(run, RESULT)
    if result is None or "rates" not in result["table"]:
        raise UsageError(f"{run}: has no calibrated thresholds. Train it again with this version, into another folder")
    known = {rate["far"]: rate for rate in result["table"]["rates"]}
    if far not in known:
        rates = ", ".join(f"{rate:g}" for rate in known) or "none"
        is_lower = far in FALSE_ACCEPT_RATES and far < min(known, default=1.0)
        hint = "A lower rate needs a run on more persons" if is_lower else "Use one of these"
        raise UsageError(f"{run}: has no threshold at a false accept rate of {far:g}; it has {rates}. {hint}")
    rate = known[far]
    first, second = (
        trained_models.encode_clips(
            trained, [(clip.joints, clip.fps) for clip in clips], ", ".join(clip.name for clip in clips[:3])
        )
        for clips in (list(one), list(two))
    )
    similarity = float((first @ second.T).mean())
    return Decision(similarity > rate["threshold"], similarity, rate, result["table"].get("known_persons", False))
