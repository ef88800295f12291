"""What a user may choose about a training run, checked before anything is read or computed.

A preset is a file of a few lines over ``configs/train/base.yaml``. What is null under `machine` posegen chooses by the
machine, and tells why.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from posegen.config.load import apply_overrides, presets
from posegen.errors import UsageError
from posegen.quantities import parse_bytes
from posegen.validation import validated
from posegen.wording import did_you_mean, shown
from posegen.yaml_files import read_yaml

__all__ = ["Settings", "load_settings", "logged_every", "training_presets", "warm_up"]

_MOST_POINTS = 1000


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_memory(text: str) -> str:
    parse_bytes(text)
    return text


Whole = Annotated[int, BeforeValidator(_whole), Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(ge=0, le=1e6)]
Share = Annotated[float, Field(ge=0, lt=1)]


class Group(BaseModel):
    """A group of keys, which refuses those that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Model(Group):
    """How large the model is, and how much of it each step leaves out."""

    size: Literal["small", "medium", "large"] = "small"
    dropout: Share = 0.1


class Skeleton(Group):
    """How far the skeletons that a model is shown in training lie from those of the clips, as standard deviations.

    Attributes
    ----------
    joints : of where a joint is said to be, along each axis, in metres; 0: as it is
    size : of the factor on all lengths
    """

    joints: Annotated[Number, Field(ge=0, le=0.2)] = 0.03
    size: Annotated[Number, Field(ge=0, le=0.3)] = 0.1


class Data(Group):
    """What it is trained on.

    Attributes
    ----------
    variants : of the samples; null: all
    samples : how many, from the first; null: all there are, and of a config as many as are needed to show none twice
    frames : longest stretch of a clip that is shown at once, in frames of the dataset; null: all of it
    stride : every how manieth frame a model sees
    skeleton : how skeletons vary from clip to clip, for tasks to which they do not matter
    shuffle_labels : train on the labels of other clips: a control, which must learn nothing
    """

    variants: tuple[str, ...] | None = None
    samples: Annotated[Whole, Field(ge=1)] | None = None
    frames: Annotated[Whole, Field(ge=8)] | None = None
    stride: Annotated[Whole, Field(ge=1, le=10)] = 2
    skeleton: Skeleton = Skeleton()
    shuffle_labels: Flag = False


class Optimiser(Group):
    """AdamW: highest rate, decay of weights, longest gradient, share of the steps in which the rate rises, memory of the
    average.
    """

    rate: Number = 2e-3
    decay: Number = 0.01
    clip: Number = 1.0
    warmup: Share = 0.05
    average: Share = 0.99


class Checks(Group):
    """When the model is held against clips that it is not trained on, and when that ends a run.

    Attributes
    ----------
    times : how often in a run
    clips : of the validation split, at most
    patience : end the run after so many checks without a better one; null: never
    """

    times: Annotated[Whole, Field(ge=1, le=1000)] = 10
    clips: Annotated[Whole, Field(ge=1)] = 1000
    patience: Annotated[Whole, Field(ge=1)] | None = None


class Machine(Group):
    """What posegen chooses by the machine where it is null.

    Attributes
    ----------
    device : cpu or cuda
    devices : how many train together; all: every GPU; null: one
    precision : of the arithmetic
    threads : of the CPU
    micro_batch : clips that go through the model at once; their gradients add up to those of a batch
    workers : processes that load
    compile, checkpointing : compile the model; compute again what would not fit into memory
    """

    device: Literal["cpu", "cuda"] | None = None
    devices: Annotated[Whole, Field(ge=1, le=64)] | Literal["all"] | None = None
    precision: Literal["32-true", "bf16-mixed"] | None = None
    threads: Annotated[Whole, Field(ge=1, le=1024)] | None = None
    micro_batch: Annotated[Whole, Field(ge=1)] | None = None
    workers: Annotated[Whole, Field(ge=0, le=256)] | None = None
    compile: Flag | None = None
    checkpointing: Flag | None = None


class Memory(Group):
    """How much memory a run may take; null: what there is."""

    limit: Annotated[str, AfterValidator(_is_memory)] | None = None


class Saving(Group):
    """Seconds between checkpoints, and steps between them if they are to be counted instead."""

    seconds: Number = 60.0
    steps: Annotated[Whole, Field(ge=1)] | None = None


class Adapter(Group):
    """Low-rank adapters instead of all weights: how many directions each has; null: all weights are trained."""

    rank: Annotated[Whole, Field(ge=1, le=256)] | None = None


class Contrast(Group):
    """How `retrieval` tells right captions from wrong ones.

    Attributes
    ----------
    encoder : text encoder whose vectors of captions are taken; null: the only one that there is beside the dataset
    loss : infonce, or the simpler triplet
    temperature : of infonce: how sharply cosines are told apart
    margin : of triplet: by how much the cosine of the right caption should be above that of a wrong one
    alike : captions whose vectors have a larger cosine than this may be true of each other's motion and are left out
    hard : hard negatives of each clip, from the pairs that `posegen embed` found
    """

    encoder: str | None = None
    loss: Literal["infonce", "triplet"] = "infonce"
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.05
    margin: Annotated[float, Field(gt=0, le=2)] = 0.2
    alike: Annotated[float, Field(ge=-1, le=1)] = 0.9
    hard: Annotated[Whole, Field(ge=0, le=16)] = 0


class Identity(Group):
    """How `identity` learns to tell persons apart.

    Attributes
    ----------
    by : body: lengths of bones and how they move; style: how they move, as if all had the same body
    temperature : how sharply cosines are told apart
    clips : of each person in a batch
    """

    by: Literal["body", "style"] = "body"
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.1
    clips: Annotated[Whole, Field(ge=2, le=64)] = 4


class Attribute(Group):
    """What `attribute` measures by: motion, or captions beside numbers."""

    given: Literal["motion", "captions"] = "motion"


class Motion(Group):
    """How `motion` learns: the share of clips that it is shown without their caption, so that captions can be weighed later."""

    untold: Share = 0.1


class Text(Group):
    """How `text` learns.

    Attributes
    ----------
    goal : pairs: to find captions of the same scene; families: to tell which families of actions a caption tells of
    encoder : that it begins with: a name, or a folder of a model of sentence-transformers, or of a run of this task
    temperature : how sharply cosines are told apart
    pairs : of captions of a clip that are shown at most; null: all
    hard : captions that differ in one statement, for each caption of a pair
    """

    goal: Literal["pairs", "families"] = "pairs"
    encoder: str = "all-MiniLM-L6-v2"
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.05
    pairs: Annotated[Whole, Field(ge=1)] | None = None
    hard: Annotated[Whole, Field(ge=0, le=2)] = 1


class Settings(Group):
    """Everything that a user may choose about a training run.

    Attributes
    ----------
    seed : whole number that all draws of the run start from
    steps : how many
    batch : clips in a step, whatever the machine
    """

    seed: Annotated[Whole, Field(ge=0, le=2**63 - 1)] = 0
    steps: Annotated[Whole, Field(ge=1)] = 1000
    batch: Annotated[Whole, Field(ge=1)] = 32
    model: Model = Model()
    data: Data = Data()
    optimiser: Optimiser = Optimiser()
    checks: Checks = Checks()
    machine: Machine = Machine()
    memory: Memory = Memory()
    saving: Saving = Saving()
    adapter: Adapter = Adapter()
    contrast: Contrast = Contrast()
    identity: Identity = Identity()
    attribute: Attribute = Attribute()
    motion: Motion = Motion()
    text: Text = Text()
    log: tuple[Literal["tensorboard", "wandb"], ...] = ("tensorboard",)

    def as_data(self) -> dict[str, Any]:
        """Give the settings as plain data."""
        return self.model_dump(mode="json")


def warm_up(settings: Settings) -> int:
    """Count the steps in which the rate rises."""
    return max(1, round(settings.steps * settings.optimiser.warmup))


def logged_every(settings: Settings) -> int:
    """Tell every how manieth step is logged, so that a curve has a thousand points at most."""
    return max(1, -(-settings.steps // _MOST_POINTS))


def training_presets() -> dict[str, Path]:
    """List the presets of training runs by name."""
    folder = presets()["default"].parent / "train"
    return {file.stem: file for file in sorted(folder.glob("*.yaml")) if file.stem != "base"}


def load_settings(preset: str = "quick", overrides: Sequence[str] = (), task: str = "") -> Settings:
    """Load the settings of a run.

    Parameters
    ----------
    preset : str
        Name of a preset, or path of a YAML file.
    overrides : sequence of str
        Each ``KEY=VALUE``, such as ``machine.threads=1``.
    task : str
        What a preset says of this task alone is laid over it.

    Returns
    -------
    Settings

    Raises
    ------
    UsageError
        With one line for each problem.

    Examples
    --------
    >>> load_settings("quick", ["steps=10"]).steps
    10
    """
    known = training_presets()
    path = known.get(preset, Path(preset))
    if preset not in known and not path.is_file():
        guess = did_you_mean(preset, known)
        msg = f"unknown preset {shown(preset)}, and no file of that name{guess}. There are: {', '.join(known)}"
        raise UsageError(msg)
    folder = presets()["default"].parent / "train"
    base, own = (read_yaml(file) or {} for file in (folder / "base.yaml", path))
    of_task = folder / task / f"{preset}.yaml"
    if task and preset in known and of_task.is_file():
        own = _over(own, read_yaml(of_task))
    data, origins = apply_overrides(_over(base, own), overrides)

    def where(key: str) -> str:
        setters = [other for other in origins if key == other or key.startswith(f"{other}.") or other.startswith(f"{key}.")]
        return origins[max(setters, key=len)] if setters else f"{path}: "

    return validated(Settings, data, where)


def _over(base: Any, own: Any) -> Any:
    """Lay one nested mapping over another."""
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return {**base, **{key: _over(base.get(key), value) for key, value in own.items()}}
