"""Call the function behind ``posegen train``, with a callback after each step, and return its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import nn

from posegen.progress import Progress
from posegen.training.data.feed import statistics
from posegen.training.settings import Settings, load_settings
from posegen.training.setup import Request, TrainingData, open_training_data
from posegen.training.task import Task, find_task
from posegen.training.train import train
from posegen.training.trained_models import build_model, load_model

__all__ = ["Posegen", "begun", "posegen_trains"]

Array = NDArray[Any]

CHOSEN = ("device", "threads", "precision", "micro_batch", "workers")


@dataclass(frozen=True)
class Posegen:
    """The task action with the preset quick, and the choices for this machine.

    Attributes
    ----------
    path : Path
        Of the dataset.
    task : Task
    settings : Settings
    chosen : dict of str to str
        For the machine.
    whole, material : TrainingData
        All samples, and those that are trained on.
    mean_and_spread : tuple of ndarray
        Of the features.
    """

    path: Path
    task: Task
    settings: Settings
    chosen: Mapping[str, str]
    whole: TrainingData
    material: TrainingData
    mean_and_spread: tuple[Array, Array]

    def model(self) -> nn.Module:
        """Return a model with the initial weights of all settings, normalised as in posegen."""
        model = build_model(self.task, self.material.view, self.settings.model, self.settings.seed)
        model.encoder.normalise_by(*self.mean_and_spread)  # type: ignore[union-attr, operator]
        return model


class _StepCounter(Progress):
    """Call a function after each step."""

    def __init__(self, after_step: Callable[[], None]) -> None:
        self._after_step = after_step

    def update(self, done: int, details: str = "") -> None:
        """Call the function."""
        self._after_step()


def begun(path: Path, samples: int, chosen: Mapping[str, str] | None = None) -> Posegen:
    """Prepare the first samples of a dataset, and let posegen choose for the machine if no choices are given."""
    task, settings = find_task("action"), load_settings("quick", _overrides(samples, {}))
    if chosen is None:
        request = Request(str(path), "action", "quick", settings, only_estimate=True)
        reasons = {reason.name: reason.value for reason in train(request).reasons}
        chosen = {name: reasons[name] for name in CHOSEN}
    material = open_training_data(path, settings.data, 0)
    material.prepare(task.recipes, lambda done, total: None)
    whole = open_training_data(path, load_settings("quick").data, 0)
    found = statistics(material.source(task.recipes, "training"), None)
    return Posegen(path, task, settings, chosen, whole, material, found)


def posegen_trains(ours: Posegen, steps: int, run: Path, tell: Callable[[], None]) -> nn.Module:
    """Train for `steps` steps and return the trained model; `tell` is called after each step."""
    # One check, after the last step.
    given = [f"steps={steps}", "checks.times=1", "checks.clips=64"]
    settings = load_settings("quick", [*_overrides(ours.material.samples, ours.chosen), *given])
    train(Request(str(ours.path), "action", "quick", settings, run), _StepCounter(tell))
    return load_model(run).model


def _overrides(samples: int, chosen: Mapping[str, str]) -> list[str]:
    # All settings use the same clips, on the same skeletons.
    same = ["data.skeleton.joints=0", "data.skeleton.size=0"]
    return ["log=[]", f"data.samples={samples}", *same, *(f"machine.{name}={value}" for name, value in chosen.items())]
