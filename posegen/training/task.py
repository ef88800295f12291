"""What a task is: the arrays it takes, its model, its loss and its measures. One file in :mod:`posegen.training.tasks` makes
one.

Everything else, from reading to the report, is the stage's and the same for all tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor, nn

from posegen.errors import UsageError
from posegen.training.clips.recipes import Recipe, View
from posegen.training.sentences.captions import Showing
from posegen.training.settings import Model, Settings
from posegen.wording import did_you_mean, shown

__all__ = ["TASKS", "Clips", "Tally", "Task", "find_task"]

Clips = Mapping[str, Tensor]
"""Clips as a task gets them: ``motion`` float32 [clip, frame, FEATURES], ``length`` and the arrays of its own recipes."""

TASKS = {name: f"posegen.training.tasks.{name}" for name in ("action", "retrieval", "motion", "identity", "attribute", "text")}
"""Where each task is; its module has it as ``TASK``."""


class Tally(Protocol):
    """Adds up what a model says of clips beside what is true of them."""

    def add(self, said: Tensor, clips: Clips) -> None:
        """Take some clips in."""

    def measures(self) -> dict[str, float]:
        """Compute the measures of all clips so far."""

    def table(self) -> dict[str, Any]:
        """Give what a report shows beside the measures, as plain data."""


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes
    ----------
    name : str
    recipes : tuple of Recipe
        Of the arrays that it takes; the first ones are motion and length.
    labels : tuple of str
        Which of them are labels, for the control that shuffles them.
    build : callable
        Makes the model, which has as ``encoder`` what normalises motion: a
        :class:`posegen.training.networks.model.MotionEncoder` or its like.
    apply : callable
        What the model says of clips.
    loss : callable
        Of what the model says of clips: the mean over the clips, so that micro-batches add up.
    tally : callable
        Makes an empty tally.
    watched : str
        The measure by which models are chosen; more is better.
    tell : callable or None
        Gives what the model says of each clip in words and numbers, for a table; None: it says nothing of clips, it makes them.
    captions : bool
        Whether it takes captions, as a text encoder's vectors; see :mod:`posegen.training.clips.captions`.
    whole : bool
        Whether the loss holds clips against each other, so that it needs all clips of a batch at once. They still go through
        the model a micro-batch at a time; what is needed for the way back is computed again.
    normalised : str
        The array by whose mean and spread the encoder normalises what it sees.
    one_variant : bool
        Whether it is judged on the first variant of each sample only.
    any_skeleton : bool
        Whether it does not matter to it on whose skeleton a motion is, so that it learns from varied ones.
    people : bool
        Whether it is about who is in the clips: they are parted by person then, and a batch holds several of each; see
        :mod:`posegen.training.clips.people`.
    motion : bool
        Whether its model sees motion, so that it has an encoder.
    answers : tuple of str
        What its answers stand for, where they are other words than those of actions.
    sentences : callable or None
        Where it learns from captions as words, and begins with an encoder of sentences: gives what a clip is shown with.
    adapter_gain : float
        What low-rank adapters are multiplied by, where the rate is one for all weights of a model that is trained already:
        they begin at nothing, and have further to go.
    leave : callable or None
        Writes what a run leaves beside the model itself.
    configure : callable or None
        Makes the task with what else is set; None: nothing of that matters to it.
    form : str
        Which of its models it trains, where there are or were others: a run with another one is refused, and a model is
        made again by it.
    restore : callable or None
        Makes the task of a form; None: it is always the same.
    """

    name: str
    recipes: tuple[Recipe, ...]
    labels: tuple[str, ...]
    build: Callable[[View, Model], nn.Module]
    apply: Callable[[nn.Module, Clips], Tensor]
    loss: Callable[[Tensor, Clips], Tensor]
    tally: Callable[[View], Tally]
    watched: str
    tell: Callable[[Tensor, Clips, View], dict[str, list[Any]]] | None
    captions: bool = False
    whole: bool = False
    normalised: str = "motion"
    one_variant: bool = False
    any_skeleton: bool = False
    people: bool = False
    motion: bool = True
    answers: tuple[str, ...] = ()
    sentences: Showing | None = None
    adapter_gain: float = 1.0
    leave: Callable[[nn.Module, Path], None] | None = None
    configure: Callable[[Settings], Task] | None = None
    form: str = ""
    restore: Callable[[str], Task] | None = None

    def configured(self, settings: Settings) -> Task:
        """Make the task as the settings want it."""
        return self if self.configure is None else self.configure(settings)

    def restored(self, form: str) -> Task:
        """Make the task as a trained model has it."""
        return self if self.restore is None else self.restore(form)


def find_task(name: str) -> Task:
    """Look up a task by its name; UsageError if there is none."""
    if name not in TASKS:
        msg = f"there is no task {shown(name)}{did_you_mean(name, TASKS)}. There are: {', '.join(TASKS)}"
        raise UsageError(msg)
    task: Task = import_module(TASKS[name]).TASK
    return task
