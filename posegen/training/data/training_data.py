"""Training data: a dataset, a config whose samples are synthesised during training, or own clips, divided into splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from posegen.arrays import Array
from posegen.config.identity import digest
from posegen.config.load import load_config
from posegen.dataset.batches import WINDOW, Batches, make_batches
from posegen.dataset.layout import HEADER_FILE
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import SPLITS, in_split
from posegen.embedding.models import DEFAULT
from posegen.errors import UsageError
from posegen.library.load import load_library
from posegen.training.data.cache import prepare, view_of
from posegen.training.data.captions import Captions, CaptionSampler, FreshCaptions, encoder_of, open_captions
from posegen.training.data.features import Recipe, View
from posegen.training.data.identities import EVALUATED, IDENTITY_RECIPES, TRAINED_VARIANTS, Identities, open_identities
from posegen.training.data.sources import ClipSource, Origin, OwnClips, cached_origin, config_origin, own_origin, read_own_clips
from posegen.training.settings import Contrast, Data, Settings

LANES = 4
"""Windows that consecutive batches alternate between, so that up to four loading processes work on different ones."""

_EVALUATED_SAMPLES = 5000
"""Samples of a config from which validation and test are taken."""
_STATISTICS_SAMPLES = 1000


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
    own : OwnClips or None
        The clips, if they are a user's own.
    captions : Captions, FreshCaptions or None
        For tasks that take embedded captions.
    by_identity : Settings or None
        Settings of a task that compares identities; None for all other tasks.
    caption_sampler : CaptionSampler or None
        For tasks that train a text encoder.
    """

    name: str
    identity: str
    seed: int
    samples: int
    view: View
    origin: Origin
    dataset: Dataset | None = None
    own: OwnClips | None = None
    captions: Captions | FreshCaptions | None = None
    by_identity: Settings | None = None
    caption_sampler: CaptionSampler | None = None

    def with_identities(self, settings: Settings) -> TrainingData:
        """Return the same data divided by identity, with clips of one identity in groups.

        Raises
        ------
        UsageError
            If it is not a dataset: the identities of all samples must be known.
        """
        if self.dataset is None:
            msg = f"{self.name}: the task needs the identities of all samples. Generate a dataset and train on that"
            raise UsageError(msg)
        return replace(self, by_identity=settings)

    def with_captions(self, contrast: Contrast) -> TrainingData:
        """Return the same data with embedded captions.

        Raises
        ------
        UsageError
            If there are no captions, or they are not embedded.
        """
        if self.dataset is None:
            return self._with_fresh_captions(contrast)
        captions = open_captions(self.dataset.path, self.dataset.header.shard, contrast.encoder, contrast.hard)
        embeddings = captions.embeddings
        view = replace(self.view, text_encoder=embeddings.encoder, text_dimension=embeddings.dimension)
        return replace(self, captions=captions, view=view)

    def _with_fresh_captions(self, contrast: Contrast) -> TrainingData:
        if self.own is not None:
            msg = f"{self.name}: own clips have no captions. Train on a dataset or a config"
            raise UsageError(msg)
        if contrast.hard:
            hint = "Generate a dataset, or pass --set contrast.hard=0"
            msg = f"{self.name}: contrast.hard is {contrast.hard}, but hard negatives are mined from a dataset. {hint}"
            raise UsageError(msg)
        encoder = encoder_of(contrast.encoder or DEFAULT)
        view = replace(self.view, text_encoder=encoder.name, text_dimension=encoder.dimension)
        # Another encoder gives other embeddings of the same captions, so a run cannot be resumed with it.
        identity = digest({"config": self.identity, "encoder": encoder.fingerprint})
        return replace(self, captions=FreshCaptions(contrast.encoder or DEFAULT), view=view, identity=identity)

    def prepare(self, recipes: Sequence[Recipe], report: Callable[[int, int], None]) -> int:
        """Compute recipes that are not cached yet; see :func:`posegen.training.data.cache.prepare`."""
        if self.dataset is None:
            return 0
        if self.by_identity is None:
            return prepare(self.dataset, recipes, self.view, report)
        done = prepare(self.dataset, (*recipes, *IDENTITY_RECIPES), self.view, report)
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
            own = identities.arrays_in(split)
            return ClipSource(
                self.origin, recipes, self.view, samples, identities=own, group=group, only_variants=TRAINED_VARIANTS
            )
        samples = self._samples_in(split)
        if not len(samples):
            msg = f"{self.name}: none of its {self.samples:,} samples is in the {split} split. Generate a few hundred"
            raise UsageError(msg)
        sampler = self.caption_sampler
        return ClipSource(self.origin, recipes, self.view, samples, self.captions, caption_sampler=sampler)

    def _identities(self, settings: Settings) -> Identities:
        assert self.dataset is not None
        shards = -(-self.samples // self.dataset.header.shard)
        shuffled = settings.data.shuffle_labels
        return open_identities(self.dataset.path, self.view, shards, self.samples, self.seed, shuffled=shuffled)

    def _samples_in(self, split: str) -> Array:
        if self.own is not None:
            groups = self.own.groups
            return np.flatnonzero(np.isin(groups, in_split(self.seed, np.arange(groups.max() + 1), split)))
        limited = self.dataset is None and split != "training"
        return in_split(self.seed, np.arange(min(self.samples, _EVALUATED_SAMPLES) if limited else self.samples), split)


def open_training_data(source: str | Path, data: Data, sequences: int, overrides: Sequence[str] = ()) -> TrainingData:
    """Open a dataset or load a config.

    Parameters
    ----------
    source : str or Path
        Folder of a dataset, name of a preset, or path of a YAML file.
    data : Data
    sequences : int
        Number of sequences that the run trains on. A config gets enough samples that no sequence is repeated.
    overrides : sequence of str
        Overrides of the config.

    Raises
    ------
    UsageError
        If there is neither a dataset nor a config.
    """
    if (Path(source) / HEADER_FILE).is_file() or Path(source).is_dir():
        dataset = open_dataset(source)
        header = dataset.header
        samples = len(dataset) if data.samples is None else min(data.samples, len(dataset))
        view = view_of(dataset, data.stride)
        return TrainingData(str(source), header.identity, header.seed, samples, view, cached_origin(dataset), dataset)
    config = load_config(str(source), overrides)
    library = load_library(config.story.library)
    view = View(-(-config.frames // data.stride), config.fps / data.stride, data.stride, tuple(library.actions))
    low, high = SPLITS["training"]
    variants = len(data.variants or config.variants.names)
    # A tenth more than the share of the split, as each sample's split is drawn by itself.
    needed = int(sequences / variants / (high - low) * 1.1) + 10 * config.store.chunk
    identity, samples = config.identity(library), data.samples or needed
    return TrainingData(f"config {config.name}", identity, config.seed, samples, view, config_origin(config))


def open_own_clips(path: Path, view: View) -> TrainingData:
    """Open a user's own clips in a model's view; see :func:`posegen.training.data.sources.read_own_clips`."""
    clips = read_own_clips(path, view.fps * view.stride)
    frames = -(-max(len(clip) for clip in clips.joints) // view.stride)
    own_view = View(frames, view.fps, view.stride, tuple(sorted(set(clips.words))))
    return TrainingData(str(path), clips.identity, 0, len(clips.words), own_view, own_origin(clips), own=clips)


def batches_of(
    source: ClipSource, size: int, seed: int, variants: Sequence[str] | None, *, epochs: int | None = None
) -> Batches:
    """Return batches of a source: endless and all of `size` clips, or `epochs` times each clip."""
    total = source.samples * len(variants or source.variants)
    if epochs is None and total < size:
        msg = (
            f"{source.name}: has {total} training sequences, less than a batch of {size}. Generate more, or --set batch={total}"
        )
        raise UsageError(msg)
    endless = epochs is None
    fields = (*source.arrays(), *source.columns())
    return make_batches(
        source,
        size,
        seed=seed,
        fields=fields,
        variants=variants,
        epochs=epochs,
        drop_last=endless,
        lanes=LANES if endless else 1,
        # Groups stay together: those of a window fill as many batches as there are variants.
        window=WINDOW if source.group is None else size * len(variants or source.variants),
    )


def statistics(source: ClipSource, variants: Sequence[str] | None, name: str = "motion") -> tuple[Array, Array]:
    """Return the mean and the standard deviation of an array over the frames of the first samples of a source.

    The number of samples is fixed, so that the result does not change when a dataset grows.
    """
    first = replace(source, sample_numbers=source.sample_numbers[:_STATISTICS_SAMPLES])
    total = squares = count = np.float64(0)
    for batch in make_batches(first, 200, fields=[name, "length"], variants=variants, epochs=1, threads=1):
        motion, length = batch[name].astype(np.float64), batch["length"]
        frames = motion[np.arange(motion.shape[1])[None, :] < length[:, None]]
        total, squares, count = total + frames.sum(axis=0), squares + (frames * frames).sum(axis=0), count + len(frames)
    mean = np.asarray(total / count)
    return mean, np.sqrt(np.maximum(squares / count - mean * mean, 0))
