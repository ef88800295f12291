"""Sources of clips: the cache of a dataset, a dataset itself, a config, or a user's own clips.

A :class:`ClipSource` is a source as :mod:`posegen.dataset.batches` defines it, restricted to the samples of one split. It
counts samples within the split; `sample_numbers` maps them to the samples of the dataset. Where the clips come from is its
origin.

The cache, ``DATASET/training/<recipe>-<version>-<stride>/``, holds an ``.npy`` file per shard and, written last, a receipt with
its hash and the hash of its input, so that it is resumed after a kill. A shard whose content changed is computed again. For the
shards of a manifest, ``manifest.json`` states at once that they are cached, so that training on many shards starts without
reading their receipts. Of a dataset in a bucket, the cache is on this machine.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from posegen.arrays import Array
from posegen.config.identity import digest
from posegen.config.schema import Config
from posegen.constants import ABSENT_ACTION
from posegen.dataset.batches import CAPTIONS, ArrayShape
from posegen.dataset.bucket import REQUESTS, BucketPath, map_files
from posegen.dataset.clip_files import MOST_BYTES, read_clip_archive, read_clip_folder, resample
from posegen.dataset.documents import Origin as DocumentOrigin
from posegen.dataset.documents import seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.layout import ROWS
from posegen.dataset.lock import LOCK_FILE, SECONDS_TO_WAIT, is_held, locked
from posegen.dataset.read import Dataset
from posegen.dataset.table_files import read_table
from posegen.errors import PosegenError, UsageError
from posegen.machine import available_cores, user_cache
from posegen.mocap.sources import clip_files, read_clips
from posegen.skeleton import JOINTS, PARTS
from posegen.training.data.captions import Captions, CaptionSampler, FreshCaptions
from posegen.training.data.features import Recipe, View

FOLDER = "training"
FOLDER_VARIABLE = "POSEGEN_FEATURE_CACHE"
"""Environment variable with the folder for caches of datasets in buckets; ``posegen/features`` in the user's by default."""
_MOST_THREADS = 4
_SECONDS_BETWEEN_LOOKS = 0.5
"""At the cache that another training fills."""

_HEADER_LOCK = Lock()
"""NumPy parses a file's header as Python source, which on Python 3.11 fails at times when several threads do it at once."""

_AT_ONCE = 100
"""Samples that are synthesised at once."""
_READ_AT_ONCE = 20
"""Samples of a dataset whose recipes are computed at once. Their arrays stay in the processor's cache: with the 200 samples of
a shard, poses took 1.8 times the processor time, and reading joints three times."""
_SHORTEST, _LONGEST = 4, 100_000
"""Least and largest number of frames of a clip."""
_MOST_FRAMES = MOST_BYTES // (len(JOINTS) * 3 * 4)
_FEWEST_SUBJECTS = 10


def view_of(dataset: Dataset, stride: int) -> View:
    """Return the view of a dataset at a stride."""
    header = dataset.header
    names = header.field("action").attributes["names"]
    actors = header.field("joints").shape[header.field("joints").dims.index("actor")]
    return View(-(-header.frames // stride), header.fps / stride, stride, tuple(map(str, names)), actors=actors)


def features_folder(dataset: Dataset) -> Path:
    """Return the folder of the cache of a dataset: in the dataset, or for one in a bucket on this machine."""
    if not isinstance(dataset.path, BucketPath):
        return dataset.path.absolute() / FOLDER
    parent = os.environ.get(FOLDER_VARIABLE) or user_cache() / "features"
    return Path(parent).absolute() / f"{dataset.header.identity}-{dataset.header.shard}"


def fill_cache(dataset: Dataset, recipes: Sequence[Recipe], view: View, report: Callable[[int, int], None]) -> int:
    """Compute the arrays that are not in the cache yet. While another training fills it, wait, and report its shards.

    Parameters
    ----------
    dataset : Dataset
    recipes : sequence of Recipe
    view : View
    report : callable
        Called after each shard with the number of shards done and their total.

    Returns
    -------
    int
        Number of shards computed.
    """
    header, folder = dataset.header, features_folder(dataset)
    listed, link = dataset.listed_shards
    state = {"shards": listed, "link": link}
    unknown = [recipe for recipe in recipes if not listed or _cache_receipt(_listed_file(folder, recipe, view)) != state]

    def missing_recipes(shard: int) -> list[Recipe]:
        examined = recipes if shard >= listed else unknown
        if not examined:
            return []
        hashes = dataset.hashes(shard)
        return [recipe for recipe in examined if not _is_current(_cache_file(folder, recipe, view, shard), recipe, hashes)]

    # Objects of a bucket are read whole.
    at_once = header.shard if isinstance(dataset.path, BucketPath) else header.chunk * max(1, _READ_AT_ONCE // header.chunk)

    def compute(shard: int) -> None:
        first, count, hashes = shard * header.shard, header.count(shard), dataset.hashes(shard)
        values = {
            recipe: np.empty((count, len(header.variants), *recipe.shape(view)), recipe.dtype)
            for recipe in missing_recipes(shard)
        }
        names = {name for recipe in values for name in recipe.fields}
        for start in range(0, count, at_once):
            block = slice(start, min(start + at_once, count))
            fields = {name: read_field(dataset, name, slice(first + block.start, first + block.stop)) for name in names}
            flat = {name: read.reshape(-1, *read.shape[2:]) for name, read in fields.items()}
            for recipe, computed in values.items():
                computed[block] = recipe.compute(flat, view).reshape(computed[block].shape)
        for recipe, computed in values.items():
            _write_cached(_cache_file(folder, recipe, view, shard), computed, _input_hash(recipe, hashes))

    def missing_shards() -> list[int]:
        every = range(header.shards())
        return [shard for shard, missing in zip(every, map_files(dataset.path, missing_recipes, every), strict=True) if missing]

    shards = missing_shards()
    if shards:
        total = len(shards)
        _wait_for_others(folder / LOCK_FILE, missing_shards, total, report)
        folder.mkdir(parents=isinstance(dataset.path, BucketPath), exist_ok=True)
        # Requests are waited for, so there are more of them than cores.
        most = REQUESTS if isinstance(dataset.path, BucketPath) else min(_MOST_THREADS, available_cores())
        threads = min(most, len(shards))
        with locked(folder, wait=SECONDS_TO_WAIT), ThreadPoolExecutor(threads, "posegen-recipe") as pool:
            shards = missing_shards()
            report(total - len(shards), total)
            for done, _ in enumerate(pool.map(compute, shards), 1 + total - len(shards)):
                report(done, total)
    for recipe in unknown if listed else ():
        with suppress(PermissionError):  # a folder of somebody else, whose receipts are then read each time
            write_durably(_listed_file(folder, recipe, view).with_suffix(".json"), seal(state))
    return len(shards)


def _wait_for_others(lock: Path, missing: Callable[[], list[int]], total: int, report: Callable[[int, int], None]) -> None:
    """Wait while another training fills a cache, and report how many of `total` shards are in it."""
    reported = -1
    while is_held(lock) and (left := len(missing())):
        if reported != total - left:
            reported = total - left
            report(reported, total)
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def cached_array(folder: Path, recipe: Recipe, view: View, shard: int) -> Array:
    """Open the cached values of a shard, in the folder of the cache, as a memory map [sample, variant, ...].

    Raises
    ------
    PosegenError
        If the file is missing or damaged.
    """
    file = _cache_file(folder, recipe, view, shard)
    path = file.with_suffix(".npy")
    # A shard that was extended has another file.
    return _open_cached(file, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(4096)
def _open_cached(file: Path, written: int) -> Array:
    """Open and check the cached values that were written at a time, in nanoseconds; 0 if they are gone."""
    receipt, path = _cache_receipt(file), file.with_suffix(".npy")
    hint = f"Remove {file.parent} and run the same command again to compute it anew"
    if receipt is None or not written:
        raise PosegenError(f"{path}: the file disappeared during training. {hint}")
    with _HEADER_LOCK:
        # As a plain array: slices of a memmap are memmaps themselves, and take several times as long to create.
        values: Array = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    if xxhash.xxh3_128_hexdigest(values.data) != receipt["xxh3"]:
        raise PosegenError(f"{path}: checksum mismatch (receipt {file.name}.json). {hint}")
    return values


def read_field(dataset: Dataset, name: str, samples: slice | Array) -> Array:
    """Read an input of a recipe: an array [sample, variant, ...], or the metadata rows as objects [sample, variant]."""
    if name != ROWS:
        return dataset.arrays(name, samples)
    numbers = np.arange(len(dataset))[samples]
    rows = np.empty((len(numbers), len(dataset.header.variants)), object)
    for i, sample in enumerate(numbers.tolist()):
        rows[i] = dataset.rows(sample)
    return rows


def _write_cached(file: Path, values: Array, input_hash: str) -> None:
    """Write an array and its receipt durably."""
    data = io.BytesIO()
    np.save(data, values, allow_pickle=False)
    write_durably(file.with_suffix(".npy"), data.getvalue())
    receipt = {"of": input_hash, "xxh3": xxhash.xxh3_128_hexdigest(values.data)}
    write_durably(file.with_suffix(".json"), seal(receipt))


def _is_current(file: Path, recipe: Recipe, hashes: Mapping[str, str]) -> bool:
    receipt = _cache_receipt(file)
    return receipt is not None and receipt.get("of") == _input_hash(recipe, hashes) and file.with_suffix(".npy").is_file()


def _cache_receipt(file: Path) -> dict[str, Any] | None:
    path = file.with_suffix(".json")
    try:
        return unseal(path.read_bytes(), DocumentOrigin(str(path), "The array is computed again"))
    except (FileNotFoundError, PosegenError):
        return None


def _input_hash(recipe: Recipe, hashes: Mapping[str, str]) -> str:
    return digest({name: hashes[name] for name in recipe.fields})


def _listed_file(folder: Path, recipe: Recipe, view: View) -> Path:
    """Return the path, without suffix, of the document that states for which manifest a recipe is cached."""
    return _cache_file(folder, recipe, view, 0).with_name("manifest")


def _cache_file(folder: Path, recipe: Recipe, view: View, shard: int) -> Path:
    """Return the path of the files of a recipe and a shard, without suffix."""
    return folder / f"{recipe.cache or recipe.name}-{recipe.version}-{view.stride}" / f"{shard:05d}"


@dataclass(frozen=True)
class OwnClips:
    """Clips at one frame rate.

    Attributes
    ----------
    path : Path
    joints : list of float32 [frame, 22, 3]
    words : tuple of str
        The class of each clip.
    subjects : tuple of str
        The subject of each clip; empty texts where subjects are not known.
    identity : str
        Hash of joints and classes.
    arrays : dict of str to ndarray [clip]
        Labels beside the class.
    notes : tuple of str
        Which files and clips are left out, and why.
    """

    path: Path
    joints: Sequence[Array]
    words: tuple[str, ...]
    subjects: tuple[str, ...]
    identity: str
    arrays: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> Array:
        """Return a group number per clip. Splits separate groups: subjects if there are ten or more, else single clips."""
        _, numbers = np.unique(np.array(self.subjects), return_inverse=True)
        return numbers if len(set(numbers.tolist())) >= _FEWEST_SUBJECTS else np.arange(len(self.words))

    def origin(self) -> Origin:
        """Return the clips as samples with one variant."""
        return Origin(str(self.path), ("own",), 20, 1, partial(_load_own, self))

    def padded(self, which: Array) -> dict[str, Array]:
        """Return clips as arrays of a dataset with one actor: joints, NaN behind each clip, and the class as action."""
        frames = max(len(clip) for clip in self.joints)
        names = sorted(set(self.words))
        joints = np.full((len(which), 1, frames, len(JOINTS), 3), np.nan, np.float32)
        action = np.full((len(which), 1, frames, len(PARTS)), ABSENT_ACTION, np.uint16)
        for i, clip in enumerate(which.tolist()):
            length = len(self.joints[clip])
            joints[i, 0, :length] = self.joints[clip]
            action[i, 0, :length] = names.index(self.words[clip])
        return {"joints": joints, "action": action, **{name: values[which] for name, values in self.arrays.items()}}


class _Found(NamedTuple):
    """Clips as read: the name, joints, frames per second, class and subject of each, and why others could not be read."""

    names: Sequence[str]
    joints: Sequence[Array]
    rates: Sequence[float]
    classes: Sequence[str]
    subjects: Sequence[str]
    refused: Sequence[str] = ()


def read_own_clips(path: Path, fps: float, *, by_subject: bool = False, label: str | None = None) -> OwnClips:
    """Read clips and resample them to `fps` frames per second.

    Parameters
    ----------
    path : Path
        An archive, a folder with ``CLASS/NAME.npy``, or a file or folder of any formats of :mod:`posegen.mocap.sources`.
    fps : float
    by_subject : bool
        Whether subjects are learned, not classes: the folders of a folder are then named after subjects.
    label : str, optional
        Column of a table beside the clips that names the class or the subject of each; see :func:`labels_of_clips`.

    Raises
    ------
    UsageError
        If there are no clips, they are malformed, or too large at this rate.
    """
    is_archive = path.suffix == ".npz"
    found = _read_archive(path, by_subject=by_subject, labelled=label is not None) if is_archive else _read_files(path)
    if label is not None:
        labels = labels_of_clips(path, found.names, label)
        found = found._replace(subjects=labels) if by_subject else found._replace(classes=labels)
    kept = [i for i, clip in enumerate(found.joints) if len(clip) >= _SHORTEST]
    learned = found.subjects if by_subject else found.classes
    if len({learned[i] for i in kept}) < 2:
        kind = "subjects" if by_subject else "classes"
        hint = f"Name its folders after {kind}, or give --label" if path.is_dir() else f"Add {kind}"
        raise UsageError(f"{path}: needs clips of at least two {kind}, each of {_SHORTEST} frames or more. {hint}")
    frames = [round(len(found.joints[i]) * fps / found.rates[i]) for i in kept]
    if max(frames) > _LONGEST or sum(frames) > _MOST_FRAMES:
        limits = f"at most {_LONGEST:,} frames per clip and {_MOST_FRAMES:,} in all"
        got = f"{max(frames):,} and {sum(frames):,} at the {fps:g} frames per second of the model"
        raise UsageError(f"{path}: joints must have {limits} (got {got}). Cut long clips, use fewer, or correct fps")
    for i in kept:
        if np.isnan(found.joints[i]).any():
            raise UsageError(f"{path}: some joints of {found.names[i]} are not numbers (NaN). Remove these frames")
    clips = [_resampled(found.joints[i], found.rates[i], fps) for i in kept]
    content = xxhash.xxh3_128()
    for i, clip in zip(kept, clips, strict=True):
        content.update(learned[i].encode())
        content.update(clip.tobytes())
    classes, subjects = (tuple(names[i] for i in kept) for names in (found.classes, found.subjects))
    short = [f"{found.names[i]}: has fewer than {_SHORTEST} frames" for i in range(len(found.names)) if i not in set(kept)]
    notes = tuple(f"left out: {reason}" for reason in (*found.refused, *short))
    return OwnClips(path, clips, classes, subjects, content.hexdigest(), notes=notes)


def _resampled(joints: Array, rate: float, fps: float) -> Array:
    return (joints if rate == fps else resample(joints, rate, fps)).astype(np.float32)


def _read_archive(path: Path, *, by_subject: bool, labelled: bool) -> _Found:
    clips = read_clip_archive(path, [] if labelled else ["subjects" if by_subject else "classes"])
    return _Found(clips.names, clips.joints, [clips.fps] * len(clips.names), clips.classes, clips.subjects)


def _read_files(path: Path) -> _Found:
    """Read a folder whose folders name classes and subjects, or a file; files that state class or subject override folders."""
    if path.is_dir() and all(file.suffix.lower() == ".npy" and file.parent.parent == path for file in clip_files([path])):
        clips = read_clip_folder(path)
        return _Found(clips.names, clips.joints, [clips.fps] * len(clips.names), clips.classes, clips.classes)
    refused: list[str] = []
    found = list(read_clips(path, refused.append))
    folders = [clip.file.relative_to(path).parent.as_posix() for clip in found]
    own = [("" if folder == "." else folder) for folder in folders]
    return _Found(
        [clip.name for clip in found],
        [clip.joints for clip in found],
        [clip.fps for clip in found],
        [clip.label or folder for clip, folder in zip(found, own, strict=True)],
        [clip.subject or folder for clip, folder in zip(found, own, strict=True)],
        refused,
    )


def labels_of_clips(path: Path, names: Sequence[str], label: str) -> list[str]:
    """Read the label of each clip from a table beside the clips.

    Parameters
    ----------
    path : Path
        Of a folder of clips, the table is ``labels.csv`` in it, with a column ``clip``: the path of each file in the folder,
        or where a file has several, the name of each clip, as in ``file.tar, clip``. Of an archive ``NAME.npz`` it is
        ``NAME.csv``, with a row for each clip, in order.
    names : sequence of str
        Names of the clips, as :mod:`posegen.dataset.clip_files` returns them.
    label : str
        Name of the column.

    Raises
    ------
    UsageError
        If there is no such table or column, or a clip has no label.
    """
    file = path / "labels.csv" if path.is_dir() else path.with_suffix(".csv")
    table = read_table(file)
    for column in (label, *(["clip"] if path.is_dir() else [])):
        if column not in table.column_names:
            raise UsageError(f"{file}: has no column {column}, but {', '.join(table.column_names)}")
    values = ["" if value is None else str(value) for value in table[label].to_pylist()]
    if path.is_dir():
        known = dict(zip(map(str, table["clip"].to_pylist()), values, strict=True))
        values = [known.get(name.removeprefix(f"{path}/"), "") for name in names]
    elif len(values) != len(names):
        raise UsageError(f"{file}: has {len(values)} rows for {len(names)} clips. Write one for each clip, in order")
    missing = [name for name, value in zip(names, values, strict=True) if not value]
    if missing:
        raise UsageError(f"{file}: has no {label} of {missing[0]} ({len(missing)} clips in all). Add it, or remove the clips")
    return values


@dataclass(frozen=True)
class Query:
    """Values to load.

    Attributes
    ----------
    recipes : sequence of Recipe
    view : View
    samples : int64 [sample]
    variants : sequence of int
        Indices of variants.
    into : mapping of str to sequence of ndarray [sample, ...]
        Destination of each recipe, an array for each variant.
    captions : bool
        Whether the captions are loaded too.
    """

    recipes: Sequence[Recipe]
    view: View
    samples: Array
    variants: Sequence[int]
    into: Mapping[str, Sequence[Array]]
    captions: bool = False

    def compute(self, fields: Mapping[str, Array], start: int = 0) -> None:
        """Compute the recipes from fields [sample, variant, ...] of the samples from number `start` on."""
        for recipe in self.recipes:
            for variant, destination in zip(self.variants, self.into[recipe.name], strict=True):
                values = recipe.compute({name: fields[name][:, variant] for name in recipe.fields}, self.view)
                destination[start : start + len(values)] = values


@dataclass(frozen=True)
class Origin:
    """Where clips come from.

    Attributes
    ----------
    name : str
        Name for messages.
    variants : tuple of str
    chunk : int
        Samples that are loaded together.
    most_threads : int
        Number of threads that may load at once.
    load : callable
        Stores the values of a query; returns its captions, if it asks for them. Can be pickled.
    """

    name: str
    variants: tuple[str, ...]
    chunk: int
    most_threads: int
    load: Callable[[Query], pa.Table | None]


def cached_origin(dataset: Dataset) -> Origin:
    """Return the clips of a dataset whose recipes are cached."""
    header = dataset.header
    return Origin(
        str(dataset.path), header.variants, header.chunk, 4, partial(_load_cached, features_folder(dataset), header.shard)
    )


def dataset_origin(dataset: Dataset) -> Origin:
    """Return the clips of a dataset that is read once, so that a cache would not pay."""
    return Origin(str(dataset.path), dataset.header.variants, dataset.header.chunk, 2, partial(_load_stored, dataset))


def config_origin(config: Config) -> Origin:
    """Return the clips of a config, whose samples are synthesised when they are needed."""
    # Synthesis keeps Python busy: more threads would wait for one another.
    return Origin(f"config {config.name}", config.variants.names, config.store.chunk, 1, partial(_load_synthesised, config))


def _load_cached(folder: Path, shard_size: int, query: Query) -> None:
    shards, rows = np.divmod(query.samples, shard_size)
    for shard in dict.fromkeys(shards.tolist()):
        own = np.flatnonzero(shards == shard)
        for recipe in query.recipes:
            values = cached_array(folder, recipe, query.view, shard)
            for variant, destination in zip(query.variants, query.into[recipe.name], strict=True):
                destination[own] = values[rows[own], variant]


def _load_stored(dataset: Dataset, query: Query) -> None:
    fields = {name for recipe in query.recipes for name in recipe.fields}
    query.compute({name: read_field(dataset, name, query.samples) for name in fields})


def _load_synthesised(config: Config, query: Query) -> pa.Table | None:
    from posegen.synthesis import synthesize

    texts: list[list[str]] = []
    names = {name for recipe in query.recipes for name in recipe.fields}
    for start in range(0, len(query.samples), _AT_ONCE):
        batch = synthesize(config, query.samples[start : start + _AT_ONCE])
        rows = np.array(batch.rows, object).reshape(len(batch.samples), len(config.variants.names))
        query.compute({name: rows if name == ROWS else getattr(batch, name) for name in names}, start)
        if query.captions:
            texts += [[caption["text"] for caption in row["captions"]] for row in batch.rows]
    return pa.table({CAPTIONS: pa.array(texts, pa.list_(pa.string()))}) if query.captions else None


def _load_own(clips: OwnClips, query: Query) -> None:
    query.compute({name: values[:, None] for name, values in clips.padded(query.samples).items()})


class SampleArrays(NamedTuple):
    """Samples, int64 [n], ascending, and arrays [n, ...] of them by name."""

    samples: Array
    arrays: dict[str, Array]

    def take(self, samples: Array) -> dict[str, Array]:
        """Return the arrays of some of the samples."""
        rows = np.searchsorted(self.samples, samples)
        return {name: values[rows] for name, values in self.arrays.items()}


@dataclass(frozen=True)
class ClipSource:
    """Samples of one origin; see :class:`posegen.dataset.batches.Source`.

    Attributes
    ----------
    origin : Origin
    recipes : tuple of Recipe
    view : View
    sample_numbers : int64 [sample]
        Samples of the origin: ascending, or arranged in groups.
    captions : Captions, FreshCaptions or None
        For tasks that take embedded captions.
    identities : SampleArrays or None
        For tasks that compare identities.
    group : int or None
        Number of consecutive samples that stay together, if `sample_numbers` is arranged in groups.
    only_variants : tuple of str or None
        The variants that are used; None: all.
    caption_sampler : CaptionSampler or None
        For tasks that train a text encoder.
    """

    origin: Origin
    recipes: tuple[Recipe, ...]
    view: View
    sample_numbers: Array
    captions: Captions | FreshCaptions | None = None
    identities: SampleArrays | None = None
    group: int | None = None
    only_variants: tuple[str, ...] | None = None
    caption_sampler: CaptionSampler | None = None

    @property
    def name(self) -> str:
        """Name for messages."""
        return self.origin.name

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.sample_numbers)

    @property
    def seed(self) -> None:
        """None: training selects the samples of a split itself."""
        return None

    @property
    def is_by_actor(self) -> bool:
        """Return whether each actor of a sequence is a clip of its own."""
        return any(recipe.is_by_actor for recipe in self.recipes)

    @property
    def chunk(self) -> int:
        """Samples that are loaded together."""
        return self.group or self.origin.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return tuple(name for name in self.origin.variants if self.only_variants is None or name in self.only_variants)

    @property
    def most_threads(self) -> int:
        """Number of threads that may load at once."""
        return self.origin.most_threads

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        shapes = ((recipe, recipe.shape(self.view)) for recipe in self.recipes)
        return {recipe.name: ArrayShape(shape, shape, recipe.dtype) for recipe, shape in shapes}

    def columns(self) -> tuple[str, ...]:
        """Return the names of the table's columns: captions where they are generated with the samples."""
        return (CAPTIONS,) if isinstance(self.captions, FreshCaptions) else ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Load a chunk into arrays."""
        samples = self.sample_numbers[chunk * self.chunk : (chunk + 1) * self.chunk]
        recipes = [recipe for recipe in self.recipes if recipe.name in into]
        room = {
            recipe.name: [part.reshape(self.chunk, *recipe.shape(self.view)) for part in into[recipe.name]]
            for recipe in recipes
        }
        indices = [self.origin.variants.index(self.variants[variant]) for variant in variants]
        return self.origin.load(Query(recipes, self.view, samples, indices, room, bool(columns)))
