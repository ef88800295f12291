"""`posegen train` from within: the same sitting that the command holds, whose steps can be timed and whose model is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import nn

from posegen.training.beginning import Beginning, beginning_of
from posegen.training.choosing import chosen
from posegen.training.machine import Choices
from posegen.training.material import Material, open_material, statistics
from posegen.training.session import Session, train_to_the_end
from posegen.training.settings import Settings, load_settings
from posegen.training.task import Task, find_task
from posegen.training.timing import StepTimes

__all__ = ["Posegen", "begun", "posegen_trains"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Posegen:
    """What is trained, and how: the task action by the preset quick, with what was chosen for the machine."""

    task: Task
    settings: Settings
    whole: Material
    material: Material
    beginning: Beginning
    choices: Choices
    mean_and_spread: tuple[Array, Array]

    def model(self) -> nn.Module:
        """Make a model with the weights that all ways begin with, normalised as posegen does it."""
        model = self.beginning.make()
        model.encoder.normalise_by(*self.mean_and_spread)  # type: ignore[union-attr, operator]
        return model


class _Silence:
    """Calls somebody after each step, and says nothing."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def say(self, text: str) -> None:
        """Say nothing."""

    def step(self, step: int, steps: int, loss: float, times: StepTimes | None, left: float | None) -> None:
        """A step is done."""
        self._tell()


def begun(path: Path, samples: int, choices: Choices | None = None) -> Posegen:
    """Prepare a dataset, of which the first samples are trained on, and choose for the machine if nothing is chosen."""
    task, settings = find_task("action"), load_settings("quick", ["log=[]"])
    whole = open_material(path, settings.data, 0)
    whole.prepare(task.recipes, lambda done, total: None)
    material = whole.with_samples(min(samples, whole.samples))
    beginning = beginning_of(task, material.view, settings, None)
    if choices is None:
        choices, _, _ = chosen(task, settings, material, beginning)
    found = statistics(material.source(task.recipes, "training"), None)
    return Posegen(task, settings, whole, material, beginning, choices, found)


def posegen_trains(ours: Posegen, steps: int, run: Path, tell: Callable[[], None]) -> nn.Module:
    """Train for so many steps, and give the model with averaged weights; `tell` is called after each step."""
    run.mkdir()
    # One check, behind the last step.
    data = ours.settings.as_data() | {"steps": steps, "checks": {"times": 1, "clips": 64, "patience": None}}
    settings = Settings.model_validate(data)
    session = Session(
        run=run,
        task=ours.task,
        settings=settings,
        material=ours.material,
        choices=ours.choices,
        beginning=Beginning(ours.task, ours.material.view, settings, None),
        first=0,
        last=steps,
        deadline=None,
        rechoose=lambda choices: None,
    )
    learner, _, _ = train_to_the_end(session, _Silence(tell))
    model = ours.beginning.make()
    model.load_state_dict(learner.average)
    return model
