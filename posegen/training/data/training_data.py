"""What a model is trained on: a dataset, or a config whose samples are made on the way, parted into splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.identity import digest
from posegen.config.load import load_config
from posegen.config.schema import Config
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
from posegen.training.data.identities import JUDGED, PEOPLE, SAME_PERSON, People, PeopleIn, open_people
from posegen.training.data.own_clips import OwnClips, read_own_clips
from posegen.training.data.sources import Cached, ClipSource, Making, Owned
from posegen.training.settings import Contrast, Data, Settings

__all__ = ["TrainingData", "batches_of", "open_own_clips", "open_training_data", "statistics"]

Array = NDArray[Any]

LANES = 4
"""Windows that batches take turns in, so that up to four processes that load need different ones."""

_TO_JUDGE = 5000
"""Samples of a config that are parted into validation and test."""
_FOR_STATISTICS = 1000


@dataclass(frozen=True)
class ByPerson:
    """So many clips of a person go together in training; `shuffled` if each is taken for somebody else's, as a control."""

    clips: int
    shuffled: bool


@dataclass(frozen=True)
class TrainingData:
    """What a model is trained on.

    Attributes
    ----------
    name : str
        What messages call it.
    dataset : Dataset or None
    config : Config or None
    own : OwnClips or None
    identity : str
    seed : int
        By which samples are parted.
    samples : int
        How many there are to be parted.
    view : View
    source_name : str
        By which it is opened again: the folder, the config's name or path.
    captions : Captions, FreshCaptions or None
        Where the task takes them.
    by_person : ByPerson or None
        Where the task is about persons: how their clips are parted and grouped.
    sentences : CaptionSampler or None
        Where the task learns from captions as words.
    """

    name: str
    dataset: Dataset | None
    config: Config | None
    own: OwnClips | None
    identity: str
    seed: int
    samples: int
    view: View
    source_name: str
    captions: Captions | FreshCaptions | None = None
    by_person: ByPerson | None = None
    sentences: CaptionSampler | None = None

    @property
    def path(self) -> Path | None:
        """Of the dataset, if it is one."""
        return None if self.dataset is None else self.dataset.path

    def with_samples(self, samples: int) -> TrainingData:
        """Take only the first samples."""
        return replace(self, samples=samples)

    def with_people(self, settings: Settings) -> TrainingData:
        """Part clips by person, and have those of one person go together.

        Raises
        ------
        UsageError
            If it is no dataset: only there is it known before who is in which sample.
        """
        if self.dataset is None:
            msg = f"{self.name}: who is in which clip must be known before. Generate a dataset of it, and train on that"
            raise UsageError(msg)
        return replace(self, by_person=ByPerson(settings.identity.clips, settings.data.shuffle_labels))

    def with_captions(self, contrast: Contrast) -> TrainingData:
        """Take captions, too.

        Raises
        ------
        UsageError
            If there are none, or no vectors of them.
        """
        if self.dataset is None:
            return self._with_fresh_captions(contrast)
        captions = open_captions(self.dataset.path, self.dataset.header.shard, contrast.encoder, contrast.hard)
        told = captions.embeddings
        return replace(
            self, captions=captions, view=replace(self.view, text_encoder=told.encoder, text_dimension=told.dimension)
        )

    def _with_fresh_captions(self, contrast: Contrast) -> TrainingData:
        if self.config is None:
            msg = f"{self.name}: has no captions, only words. Train on a dataset or a config"
            raise UsageError(msg)
        if contrast.hard:
            msg = (
                f"{self.name}: hard negatives are found among the captions of a dataset. Generate one, or --set contrast.hard=0"
            )
            raise UsageError(msg)
        encoder = encoder_of(contrast.encoder or DEFAULT)
        view = replace(self.view, text_encoder=encoder.name, text_dimension=encoder.dimension)
        # Another encoder makes other vectors of the same captions: no run goes on with them.
        identity = digest({"config": self.identity, "encoder": encoder.fingerprint})
        captions = FreshCaptions(contrast.encoder or DEFAULT, encoder.dimension)
        return replace(self, captions=captions, view=view, identity=identity)

    def prepare(self, recipes: Sequence[Recipe], tell: Callable[[int, int], None]) -> int:
        """Have recipes compute what is not cached yet; see :func:`posegen.training.clips.cache.prepare`."""
        if self.dataset is None:
            return 0
        if self.by_person is None:
            return prepare(self.dataset, recipes, self.view, tell)
        done = prepare(self.dataset, (*recipes, *PEOPLE), self.view, tell)
        for split in JUDGED:
            self._people(self.by_person).partners(split)
        return done

    def source(self, recipes: tuple[Recipe, ...], split: str) -> ClipSource:
        """Take the samples of a split.

        Raises
        ------
        UsageError
            If there are none.
        """
        if self.by_person is not None:
            return self._source_of_people(recipes, split, self.by_person)
        if self.own is not None:
            groups = self.own.groups
            wanted = in_split(self.seed, np.arange(groups.max() + 1), split)
            chosen = np.flatnonzero(np.isin(groups, wanted))
        else:
            chosen = self._samples_in(split)
        if not len(chosen):
            msg = f"{self.name}: none of its {self.samples:,} samples is in the {split} split. Generate some hundred at least"
            raise UsageError(msg)
        return ClipSource(self._origin(), recipes, self.view, chosen, self.captions, sentences=self.sentences)

    def _source_of_people(self, recipes: tuple[Recipe, ...], split: str, by_person: ByPerson) -> ClipSource:
        people, group = self._people(by_person), None if split in JUDGED else by_person.clips
        samples = people.in_split(split) if group is None else people.groups(group)
        own = PeopleIn(people, split)
        return ClipSource(self._origin(), recipes, self.view, samples, people=own, group=group, of_variants=SAME_PERSON)

    def _people(self, by_person: ByPerson) -> People:
        assert self.dataset is not None
        shards = -(-self.samples // self.dataset.header.shard)
        return open_people(self.dataset.path, self.view, shards, self.samples, self.seed, shuffled=by_person.shuffled)

    def _origin(self) -> Cached | Making | Owned:
        if self.dataset is not None:
            header = self.dataset.header
            return Cached(self.dataset.path, header.variants, header.chunk, header.shard)
        if self.own is not None:
            return Owned(self.own)
        assert self.config is not None
        return Making(self.config)

    def _samples_in(self, split: str) -> Array:
        made = self.dataset is None and split != "training"
        return in_split(self.seed, np.arange(min(self.samples, _TO_JUDGE) if made else self.samples), split)


def open_training_data(source: str | Path, data: Data, sequences: int, overrides: Sequence[str] = ()) -> TrainingData:
    """Open a dataset, or load a config.

    Parameters
    ----------
    source : str or Path
        Folder of a dataset; or name of a preset, or path of a YAML file.
    data : Data
    sequences : int
        How many the run goes through; of a config so many samples are taken that none is shown twice.
    overrides : sequence of str
        Of the config.

    Raises
    ------
    UsageError
        If there is neither.
    """
    if (Path(source) / HEADER_FILE).is_file() or Path(source).is_dir():
        dataset = open_dataset(source)
        header = dataset.header
        samples = len(dataset) if data.samples is None else min(data.samples, len(dataset))
        view = view_of(dataset, data.stride)
        return TrainingData(str(source), dataset, None, None, header.identity, header.seed, samples, view, str(source))
    config = load_config(str(source), overrides)
    library = load_library(config.story.library)
    view = View(-(-config.frames // data.stride), config.fps / data.stride, data.stride, tuple(library.actions))
    low, high = SPLITS["training"]
    variants = len(data.variants or config.variants.names)
    # A tenth more than the share asks for, as the draw of each sample is its own.
    needed = int(sequences / variants / (high - low) * 1.1) + 10 * config.store.chunk
    return TrainingData(
        f"config {config.name}",
        None,
        config,
        None,
        config.identity(library),
        config.seed,
        data.samples or needed,
        view,
        str(source),
    )


def open_own_clips(path: Path, view: View) -> TrainingData:
    """Open a user's own clips, to be seen as a model sees motion; see :mod:`posegen.training.clips.own_clips`."""
    clips = read_own_clips(path, view.fps * view.stride)
    frames = -(-max(len(clip) for clip in clips.joints) // view.stride)
    own = View(frames, view.fps, view.stride, tuple(sorted(set(clips.words))))
    return TrainingData(str(path), None, None, clips, clips.identity, 0, len(clips.words), own, str(path))


def batches_of(
    source: ClipSource, size: int, seed: int, variants: Sequence[str] | None, *, epochs: int | None = None
) -> Batches:
    """Make batches of a source, endless and all full unless it is to be gone through `epochs` times."""
    total = source.samples * len(variants or source.variants)
    if epochs is None and total < size:
        msg = f"{source.name}: has {total} sequences to train on, fewer than a batch. Generate more, or --set batch={total}"
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
    """Compute the mean and the standard deviation of an array's numbers over frames of the first samples of a source.

    A fixed number of samples, so that they are the same when a dataset grows.
    """
    first = replace(source, samples_of=source.samples_of[:_FOR_STATISTICS])
    total = squares = count = np.float64(0)
    for batch in make_batches(first, 200, fields=[name, "length"], variants=variants, epochs=1, threads=1):
        motion, length = batch[name].astype(np.float64), batch["length"]
        frames = motion[np.arange(motion.shape[1])[None, :] < length[:, None]]
        total, squares, count = total + frames.sum(axis=0), squares + (frames * frames).sum(axis=0), count + len(frames)
    mean = np.asarray(total / count)
    return mean, np.sqrt(np.maximum(squares / count - mean * mean, 0))
