"""Store trained models as safetensors, with a JSON document from which the model is built again.

The folder of a run is described in :mod:`posegen.training.runs.folder`; other formats are written by
:mod:`posegen.training.export`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from posegen.errors import PosegenError, UsageError
from posegen.training.data.features import View
from posegen.training.runs.checkpoints import read_tensors, write_tensors
from posegen.training.runs.folder import MODEL, RESULT, WEIGHTS, read_document, write_document
from posegen.training.settings import Model
from posegen.training.task import Task, find_task

ABILITIES = {
    "takes_motion": "reads text, not motion. `posegen runs` lists its measures",
    "describe": "generates motion and predicts nothing about clips. Run: posegen animate RUN TEXT -o FILE",
    "generates_motion": "generates no motion. Train one with --task motion",
    "embeds_captions": "does not compare motion with captions. Train one with --task retrieval",
}
"""For each attribute of a task that a caller may require, what a task without it does or does not do, and a hint."""


@dataclass(frozen=True)
class TrainedModel:
    """A trained model in evaluation mode, with its task, its view of motion and its size."""

    task: Task
    view: View
    settings: Model
    model: nn.Module


def build_model(task: Task, view: View, settings: Model, seed: int) -> nn.Module:
    """Return a model with fresh weights, which depend on the seed only."""
    torch.manual_seed(seed)
    return task.build(view, settings)


def save_model(run: Path, task: Task, view: View, settings: Model, weights: Mapping[str, Tensor]) -> None:
    """Write a model durably into the folder of its run."""
    checksum = write_tensors(run / WEIGHTS, weights)
    document = {"task": task.name, "form": task.form, "view": asdict(view), "model": settings.model_dump(mode="json")}
    write_document(run, MODEL, document | {"xxh3": checksum})


def load_model(run: Path, *abilities: str) -> TrainedModel:
    """Load the model of a run.

    Parameters
    ----------
    run : Path
    *abilities : str
        What the model must be able to do: keys of :data:`ABILITIES`.

    Raises
    ------
    UsageError
        If there is none, or its task lacks an ability.
    PosegenError
        If it is damaged.
    """
    document = read_document(run, MODEL)
    if document is None:
        msg = f"{run}: no trained model. Name the folder of a complete run; `posegen runs` lists them"
        raise UsageError(msg)
    path = run / WEIGHTS
    weights = read_tensors(path, document["xxh3"], f"Remove {run / RESULT} and run the training command again to write it anew")
    view = TypeAdapter(View).validate_python(document["view"])
    task = find_task(document["task"]).restored(document["form"])
    for ability in abilities:
        if not getattr(task, ability):
            msg = f"{run}: is a model of the task {task.name}, which {ABILITIES[ability]}"
            raise UsageError(msg)
    settings = Model(**document["model"])
    model = build_model(task, view, settings, 0)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        msg = (
            f"{path}: does not fit the model described by {MODEL}: the file was changed, or this version of posegen has "
            f"another model for the task {task.name}. Train again: posegen train DATASET --task {task.name}"
        )
        raise PosegenError(msg) from error
    return TrainedModel(task, view, settings, model.eval())
