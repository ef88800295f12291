"""The record that describes a training task, and access to tasks by name.

A task is one module in :mod:`posegen.training.tasks`, or in a plug-in package. Reading, caching, the training loop, checkpoints
and reports are the same for all tasks and are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.plugins import TASKS
from posegen.foundations.randomness import Stream, normal
from posegen.training.data.features import FEATURES, Recipe, View, by_actor
from posegen.training.data.feed import Draws
from posegen.training.settings import Model, Settings

TEXT_TASK = "text"
"""Name of the task that fine-tunes a text encoder; it has no :class:`Task`, and is in :mod:`posegen.training.text_pairs`."""

Clips = Mapping[str, Tensor]
"""A batch of clips: ``motion`` float32 [clip, frame, FEATURES], ``length`` and the arrays of the task's own recipes."""


def apply_to_motion(model: nn.Module, clips: Clips, array: str = "motion") -> Tensor:
    """Return the outputs of a model whose inputs are an array of motion and the lengths."""
    outputs: Tensor = model(clips[array], clips["length"])
    return outputs


@dataclass(frozen=True)
class Network:
    """A model as other programs run it: arrays by name in, one array out.

    Attributes
    ----------
    module : Module
        Takes the inputs by name, in this order.
    shapes : dict of str to tuple
        Shape of each input; a name is a size that may differ from call to call.
    example : callable
        Returns random inputs for a number of rows and a length.
    length : int
        The usual length.
    output : str
        Describes the output.
    metadata : dict
        What else a program needs to use the model, as plain data.
    """

    module: nn.Module
    shapes: Mapping[str, tuple[str | int, ...]]
    example: Callable[[int, int], dict[str, Array]]
    length: int
    output: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def motion_network(model: nn.Module, view: View, output: str = "") -> Network:
    """Return a model of motion features and lengths [clip]: features [clip, frame, FEATURES], or those of all actors."""
    encoder: Any = model.encoder
    mean, spread = encoder.mean.cpu().numpy(), encoder.spread.cpu().numpy()
    is_single = len(mean) == FEATURES or view.actors == 1
    inner = (len(mean),) if is_single else (view.actors, len(mean) // view.actors)

    def example(clips: int, frames: int) -> dict[str, Array]:
        """Return clips of different lengths whose features are distributed as in training."""
        drawn = normal(0, np.arange(clips), Stream.AUGMENT, frames * len(mean)).reshape(clips, frames, len(mean))
        motion = (drawn * spread + mean).reshape(clips, frames, *inner)
        return {"motion": motion.astype(np.float32), "length": np.array([frames - 3 * i for i in range(clips)], np.int64)}

    return Network(model, {"motion": ("clip", "frame", *inner), "length": ("clip",)}, example, view.frames, output)


class Tally(Protocol):
    """Accumulates a model's outputs and the true labels, and computes the measures of a task."""

    def add(self, outputs: Tensor, clips: Clips) -> None:
        """Add a batch."""

    def measures(self) -> dict[str, float]:
        """Compute the measures over all batches so far."""

    def table(self) -> dict[str, Any]:
        """Return what the report shows beside the measures, as plain data; nothing by default."""
        return {}


class CollectedOutputs(Tally):
    """The base of tallies that need the outputs for all clips at once, with some arrays of the clips."""

    names: tuple[str, ...]
    """Names of the arrays that are collected, as far as the clips have them; those that some clips lack come last."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.batches: list[tuple[Array, ...]] = []

    def add(self, outputs: Tensor, clips: Clips) -> None:
        """Add a batch."""
        arrays = (clips[name].cpu().numpy() for name in self.names if name in clips)
        self.batches.append((outputs.float().cpu().numpy(), *arrays))

    def collected(self) -> Iterable[Array]:
        """Return the outputs, then the arrays, of all clips."""
        return [np.concatenate(parts) for parts in zip(*self.batches, strict=True)]


@dataclass(frozen=True)
class Reading:
    """How a task reads the samples of a split.

    Attributes
    ----------
    scene_recipes : tuple of Recipe
        The recipes where samples have several actors and the model takes all of them at once; empty: it takes the first one.
    normalised_array : str
        Name of the array whose mean and standard deviation normalise the encoder's input.
    first_variant_only : bool
        Whether validation and test use only the first variant of each sample.
    vary_skeleton : bool
        Whether the task does not depend on the skeleton, so that training varies it from clip to clip.
    by_actor : bool
        Whether each actor of a sample is a clip of its own.
    by_identity : bool
        Whether the task compares identities: splits then separate identities, and a batch holds several clips of each.
    takes_captions : bool
        Whether clips come with text embeddings of their captions.
    """

    scene_recipes: tuple[Recipe, ...] = ()
    normalised_array: str = "motion"
    first_variant_only: bool = False
    vary_skeleton: bool = False
    by_actor: bool = False
    by_identity: bool = False
    takes_captions: bool = False


@dataclass(frozen=True)
class Abilities:
    """What a trained model of a task can do.

    Attributes
    ----------
    generates_motion : bool
        Whether the model generates motion from captions.
    embeds_captions : bool
        Whether the model puts motions and captions into one vector space.
    describe : callable or None
        Returns the predictions for each clip as columns of a table. None: the model predicts nothing about clips.
    calibrate : callable or None
        Returns the error rates of decisions by the model from the tallies of validation and test. None: it decides nothing.
    network : callable
        Returns the model as it is exported.
    """

    generates_motion: bool = False
    embeds_captions: bool = False
    describe: Callable[[Tensor, Clips, View], dict[str, list[Any]]] | None = None
    calibrate: Callable[[Any, Any], dict[str, Any]] | None = None
    network: Callable[[nn.Module, View], Network] = motion_network


@dataclass(frozen=True)
class Task:
    """A training task: its model, its loss and its measures, and records of how it reads and what it can do.

    Attributes
    ----------
    name : str
    recipes : tuple of Recipe
        The arrays that the task reads; motion and length come first.
    labels : tuple of str
        Names of the arrays that are labels. The control `data.shuffle_labels` shuffles them.
    build : callable
        Returns a new model. Its ``encoder`` normalises motion, as :class:`posegen.training.encoder.MotionEncoder` does.
    apply : callable
        Returns the model's outputs for a batch.
    loss : callable
        Returns the mean loss over the clips of a batch, so that micro-batches can be accumulated.
    tally : callable
        Returns an empty tally.
    monitor : str
        Name of the measure that selects the best model; higher is better.
    chance : str, float or None
        What `monitor` is for a model that learned nothing, or the name of the measure that is that. None: not known.
    accuracy : callable or None
        Returns the share of a training batch that the outputs have right, for the progress line. None: the task has no right
        and wrong.
    needs_whole_batch : bool
        Whether the loss compares clips with each other and so needs all clips of a batch at once. They still pass through the
        model one micro-batch at a time; activations are recomputed in the backward pass.
    draw : callable or None
        Returns random numbers for the clips of a training batch as further arrays, from the clips, the seed and the number of
        the batch. None: the task draws none.
    reading : Reading
    abilities : Abilities
    form : str
        A task may have several forms, each with a model of its own. A run is resumed, and a model loaded, only with the form it
        was trained with.
    configure : callable or None
        Returns the task for given settings. None: the task has no settings.
    restore : callable or None
        Returns the task for a form. None: the task has one form.
    """

    name: str
    recipes: tuple[Recipe, ...]
    labels: tuple[str, ...]
    build: Callable[[View, Model], nn.Module]
    apply: Callable[[nn.Module, Clips], Tensor]
    loss: Callable[[Tensor, Clips], Tensor]
    tally: Callable[[View], Tally]
    monitor: str
    chance: str | float | None = None
    accuracy: Callable[[Tensor, Clips], Tensor] | None = None
    needs_whole_batch: bool = False
    draw: Draws | None = None
    reading: Reading = Reading()
    abilities: Abilities = Abilities()
    form: str = ""
    configure: Callable[[Settings], Task] | None = None
    restore: Callable[[str], Task] | None = None

    def configured(self, settings: Settings) -> Task:
        """Return the task for given settings."""
        return self if self.configure is None else self.configure(settings)

    def reading_actors(self, actors: int) -> Task:
        """Return the task for samples with a number of actors."""
        if actors > 1 and self.reading.by_actor:
            return replace(self, recipes=tuple(map(by_actor, self.recipes)))
        scene_recipes = self.reading.scene_recipes
        return self if actors == 1 or not scene_recipes else replace(self, recipes=scene_recipes)

    def restored(self, form: str) -> Task:
        """Return the task of a trained model."""
        return self if self.restore is None else self.restore(form)


def find_task(name: str) -> Task:
    """Return the task of a name.

    Raises
    ------
    UsageError
        If there is no such task, or it trains a text encoder.
    """
    require_known("there is no task", name, [*TASKS.names(), TEXT_TASK])
    if name == TEXT_TASK:
        raise UsageError("the task text fine-tunes an encoder by itself. Run: posegen train DATASET --task text")
    task: Task = TASKS.load(name)
    return task
