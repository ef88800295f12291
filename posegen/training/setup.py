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
from posegen.dataset.header import is_dataset
from posegen.dataset.layout import HEADER_FILE
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import SPLITS, in_split, split_groups
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.table_files import TABLES
from posegen.embedding.models import DEFAULT
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.library.load import load_library
from posegen.mocap.sources import holds_clips
from posegen.training.data import feature_cache, features, identities, own_clips, sources, together
from posegen.training.data.body_shape import shape_of
from posegen.training.data.captions import FreshCaptions, OwnCaptions, encoder_of, open_captions
from posegen.training.encoder import add_adapters, merge_adapters, trainable_weights
from posegen.training.run_folder import write_tensors
from posegen.training.settings import Contrast, Data, Settings
from posegen.training.task import Task, find_task
from posegen.training.trained_models import TrainedModel, build_model, load_model

_OWN_FIELDS = {"joints", "action", "imu"}
"""Arrays that a user's clips can have."""
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
    additions : callable or None
        Adds captions to clips, for tasks that take them.
    by_identity : Settings or None
        Settings of a task that compares identities; None for all other tasks.
    people : Identities or None
        Identities of a user's clips, where they are known.
    notes : tuple of str
        What the user should know about the data, such as clips that are left out.
    generated : Generated or None
        Generated clips that train the model beside a user's own.
    clips : OwnClips or None
        A user's own clips.
    chosen : mapping of str to int64 [n], or None
        Samples of each split, in place of those that groups or a hash decide.
    """

    name: str
    identity: str
    seed: int
    samples: int
    view: features.View
    origin: sources.Origin
    dataset: Dataset | None = None
    groups: Array | None = None
    categories: Array | None = None
    additions: sources.Additions | None = None
    by_identity: Settings | None = None
    people: identities.Identities | None = None
    notes: tuple[str, ...] = ()
    generated: together.Generated | None = None
    clips: own_clips.OwnClips | None = None
    chosen: Mapping[str, Array] | None = None

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
                If the captions are not embedded.
        """
        if self.groups is not None:
            return self._with_own_captions(contrast)
        if self.dataset is not None:
            captions = open_captions(self.dataset.path, self.dataset.header.shard, contrast.encoder)
            embeddings = captions.embeddings
            view = replace(self.view, text_encoder=embeddings.encoder, text_dimension=embeddings.dimension)
            return replace(self, additions=captions, view=view)
        name = contrast.encoder or DEFAULT
        encoder = encoder_of(name)
        view = replace(self.view, text_encoder=encoder.name, text_dimension=encoder.dimension)
        # Another encoder gives other embeddings of the same captions, so a run cannot be resumed with it.
        identity = digest({"config": self.identity, "encoder": encoder.fingerprint})
        return replace(self, additions=FreshCaptions(name), view=view, identity=identity)

    def _with_own_captions(self, contrast: Contrast) -> TrainingData:
        """Return a user's clips with their classes as captions, and the captions of generated clips beside them."""
        generated, name = self.generated, contrast.encoder
        if generated is not None:
            captions = open_captions(generated.dataset.path, generated.dataset.header.shard, name)
            generated, name = replace(generated, captions=captions), captions.embeddings.encoder
        encoder = encoder_of(name or DEFAULT)
        assert self.categories is not None, "read_own_clips requires classes"
        texts = tuple(str(word).replace("_", " ") for word in self.categories)
        view = replace(self.view, text_encoder=encoder.name, text_dimension=encoder.dimension)
        identity = digest({"clips": self.identity, "encoder": encoder.fingerprint})
        own = OwnCaptions(name or DEFAULT, texts)
        return replace(self, additions=own, view=view, identity=identity, generated=generated)

    def prepare(self, recipes: Sequence[features.Recipe], report: Callable[[int, int], None]) -> None:
        """Compute recipes that are not cached yet; see :func:`posegen.training.data.feature_cache.fill_cache`."""
        needed = (*recipes, *identities.IDENTITY_RECIPES) if self.by_identity is not None else recipes
        if self.dataset is not None:
            feature_cache.fill_cache(self.dataset, needed, self.view, report)
        if self.generated is not None:
            self.generated.prepare(needed, report)
        if self.by_identity is not None:
            for split in identities.EVALUATED:
                self._identities(self.by_identity).check(split)

    def source(self, recipes: tuple[features.Recipe, ...], split: str) -> sources.ClipSource:
        """Return the clips of a split.

        Raises
        ------
        UsageError
            If the split is empty.
        """
        if self.by_identity is not None:
            known = self._identities(self.by_identity)
            group = None if split in identities.EVALUATED else self.by_identity.identity.clips
            samples = known.in_split(split) if group is None else known.groups(group)
            own, variants = known.arrays_in(split), None if self.dataset is None else identities.TRAINED_VARIANTS
            return sources.ClipSource(self.origin, recipes, self.view, samples, own, group, variants)
        limited = self.dataset is None and split != "training"
        samples = in_split(self.seed, np.arange(min(self.samples, _EVALUATED_SAMPLES) if limited else self.samples), split)
        if self.groups is not None:
            samples = (self.chosen or split_groups(self.groups, self.seed, self.categories))[split]
        if not len(samples):
            msg = f"{self.name}: none of its {self.samples:,} samples is in the {split} split. Generate a few hundred"
            raise UsageError(msg)
        source = sources.ClipSource(self.origin, recipes, self.view, samples, self.additions)
        if self.generated is None or split != "training":
            return source
        return self.generated.beside(source, self.samples)

    def _identities(self, settings: Settings) -> identities.Identities:
        if self.people is not None:
            return replace(self.people, shuffled=settings.data.shuffle_labels)
        assert self.dataset is not None, "checked by with_identities"
        return identities.open_identities(self.dataset, self.view, self.samples, shuffled=settings.data.shuffle_labels)


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
        view = sources.view_of(dataset, data.stride)
        notes = (dataset.note,) if dataset.note else ()
        return TrainingData(
            str(source), header.identity, header.seed, samples, view, sources.cached_origin(dataset), dataset, notes=notes
        )
    require_source(local)
    config = load_config(str(source))
    library = load_library(config.story.library)
    frames, actors = -(-config.frames // data.stride), config.story.actors.max
    view = features.View(frames, config.fps / data.stride, data.stride, tuple(library.actions), actors=actors)
    low, high = SPLITS["training"]
    variants = len(data.variants or config.variants.names)
    # A tenth more than the share of the split, as each sample's split is drawn by itself.
    needed = int(sequences / variants / (high - low) * 1.1) + 10 * config.store.chunk
    identity, samples = config.identity(library), data.samples or needed
    return TrainingData(f"config {config.name}", identity, config.seed, samples, view, sources.config_origin(config))


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
        Folder of the run; None for ``runs/TASK-NAME-PRESET``.
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

    @property
    def run(self) -> Path:
        """Folder of the run."""
        source = to_path(self.source)
        local = storage_of(source).local
        name = source.resolve().name if local is None or local.is_dir() else Path(self.source).stem
        return self.out or Path("runs") / f"{self.task}-{name}-{Path(self.preset).stem}"


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
            add_adapters(model.encoder, self.settings.adapter.rank)
        return model

    def make_trained_model(self, weights: Mapping[str, Tensor], run: Path) -> nn.Module:
        """Return the model with trained weights; write adapters to a file of the run and merge them into the model."""
        model = self.make_model()
        model.load_state_dict(weights)
        if self.settings.adapter.rank is not None:
            write_tensors(run / ADAPTER, trainable_weights(model))
            merge_adapters(model.encoder)
        return model  # type: ignore[no-any-return]


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
    initial = _initial_model(settings, request.init)
    view = None if initial is None else initial.view
    data = _open_data(request, view, task)
    if data.groups is None and settings.table.label is not None:
        raise UsageError(f"{request.source}: --label names a column of your own table or clips. Remove it")
    if data.groups is None and settings.together.dataset is not None:
        raise UsageError(f"{request.source}: --with adds generated clips to your own clips, and this is a dataset or a config")
    if data.groups is not None and {field for recipe in task.recipes for field in recipe.fields} - _OWN_FIELDS:
        hint = "Import the clips as actions, posegen import, and train on a dataset that is generated from them"
        if task.name == "attribute":
            hint = "Name a column of a table beside the clips with --label"
        raise UsageError(f"{request.source}: the task {task.name} needs annotations that these clips do not have. {hint}")
    if not task.reading.by_actor and not task.reading.scene_recipes:
        data = replace(data, view=replace(data.view, actors=1))
    task = task.reading_actors(data.view.actors)
    if task.reading.by_identity:
        data = data.with_identities(settings)
    if task.reading.takes_captions:
        data = data.with_captions(settings.contrast)
    setup = Setup(task, data, settings, None if initial is None else initial.model.state_dict())
    return setup if data.groups is None else _fit_to_few(setup)


def _fit_to_few(setup: Setup) -> Setup:
    """Return the setup with batches that a user's clips fill, and with warnings if they are few.

    Raises
    ------
    UsageError
        If a split would have no clip.
    """
    data, settings, notes = setup.data, setup.settings, list[str]()
    assert data.groups is not None, "checked by open_setup"
    if setup.task.reading.by_identity:
        most = data.source(setup.task.recipes, "training").samples // settings.identity.clips * settings.identity.clips
    else:
        splits = split_groups(data.groups, data.seed, data.categories)
        test, validation, most = (len(splits[split]) for split in SPLITS)
        if not (test and validation and most):
            problem = f"has {len(np.unique(data.groups))} groups of clips, and each of the three splits needs one"
            raise UsageError(f"{data.name}: {problem}. Add clips")
        if min(test, validation) < _ENOUGH_EVALUATED:
            notes.append(
                f"warning: {data.name} has {len(data.groups):,} clips: {most:,} train, {validation:,} select the weights, and "
                f"{test:,} test the model. One clip is {100 / test:.1f} % of the test, so small differences are chance"
            )
    if data.generated is not None:
        return replace(setup, data=replace(data, notes=(*data.notes, *notes)))
    if most < settings.batch:
        notes.append(f"warning: batches of {most} instead of {settings.batch}, since only {most} clips train")
    fitted = settings.model_copy(update={"batch": min(settings.batch, most)})
    return replace(setup, settings=fitted, data=replace(data, notes=(*data.notes, *notes)))


def _open_data(request: Request, model_view: features.View | None, task: Task) -> TrainingData:
    """Open the training data; the view of the initial model, if there is one, defines how a user's clips are seen."""
    path, settings, by_subject = storage_of(to_path(request.source)).local, request.settings, task.reading.by_identity
    is_own = path is not None and (path.suffix == ".npz" or holds_clips(path))
    if path is None or (not is_own and (model_view is None or (path / HEADER_FILE).exists() or not path.is_dir())):
        return open_training_data(request.source, settings.data, settings.steps * settings.batch)
    stride, added = settings.data.stride, settings.together.dataset
    dataset = None if added is None else _open_generated(added, task)
    fps = (FOLDER_FPS if dataset is None else dataset.header.fps) / stride
    model_view = model_view or features.View(0, fps, stride, ())
    if dataset is not None and abs(model_view.fps - fps) > 1e-3 * fps:
        raise UsageError(f"{added}: {fps * stride:g} frames per second; the model of --init has {model_view.fps * stride:g}")
    read = own_clips.read_own_readings if "imu" in task.recipes[0].fields else own_clips.read_own_clips
    clips = read(path, model_view.fps * model_view.stride, by_subject=by_subject, label=settings.table.label)
    frames = -(-max(len(clip) for clip in clips.joints) // model_view.stride)
    view = features.View(frames, model_view.fps, model_view.stride, tuple(sorted(set(clips.words))))
    data = TrainingData(
        str(path), clips.identity, 0, len(clips.words), view, clips.origin(), groups=clips.groups,
        categories=None if by_subject else np.array(clips.words), notes=clips.notes, clips=clips,
    )  # fmt: skip
    if dataset is not None:
        return _with_generated(data, clips, dataset, request)
    if not by_subject:
        return data
    people, warning = identities.identities_of_clips(path, clips.joints, clips.subjects)
    return replace(data, people=people, notes=data.notes if warning is None else (*data.notes, warning))


def _open_generated(source: str, task: Task) -> Dataset:
    """Open the dataset of --with, for a task that takes one."""
    if task.reading.by_identity:
        raise UsageError(f"--with: the task {task.name} compares the persons of one source. Remove it, or use --init")
    if not is_dataset(to_path(source)):
        raise UsageError(f"--with {source}: there is no dataset. Generate one: posegen generate --config NAME --out {source}")
    return open_dataset(to_path(source))


def _with_generated(data: TrainingData, clips: own_clips.OwnClips, dataset: Dataset, request: Request) -> TrainingData:
    """Return a user's clips with the generated clips that train beside them."""
    settings, labels = request.settings, request.settings.together.labels
    view, words, notes = sources.view_of(dataset, settings.data.stride), data.view.actions, list[str]()
    names, found = words, dict[str, str]()
    if any(recipe.name == features.ACTION.name for recipe in find_task(request.task).recipes):
        shown = together.shown_actions(dataset, view)
        found = together.read_class_map(labels, words, view.actions, shown)
        others = [name for name in shown if name not in found and name not in words]
        lacking = sorted({*words} - {*found.values()})
        names, found = (*words, *others), found | {name: name for name in others}
        notes.append(f"{dataset.path}: {len(words) - len(lacking)} of {len(words)} classes, and {len(others)} other actions")
        notes += [f"without generated clips: {', '.join(lacking)}"] if lacking else []
    elif labels is not None:
        raise UsageError(f"--labels-map has no effect on the task {request.task}, which does not read classes. Remove it")
    numbers = [names.index(found[name]) if name in found else features.ABSENT for name in view.actions]
    training = split_groups(clips.groups, data.seed, data.categories)["training"].tolist()
    on_joints = settings.together.skeleton and clips.field == "joints"
    generated = together.Generated(
        dataset,
        view,
        np.array([*numbers, features.ABSENT], np.int16),
        shape_of([clips.joints[i] for i in training]) if on_joints else None,
        settings,
    )
    identity = digest([data.identity, dataset.header.identity, len(dataset), found])
    seen = replace(data.view, actions=names, predicted=len(words))
    return replace(data, identity=identity, view=seen, generated=generated, notes=(*data.notes, *notes))


def _initial_model(settings: Settings, init: Path | None) -> TrainedModel | None:
    """Return the model of the run that initialises the new one, after checking that it fits the settings; None without one."""
    if init is None:
        if settings.adapter.rank is not None:
            raise UsageError("adapters need a trained model: name its run with --init")
        return None
    trained = load_model(init)
    size, stride = trained.settings.size, trained.view.stride
    if (size, stride) != (settings.model.size, settings.data.stride):
        hint = f"--set model.size={size} --set data.stride={stride}"
        msg = f"{init}: the model has size {size} and a stride of {stride} frames, other than the settings. Use {hint}"
        raise UsageError(msg)
    return trained
