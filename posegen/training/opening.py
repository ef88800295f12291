"""Opening what a request names: the task, what it is trained on, and what the model begins with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from posegen.config.identity import digest
from posegen.dataset.layout import HEADER_FILE, ROWS
from posegen.errors import UsageError
from posegen.training.beginning import Beginning, beginning_of
from posegen.training.data.training_data import TrainingData, open_own_clips, open_training_data
from posegen.training.models.text_encoders import find_trainable_encoder
from posegen.training.settings import Settings
from posegen.training.task import Task, find_task
from posegen.training.trained.models import load_model

__all__ = ["Opened", "opened"]


@dataclass(frozen=True)
class Opened:
    """What is needed to train."""

    task: Task
    material: TrainingData
    beginning: Beginning


def opened(source: str, task: str, settings: Settings, init: Path | None) -> Opened:
    """Open a dataset, a config or clips of a user's own, for a task.

    Raises
    ------
    UsageError
        If what is asked for cannot be.
    """
    found = find_task(task).configured(settings)
    material = _material(source, settings, init)
    wants_rows = any(ROWS in recipe.fields for recipe in found.recipes)
    if material.own is not None and wants_rows:
        msg = f"{source}: clips of your own come without what {task} is asked: that is told by the rows of a dataset"
        raise UsageError(msg)
    if found.by_identity:
        material = material.with_people(settings)
    if found.takes_captions:
        material = material.with_captions(settings.contrast)
    if found.caption_sampler is not None:
        material = _with_sentences(material, found, settings)
    return Opened(found, material, beginning_of(found, material.view, settings, init))


def _with_sentences(material: TrainingData, task: Task, settings: Settings) -> TrainingData:
    """Have captions as words, for the encoder of sentences that the task begins with."""
    if material.own is not None:
        msg = f"{material.name}: has no captions, only words. Train on a dataset or a config"
        raise UsageError(msg)
    encoder = find_trainable_encoder(settings.text.encoder)
    # From wherever the run is opened again.
    name = str(Path(encoder.source).resolve()) if Path(encoder.source).is_dir() else encoder.source
    view = replace(material.view, text_encoder=name, answers=task.class_names)
    # Where other weights are begun with, no run goes on.
    identity = digest({"data": material.identity, "encoder": encoder.fingerprint})
    return replace(material, sentences=task.caption_sampler, view=view, identity=identity)


def _material(source: str, settings: Settings, init: Path | None) -> TrainingData:
    """Open what is trained on: clips of a user's own only where there is a model that says how to look at them."""
    path = Path(source)
    is_dataset = (path / HEADER_FILE).exists()
    if init is None or is_dataset or not (path.is_dir() or path.suffix == ".npz"):
        return open_training_data(source, settings.data, settings.steps * settings.batch)
    return open_own_clips(path, load_model(init).view)
