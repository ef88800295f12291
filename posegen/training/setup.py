"""Open what a training run needs: the task, its training data and the first weights of its model.

The steps of the run are the matter of :mod:`posegen.training.loop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load
from torch import Tensor, nn

from posegen.config.identity import digest
from posegen.dataset.layout import HEADER_FILE, ROWS
from posegen.errors import UsageError
from posegen.quantities import human_bytes
from posegen.training.data.training_data import TrainingData, open_own_clips, open_training_data
from posegen.training.model_files import build_model, load_model
from posegen.training.models.encoder import add_adapters, merge_adapters, trainable_weights
from posegen.training.models.text_encoders import find_trainable_encoder
from posegen.training.runs.checkpoints import write_tensors
from posegen.training.runs.folder import WEIGHTS
from posegen.training.settings import Settings
from posegen.training.task import Task, find_task

ADAPTER = "adapter.safetensors"


@dataclass(frozen=True)
class Request:
    """A request to train a model.

    Attributes
    ----------
    source : str
        Path of a dataset or of a user's clips, or name or path of a config.
    task, preset : str
    settings : Settings
    out : Path or None
        Folder of the run; None for :func:`default_run`.
    budget : float or None
        Seconds that the run may take.
    only_estimate : bool
        Estimate the run without training.
    init : Path or None
        Run whose model initialises the new one.
    """

    source: str
    task: str
    preset: str
    settings: Settings
    out: Path | None = None
    budget: float | None = None
    only_estimate: bool = False
    init: Path | None = None


@dataclass(frozen=True)
class Setup:
    """What a training run needs before its first step.

    Attributes
    ----------
    task : Task
    data : TrainingData
    settings : Settings
    weights : dict of str to Tensor, or None
        Weights of another run, copied where the shapes agree; the output layer is fresh if the classes differ.
    """

    task: Task
    data: TrainingData
    settings: Settings
    weights: dict[str, Tensor] | None

    def make_model(self) -> Any:
        """Return a new model, which depends on the seed and the weights only."""
        model: Any = build_model(self.task, self.data.view, self.settings.model, self.settings.seed)
        if self.weights is not None:
            fresh = model.state_dict()
            fitting = {
                name: value for name, value in self.weights.items() if name in fresh and fresh[name].shape == value.shape
            }
            model.load_state_dict({**fresh, **fitting})
        if self.settings.adapter.rank is not None:
            torch.manual_seed(self.settings.seed)
            add_adapters(model.encoder, self.settings.adapter.rank, self.task.adapter_gain)
        return model

    def make_trained_model(self, weights: Mapping[str, Tensor], run: Path) -> nn.Module:
        """Return the model with trained weights; write adapters to a file of the run and merge them into the model."""
        model = self.make_model()
        model.load_state_dict(weights)
        if self.settings.adapter.rank is not None:
            write_tensors(run / ADAPTER, trainable_weights(model))
            merge_adapters(model.encoder)
        return model  # type: ignore[no-any-return]

    def adapter_summary(self) -> str:
        """Return a line with the number of trained weights and the size of the adapters' file."""
        model = self.make_model()
        trained = sum(parameter.numel() for parameter in trainable_weights(model).values())
        total = sum(parameter.numel() for parameter in model.parameters())
        share, size = 100 * trained / total, human_bytes(4 * trained)
        return f"adapters: {trained:,} of {total:,} weights are trained ({share:.0f} %), {size} in {ADAPTER}"


def open_setup(request: Request) -> Setup:
    """Open the dataset, config or clips of a request, for its task.

    Raises
    ------
    UsageError
        If the parts of the request do not fit each other.
    """
    settings = request.settings
    task = find_task(request.task).configured(settings)
    data = _open_data(request)
    if data.own is not None and any(ROWS in recipe.fields for recipe in task.recipes):
        msg = f"{request.source}: the task {task.name} needs annotations that only datasets of posegen have"
        raise UsageError(msg)
    if task.by_identity:
        data = data.with_identities(settings)
    if task.takes_captions:
        data = data.with_captions(settings.contrast)
    if task.caption_sampler is not None:
        data = _with_sentences(data, task, settings)
    return Setup(task, data, settings, _initial_weights(task, settings, request.init))


def _open_data(request: Request) -> TrainingData:
    """Open the training data; a user's clips are allowed only with a model that defines how motion is seen."""
    path, settings = Path(request.source), request.settings
    if request.init is None and path.suffix == ".npz":
        msg = f"{path}: your own clips need a trained model, which defines how motion is seen. Pass --init RUN"
        raise UsageError(msg)
    is_dataset = (path / HEADER_FILE).exists()
    if request.init is None or is_dataset or not (path.is_dir() or path.suffix == ".npz"):
        return open_training_data(request.source, settings.data, settings.steps * settings.batch)
    return open_own_clips(path, load_model(request.init).view)


def _with_sentences(data: TrainingData, task: Task, settings: Settings) -> TrainingData:
    """Return the data with captions as text, for the sentence encoder that the task trains."""
    if data.own is not None:
        msg = f"{data.name}: the clips have class names but no captions. Train on a dataset or a config"
        raise UsageError(msg)
    encoder = find_trainable_encoder(settings.text.encoder)
    # An absolute path, since the run may be resumed in another folder.
    name = str(Path(encoder.source).resolve()) if Path(encoder.source).is_dir() else encoder.source
    view = replace(data.view, text_encoder=name, answers=task.class_names)
    # A run with another initial encoder must not be resumed.
    identity = digest({"data": data.identity, "encoder": encoder.fingerprint})
    return replace(data, caption_sampler=task.caption_sampler, view=view, identity=identity)


def _initial_weights(task: Task, settings: Settings, init: Path | None) -> dict[str, Tensor] | None:
    """Return the weights of the run that initialises the model, after checking that they fit the settings; None without one."""
    if init is None:
        if settings.adapter.rank is not None and task.caption_sampler is None:
            msg = "adapters need a trained model: name its run with --init"
            raise UsageError(msg)
        return None
    if task.caption_sampler is not None:
        msg = f"the task {task.name} starts from a sentence encoder, not from --init. Use --set text.encoder={init}"
        raise UsageError(msg)
    trained = load_model(init)
    size, stride = trained.settings.size, trained.view.stride
    if (size, stride) != (settings.model.size, settings.data.stride):
        hint = f"--set model.size={size} --set data.stride={stride}"
        msg = f"{init}: the model has size {size} and a stride of {stride} frames, other than the settings. Use {hint}"
        raise UsageError(msg)
    return load((init / WEIGHTS).read_bytes())
