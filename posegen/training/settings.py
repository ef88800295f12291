"""Define and load the settings of a training run, checked before anything is read or computed.

A preset is a YAML file that overrides keys of ``configs/train/base.yaml``. Keys of `machine` that are null are chosen in
:mod:`posegen.training.hardware`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from posegen.config.load import apply_overrides, find_config, origin_of_keys, presets
from posegen.config.schema import Flag, Integer
from posegen.foundations.quantities import parse_bytes
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.yaml_files import read_yaml

NOT_CONTENT = {"log", "saving", "machine", "memory"}
"""Groups of settings that do not change the result of a run, and so may change when it is resumed."""
PAIR_PRESETS = ("quick", "balanced", "best")
PAIR_SETTINGS = (
    "seed", "steps", "batch", "optimiser.rate", "optimiser.decay", "optimiser.clip", "optimiser.warmup", "checks.times",
    "checks.clips", "checks.patience", "machine.device", "machine.precision", "machine.threads", "machine.micro_batch",
    "machine.workers", "machine.checkpointing", "saving.seconds", "adapter.rank", "text.encoder", "text.temperature",
    "text.max_tokens",
)  # fmt: skip
"""Presets and settings of ``posegen train --pairs``; others are refused. ``--task text`` also has ``data.samples``."""
WORTH_SETTINGS = ("steps=400", "data.frames=100", "log=[]")
"""What ``posegen worth`` changes in a preset: thirty models are trained."""
_FINAL_RATE = 0.01
"""Learning rate of the last step, relative to the highest."""


def _check_bytes(text: str) -> str:
    parse_bytes(text)
    return text


Number = Annotated[float, Field(ge=0, le=1e6)]
Share = Annotated[float, Field(ge=0, lt=1)]
Part = Annotated[float, Field(ge=0, le=1)]


class Model(StrictModel):
    """The model.

    Attributes
    ----------
    size : number of weights
    dropout : share of activations that are dropped in training
    """

    size: Literal["small", "medium", "large"] = "small"
    dropout: Share = 0.1


class Skeleton(StrictModel):
    """Standard deviations of the variation of skeletons in training.

    Attributes
    ----------
    joints : shift of each joint along each axis, in metres
    size : relative change of all lengths
    """

    joints: Annotated[Number, Field(ge=0, le=0.2)] = 0.03
    size: Annotated[Number, Field(ge=0, le=0.3)] = 0.1


class Data(StrictModel):
    """The training data.

    Attributes
    ----------
    variants : variants of the samples; null: all
    samples : number of samples, from the first; null: all, or for a config as many as are needed to show none twice
    frames : longest stretch of a clip in a step, in frames of the dataset; null: the whole clip
    stride : the model gets every n-th frame
    lanes : windows of clips that take turns in providing batches; as many processes can load, each windows of its own
    skeleton : variation of skeletons from clip to clip, for tasks that do not depend on the skeleton
    shuffle_labels : train on the labels of other clips: a control, which must learn nothing
    """

    variants: tuple[str, ...] | None = None
    samples: Annotated[Integer, Field(ge=1)] | None = None
    frames: Annotated[Integer, Field(ge=8)] | None = None
    stride: Annotated[Integer, Field(ge=1, le=10)] = 2
    lanes: Annotated[Integer, Field(ge=1, le=64)] = 4
    skeleton: Skeleton = Skeleton()
    shuffle_labels: Flag = False

    @property
    def cropped_frames(self) -> int | None:
        """Longest stretch of a clip in a step, in frames of the model; None: the whole clip."""
        return None if self.frames is None else max(1, self.frames // self.stride)


class Optimiser(StrictModel):
    """The optimiser, AdamW.

    Attributes
    ----------
    rate : highest learning rate
    decay : weight decay
    clip : largest norm of the gradient
    warmup : share of the steps in which the learning rate rises
    average : decay of the averaged weights
    """

    rate: Number = 2e-3
    decay: Number = 0.01
    clip: Number = 1.0
    warmup: Share = 0.05
    average: Share = 0.99


class Checks(StrictModel):
    """Checks on the validation split.

    Attributes
    ----------
    times : number of checks in a run
    clips : largest number of clips per check
    patience : end the run after this number of checks without improvement; null: never
    """

    times: Annotated[Integer, Field(ge=1, le=1000)] = 10
    clips: Annotated[Integer, Field(ge=1)] = 1000
    patience: Annotated[Integer, Field(ge=1)] | None = None


class Machine(StrictModel):
    """Use of the machine; posegen chooses what is null.

    Attributes
    ----------
    device : cpu or cuda
    precision : 32-true, bf16-mixed, or 16-mixed with scaled gradients for GPUs without bf16
    threads : CPU threads
    micro_batch : clips per forward pass; gradients of micro-batches are accumulated to those of a batch
    workers : processes that load data
    checkpointing : recompute activations instead of storing them
    """

    device: Literal["cpu", "cuda"] | None = None
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] | None = None
    threads: Annotated[Integer, Field(ge=1, le=1024)] | None = None
    micro_batch: Annotated[Integer, Field(ge=1)] | None = None
    workers: Annotated[Integer, Field(ge=0, le=256)] | None = None
    checkpointing: Flag | None = None


class Memory(StrictModel):
    """Memory.

    Attributes
    ----------
    limit : largest amount that a run may use, such as 4GB; null: what is available
    """

    limit: Annotated[str, AfterValidator(_check_bytes)] | None = None


class Saving(StrictModel):
    """Checkpoints.

    Attributes
    ----------
    seconds : seconds between checkpoints
    steps : steps between checkpoints, instead of seconds
    """

    seconds: Number = 60.0
    steps: Annotated[Integer, Field(ge=1)] | None = None


class Adapter(StrictModel):
    """Low-rank adapters.

    Attributes
    ----------
    rank : rank of adapters that are trained instead of all weights (--lora); null: all weights are trained
    """

    rank: Annotated[Integer, Field(ge=1, le=256)] | None = None


class Contrast(StrictModel):
    """Contrastive loss of the task `retrieval`.

    Attributes
    ----------
    encoder : text encoder whose caption embeddings are used; null: the only one that the dataset has
    temperature : temperature of the loss
    alike : captions with a larger cosine similarity than this may describe each other's motion and are not used as negatives
    """

    encoder: str | None = None
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.05
    alike: Annotated[float, Field(ge=-1, le=1)] = 0.9


class Identity(StrictModel):
    """Contrastive loss of the task `identity`.

    Attributes
    ----------
    by : body: bone lengths and movement; style: movement only, as if all identities had the same body
    temperature : temperature of the loss
    clips : clips of each identity in a batch
    """

    by: Literal["body", "style"] = "body"
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.1
    clips: Annotated[Integer, Field(ge=2, le=64)] = 4


class Motion(StrictModel):
    """Task `motion`.

    Attributes
    ----------
    caption_dropout : share of clips trained without their caption, which classifier-free guidance needs
    """

    caption_dropout: Share = 0.1


class Text(StrictModel):
    """Fine-tuning of a text encoder.

    Attributes
    ----------
    encoder : initial encoder: a name, the folder of a sentence-transformers model, or of a run of this task
    temperature : temperature of the loss
    max_tokens : largest number of tokens of a text; the rest is cut off
    """

    encoder: str = "all-MiniLM-L6-v2"
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.05
    max_tokens: Annotated[Integer, Field(ge=8, le=512)] = 96


class Imu(StrictModel):
    """Task `imu`.

    Attributes
    ----------
    placement : where the sensor is worn; one of the placements of the field imu
    any_mounting : turn the sensor at random in training, for real sensors whose axes are not those of the placement
    """

    placement: str = "right_wrist"
    any_mounting: Flag = True


class Together(StrictModel):
    """Generated clips in a run on real ones.

    Attributes
    ----------
    dataset : dataset with the generated clips (--with); null: none
    ratio : real clips to generated ones in the steps that have both (--ratio)
    first : share of the steps, the first ones, that have generated clips alone
    last : share of the steps, the last ones, that have real clips alone
    labels : name of a published dataset, or YAML file with the actions of each class (--labels-map); null: equal names
    skeleton : show generated clips on the skeleton of the real ones
    """

    dataset: str | None = None
    ratio: Annotated[str, Field(pattern=r"^[1-9]\d{0,3}:[1-9]\d{0,3}$")] = "1:4"
    first: Part = 0.3
    last: Part = 0.3
    labels: str | None = None
    skeleton: Flag = True

    @model_validator(mode="after")
    def _leaves_no_step_twice(self) -> Self:
        if self.first + self.last > 1:
            raise ValueError(f"first and last are shares of the steps and add up to {self.first + self.last:g}; at most 1")
        return self


class Table(StrictModel):
    """The classes or subjects of a user's clips, in a table beside them.

    Attributes
    ----------
    label : column of the table (--label)
    """

    label: str | None = None


class Settings(StrictModel):
    """Settings of a training run.

    Attributes
    ----------
    seed : random seed
    steps : number of steps
    batch : clips per step, on every machine
    log : where curves are logged
    """

    seed: Annotated[Integer, Field(ge=0, le=2**63 - 1)] = 0
    steps: Annotated[Integer, Field(ge=1)] = 1000
    batch: Annotated[Integer, Field(ge=1)] = 32
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
    motion: Motion = Motion()
    text: Text = Text()
    table: Table = Table()
    imu: Imu = Imu()
    together: Together = Together()
    log: tuple[Literal["tensorboard", "wandb"], ...] = ("tensorboard",)


def learning_rate(step: int, settings: Settings) -> float:
    """Return the learning rate of a step of a round: a linear warm-up, then a cosine decay."""
    warmup = max(1, round(settings.steps * settings.optimiser.warmup))
    share = min(1.0, max(0, step - warmup) / max(1, settings.steps - warmup))
    decay = _FINAL_RATE + (1 - _FINAL_RATE) * 0.5 * (1 + math.cos(math.pi * share))
    return settings.optimiser.rate * min(1.0, (step + 1) / warmup) * decay


def training_presets() -> dict[str, Path]:
    """Return the files of the training presets by name."""
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
        Name of the task; settings that the preset has for this task override the preset.

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
    path = find_config(preset, known)
    folder = presets()["default"].parent / "train"
    base, values = (read_yaml(file) or {} for file in (folder / "base.yaml", path))
    for_task = folder / task / f"{preset}.yaml"
    if task and preset in known and for_task.is_file():
        values = _merge(values, read_yaml(for_task))
    data, origins = apply_overrides(_merge(base, values), overrides)
    return validated(Settings, data, origin_of_keys(path, origins))


def _merge(base: Any, values: Any) -> Any:
    """Return a nested mapping with the values of another one in place of its own."""
    if not isinstance(base, dict) or not isinstance(values, dict):
        return values
    return {**base, **{key: _merge(base.get(key), value) for key, value in values.items()}}
