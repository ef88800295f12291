"""Models on the disk: the weights as safetensors, and beside them what makes a model of them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import xxhash
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError, UsageError
from posegen.training.data.features import View
from posegen.training.runs.runs import MODEL, WEIGHTS, read_document, write_document
from posegen.training.settings import Model
from posegen.training.task import Task, find_task

__all__ = ["Trained", "build", "load_model", "load_motion_model", "save_model"]


@dataclass(frozen=True)
class Trained:
    """A trained model: its task, how it sees motion, its size, and itself, ready to answer."""

    task: Task
    view: View
    settings: Model
    model: nn.Module


def build(task: Task, view: View, settings: Model, seed: int) -> nn.Module:
    """Make a model with weights that are a function of the seed."""
    torch.manual_seed(seed)
    return task.build(view, settings)


def save_model(run: Path, task: Task, view: View, settings: Model, weights: Mapping[str, Tensor]) -> None:
    """Write a model into the folder of its run; when this returns, it is safe."""
    data = save({name: value.detach().contiguous().cpu() for name, value in weights.items()})
    write_durably(run / WEIGHTS, data, current_run())
    about = {"task": task.name, "form": task.form, "view": asdict(view), "model": settings.model_dump(mode="json")}
    write_document(run, MODEL, about | {"xxh3": xxhash.xxh3_128_hexdigest(data)})


def load_model(run: Path) -> Trained:
    """Load the model of a run.

    Raises
    ------
    UsageError
        If there is none.
    PosegenError
        If it is damaged.
    """
    about = read_document(run, MODEL)
    if about is None:
        msg = f"{run}: has no trained model. Name the folder of a run that is complete; `posegen runs` lists them"
        raise UsageError(msg)
    path = run / WEIGHTS
    data = path.read_bytes() if path.is_file() else b""
    if xxhash.xxh3_128_hexdigest(data) != about["xxh3"]:
        msg = (
            f"{path}: does not have the bytes that were written. Remove {run / 'result.json'} and train again: it is made anew"
        )
        raise PosegenError(msg)
    view = View(
        **{**about["view"], "actions": tuple(about["view"]["actions"]), "answers": tuple(about["view"].get("answers", ()))}
    )
    task = find_task(about["task"]).restored(about.get("form", ""))
    settings = Model(**about["model"])
    model = build(task, view, settings, 0)
    try:
        model.load_state_dict(load(data))
    except (SafetensorError, RuntimeError) as error:
        msg = (
            f"{path}: does not fit the model that {MODEL} tells of: models of the task {task.name} are others in this version "
            f"of posegen, or the file was changed. Train again: posegen train DATASET --task {task.name}"
        )
        raise PosegenError(msg) from error
    return Trained(task, view, settings, model.eval())


def load_motion_model(run: Path) -> Trained:
    """Load the model of a run that answers motion.

    Raises
    ------
    UsageError
        If there is none, or it answers something else.
    PosegenError
        If it is damaged.
    """
    trained = load_model(run)
    if not trained.task.takes_motion:
        msg = (
            f"{run}: its model answers captions, not motion, so it has nothing to say here. Its measures are in `posegen runs`"
        )
        raise UsageError(msg)
    return trained
