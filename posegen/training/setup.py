"""Open what a training run needs: the task, its training data, divided into splits, and the first weights of its model.

The steps of the run are the matter of :mod:`posegen.training.loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posegen.config.identity import digest
from posegen.config.load import load_config, require_source
from posegen.dataset.clip_files import FOLDER_FPS
from posegen.dataset.layout import HEADER_FILE, ROWS
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import SPLITS, in_split, split_groups
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.table_files import TABLES
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.quantities import human_bytes
from posegen.library.load import load_library
from posegen.mocap.sources import holds_clips
from posegen.training.data.captions import Captions, CaptionSampler, FreshCaptions, encoder_of, open_captions
from posegen.training.data.feature_cache import fill_cache
from posegen.training.data.features import Recipe, View
from posegen.training.data.identities import (
    EVALUATED,
    IDENTITY_RECIPES,
    TRAINED_VARIANTS,
    Identities,
    identities_of_clips,
    open_identities,
)
from posegen.training.data.labels import Label, encode_label, fit_label, label_notes, parse_labels
from posegen.training.data.own_clips import OwnClips, read_own_clips
from posegen.training.data.sources import ClipSource, Origin, cached_origin, config_origin, view_of
from posegen.training.data.tokens import caption_tokens
from posegen.training.models.encoder import add_adapters, merge_adapters, trainable_weights
from posegen.training.run_folder import write_tensors
from posegen.training.settings import Contrast, Data, Settings, Table
from posegen.training.task import Task, find_task
from posegen.training.trained_models import TrainedModel, build_model, load_model

_ENOUGH_EVALUATED = 50
_EVALUATED_SAMPLES = 5000
"""Samples of a config from which validation and test are taken."""


@dataclass(frozen=True)
class TrainingData:
    """Data that a model is trained on.

    Attributes
    ----------
    name : str
        Name for messages.
    identity : str
    seed : int
        Decides the split of each sample.
    samples : int
        Number of samples, in all splits.
    view : View
    origin : Origin
    dataset : Dataset or None
        The dataset, if it is one.
    groups : int64 [sample], or None
        Group of each of a user's own clips. Splits separate groups.
    categories : str [sample], or None
        Category of each of a user's own clips, where categories are predicted. Splits have some of each.
    captions : Captions, FreshCaptions or None
        For tasks that take embedded captions.
    by_identity : Settings or None
        Settings of a task that compares identities; None for all other tasks.
    caption_sampler : CaptionSampler or None
        For tasks that train a text encoder.
    people : Identities or None
        Identities of a user's clips, where they are known.
    notes : tuple of str
        What the user should know about the data, such as clips that are left out.
    """

    name: str
    identity: str
    seed: int
    samples: int
    view: View
    origin: Origin
    dataset: Dataset | None = None
    groups: Array | None = None
    categories: Array | None = None
    captions: Captions | FreshCaptions | None = None
    by_identity: Settings | None = None
    caption_sampler: CaptionSampler | None = None
    people: Identities | None = None
    notes: tuple[str, ...] = ()

    def with_identities(self, settings: Settings) -> TrainingData:
        """Return the same data divided by identity, with clips of one identity in groups.

        Raises
        ------
        UsageError
            If it is not a dataset: the identities of all samples must be known.
        """
        if self.dataset is None and self.people is None:
            raise UsageError(f"{self.name}: the task needs the identities of all samples. Generate a dataset and train on that")
        return replace(self, by_identity=settings)

    def with_captions(self, contrast: Contrast) -> TrainingData:
        """Return the same data with embedded captions.

        Raises
        ------
        UsageError
            If the captions are not embedded, or there are no hard negatives.
        """
        if self.dataset is not None:
            captions = open_captions(self.dataset.path, self.dataset.header.shard, contrast.encoder, contrast.hard)
            embeddings = captions.embeddings
            view = replace(self.view, text_encoder=embeddings.encoder, text_dimension=embeddings.dimension)
            return replace(self, captions=captions, view=view)
        if contrast.hard:
            hint = "Generate a dataset, or pass --set contrast.hard=0"
            msg = f"{self.name}: contrast.hard is {contrast.hard}, but hard negatives are mined from a dataset. {hint}"
            raise UsageError(msg)
        name = contrast.encoder or DEFAULT
        encoder = encoder_of(name)
        view = replace(self.view, text_encoder=encoder.name, text_dimension=encoder.dimension)
        # Another encoder gives other embeddings of the same captions, so a run cannot be resumed with it.
        identity = digest({"config": self.identity, "encoder": encoder.fingerprint})
        return replace(self, captions=FreshCaptions(name), view=view, identity=identity)

    def prepare(self, recipes: Sequence[Recipe], report: Callable[[int, int], None]) -> int:
        """Compute recipes that are not cached yet; see :func:`posegen.training.data.feature_cache.fill_cache`."""
        needed = (*recipes, *IDENTITY_RECIPES) if self.by_identity is not None else recipes
        done = 0 if self.dataset is None else fill_cache(self.dataset, needed, self.view, report)
        if self.by_identity is None:
            return done
        for split in EVALUATED:
            self._identities(self.by_identity).check(split)
        return done

    def source(self, recipes: tuple[Recipe, ...], split: str) -> ClipSource:
        """Return the clips of a split.

        Raises
        ------
        UsageError
            If the split is empty.
        """
        if self.by_identity is not None:
            identities = self._identities(self.by_identity)
            group = None if split in EVALUATED else self.by_identity.identity.clips
            samples = identities.in_split(split) if group is None else identities.groups(group)
            own, variants = identities.arrays_in(split), None if self.dataset is None else TRAINED_VARIANTS
            return ClipSource(self.origin, recipes, self.view, samples, identities=own, group=group, only_variants=variants)
        samples = self._samples_in(split)
        if not len(samples):
            msg = f"{self.name}: none of its {self.samples:,} samples is in the {split} split. Generate a few hundred"
            raise UsageError(msg)
        sampler = self.caption_sampler
        return ClipSource(self.origin, recipes, self.view, samples, self.captions, caption_sampler=sampler)

    def _identities(self, settings: Settings) -> Identities:
        if self.people is not None:
            return replace(self.people, shuffled=settings.data.shuffle_labels)
        assert self.dataset is not None, "checked by with_identities"
        return open_identities(self.dataset, self.view, self.samples, shuffled=settings.data.shuffle_labels)

    def _samples_in(self, split: str) -> Array:
        if self.groups is not None:
            return split_groups(self.groups, self.seed, self.categories)[split]
        limited = self.dataset is None and split != "training"
        return in_split(self.seed, np.arange(min(self.samples, _EVALUATED_SAMPLES) if limited else self.samples), split)


def open_training_data(source: str | AnyPath, data: Data, sequences: int) -> TrainingData:
    """Open a dataset or load a config.

    Parameters
    ----------
    source : str, Path or BucketPath
        Folder or address of a dataset, name of a preset, or path of a YAML file.
    data : Data
    sequences : int
        Number of sequences that the run trains on. A config gets enough samples that no sequence is repeated.

    Raises
    ------
    UsageError
        If there is neither a dataset nor a config.
    """
    path = to_path(source)
    local = storage_of(path).local
    if local is None or (local / HEADER_FILE).is_file() or local.is_dir():
        dataset = open_dataset(path)
        header = dataset.header
        samples = len(dataset) if data.samples is None else min(data.samples, len(dataset))
        view = view_of(dataset, data.stride)
        return TrainingData(str(source), header.identity, header.seed, samples, view, cached_origin(dataset), dataset)
    require_source(local)
    config = load_config(str(source))
    library = load_library(config.story.library)
    frames, actors = -(-config.frames // data.stride), config.story.actors.max
    view = View(frames, config.fps / data.stride, data.stride, tuple(library.actions), actors=actors)
    low, high = SPLITS["training"]
    variants = len(data.variants or config.variants.names)
    # A tenth more than the share of the split, as each sample's split is drawn by itself.
    needed = int(sequences / variants / (high - low) * 1.1) + 10 * config.store.chunk
    identity, samples = config.identity(library), data.samples or needed
    return TrainingData(f"config {config.name}", identity, config.seed, samples, view, config_origin(config))


ADAPTER = "adapter.safetensors"


@dataclass(frozen=True)
class Request:
    """A request to train a model.

    Attributes
    ----------
    source : str
        Path or address of a dataset, path of a user's clips, or name or path of a config.
    task, preset : str
    settings : Settings
    out : Path or None
        Folder of the run; None for :func:`posegen.training.train.default_run`.
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


def _small_data_notes(name: str, splits: Mapping[str, Array], groups: Array, batch: int, kind: str) -> tuple[str, ...]:
    """Return warnings about a user's data that are too few for the usual splits or batches.

    Raises
    ------
    UsageError
        If a split would have no sample.
    """
    if not all(len(samples) for samples in splits.values()):
        problem = f"has {len(np.unique(groups))} groups of {kind}, and each of the three splits needs one"
        raise UsageError(f"{name}: {problem}. Add {kind}, or another table.group")
    test, validation, training = (len(splits[split]) for split in SPLITS)
    notes = []
    if min(test, validation) < _ENOUGH_EVALUATED:
        notes.append(
            f"warning: {name} has {len(groups):,} {kind}: {training:,} train, {validation:,} select the weights, and {test:,} "
            f"test the model. One {kind.removesuffix('s')} is {100 / test:.1f} % of the test, so small differences are chance"
        )
    if training < batch:
        notes.append(f"warning: batches of {training} instead of {batch}, since only {training} {kind} train")
    return tuple(notes)


def open_setup(request: Request) -> Setup:
    """Open the dataset, config or clips of a request, for its task.

    Raises
    ------
    UsageError
        If the parts of the request do not fit each other.
    """
    settings, local = request.settings, storage_of(to_path(request.source)).local
    if local is not None and local.suffix.lower() in TABLES:
        raise UsageError(f"{request.source}: a table is trained by posegen.tables.run.train_table, not by this function")
    task = find_task(request.task).configured(settings)
    is_labelled = settings.table.label is not None and task.forms.labelled is not None and task.abilities.takes_motion
    initial = _initial_model(task, settings, request.init)
    view = None if initial is None else initial.view
    data = _open_data(request, view, by_subject=task.reading.by_identity, by_label=is_labelled)
    if data.groups is None and settings.table.label is not None:
        raise UsageError(f"{request.source}: --label names a column of your own table or clips. Remove it")
    if is_labelled and task.forms.labelled is not None:
        task = task.forms.labelled(data.view)
    if data.groups is not None and (task.reading.takes_captions or any(ROWS in recipe.fields for recipe in task.recipes)):
        hint = "Import the clips as actions, posegen import, and train on a dataset that is generated from them"
        if task.abilities.takes_motion and task.forms.labelled is not None:
            hint = "Name a column of a table beside the clips with --label"
        raise UsageError(f"{request.source}: the task {task.name} needs annotations that these clips do not have. {hint}")
    if not task.reading.by_actor and not task.reading.scene_recipes:
        data = replace(data, view=replace(data.view, actors=1))
    task = task.reading_actors(data.view.actors)
    if task.reading.by_identity:
        data = data.with_identities(settings)
    if task.reading.takes_captions:
        data = data.with_captions(settings.contrast)
    if task.reading.caption_sampler is not None:
        task, data = _with_tokens(task, data, settings)
    setup = Setup(task, data, settings, None if initial is None else initial.model.state_dict())
    return setup if data.groups is None else _fit_to_few(setup)


def _fit_to_few(setup: Setup) -> Setup:
    """Return the setup with batches that a user's clips fill, and with warnings if they are few."""
    data, settings = setup.data, setup.settings
    assert data.groups is not None, "checked by open_setup"
    if not setup.task.reading.by_identity:
        splits = split_groups(data.groups, data.seed, data.categories)
        notes = _small_data_notes(data.name, splits, data.groups, settings.batch, "clips")
        most = len(splits["training"])
    else:
        most = data.source(setup.task.recipes, "training").samples // settings.identity.clips * settings.identity.clips
        notes = ()
        if most < settings.batch:
            notes = (f"warning: batches of {most} instead of {settings.batch}, since only {most} clips train",)
    fitted = settings.model_copy(update={"batch": min(settings.batch, most)})
    return replace(setup, settings=fitted, data=replace(data, notes=(*data.notes, *notes)))


def _open_data(request: Request, model_view: View | None, *, by_subject: bool, by_label: bool) -> TrainingData:
    """Open the training data; the view of the initial model, if there is one, defines how a user's clips are seen."""
    path, settings = storage_of(to_path(request.source)).local, request.settings
    is_own = path is not None and (path.suffix == ".npz" or holds_clips(path))
    if path is None or (not is_own and (model_view is None or (path / HEADER_FILE).exists() or not path.is_dir())):
        return open_training_data(request.source, settings.data, settings.steps * settings.batch)
    stride = settings.data.stride
    model_view = model_view or View(0, FOLDER_FPS / stride, stride, ())
    label = settings.table.label
    clips = read_own_clips(path, model_view.fps * model_view.stride, by_subject=by_subject, label=label)
    frames = -(-max(len(clip) for clip in clips.joints) // model_view.stride)
    view = View(frames, model_view.fps, model_view.stride, tuple(sorted(set(clips.words))))
    data = TrainingData(
        str(path), clips.identity, 0, len(clips.words), view, clips.origin(), groups=clips.groups,
        categories=None if by_subject else np.array(clips.words), notes=clips.notes,
    )  # fmt: skip
    if by_label:
        return _with_label(data, clips, settings.table)
    if not by_subject:
        return data
    people, warning = identities_of_clips(path, clips.joints, clips.subjects)
    return replace(data, people=people, notes=data.notes if warning is None else (*data.notes, warning))


def _with_label(data: TrainingData, clips: OwnClips, table: Table) -> TrainingData:
    """Return a user's clips with the label of each, a number or a category."""
    assert table.label is not None, "checked by open_setup"
    try:
        label, categories = parse_labels(clips.words, table.target)
    except ValueError as error:
        raise UsageError(f"{data.name}: {table.label}: {error}. Correct it, or use --set table.target=category") from error
    known_label = Label(table.label)
    if not categories:
        known_label = fit_label(known_label, label, split_groups(clips.groups, data.seed)["training"])
    target = (label if categories else encode_label(label, known_label)).astype(np.float32)
    labelled = replace(clips, arrays={"target": target})
    view = replace(data.view, actions=(), answers=categories, label=known_label)
    notes = (*data.notes, *label_notes(table.label, label, categories, table.target))
    known = data.categories if categories else None
    return replace(data, view=view, origin=labelled.origin(), categories=known, notes=notes)


def _with_tokens(task: Task, data: TrainingData, settings: Settings) -> tuple[Task, TrainingData]:
    """Return task and data with captions as tokens of the sentence encoder that the task trains."""
    encoder = find_encoder(settings.text.encoder)
    if encoder.folder is None:
        hint = "Use all-MiniLM-L6-v2, or the folder of a sentence-transformers transformer"
        raise UsageError(f"text.encoder={settings.text.encoder}: has no weights that could be trained here. {hint}")
    # An absolute path, since the run may be resumed in another folder.
    name = str(Path(encoder.source).resolve()) if Path(encoder.source).is_dir() else encoder.source
    view = replace(data.view, text_encoder=name, answers=task.abilities.class_names)
    # A run with another initial encoder must not be resumed.
    identity = digest({"data": data.identity, "encoder": encoder.fingerprint})
    data = replace(data, caption_sampler=task.reading.caption_sampler, view=view, identity=identity)
    return replace(task, recipes=(caption_tokens(encoder, settings.text.max_tokens), *task.recipes)), data


def _initial_model(task: Task, settings: Settings, init: Path | None) -> TrainedModel | None:
    """Return the model of the run that initialises the new one, after checking that it fits the settings; None without one."""
    if init is None:
        if settings.adapter.rank is not None and task.reading.caption_sampler is None:
            raise UsageError("adapters need a trained model: name its run with --init")
        return None
    if task.reading.caption_sampler is not None:
        raise UsageError(f"the task {task.name} starts from a sentence encoder, not from --init. Use --set text.encoder={init}")
    trained = load_model(init)
    size, stride = trained.settings.size, trained.view.stride
    if (size, stride) != (settings.model.size, settings.data.stride):
        hint = f"--set model.size={size} --set data.stride={stride}"
        msg = f"{init}: the model has size {size} and a stride of {stride} frames, other than the settings. Use {hint}"
        raise UsageError(msg)
    return trained
