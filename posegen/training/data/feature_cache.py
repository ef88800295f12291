"""The cache of what is computed from a dataset for training.

It lies in ``DATASET/training/<recipe>-<version>-<stride>/``: an ``.npy`` file per shard and, written last, a receipt with its
hash and the hash of its input, so that it is resumed after a kill. A shard whose content changed is computed again. For the
shards of a manifest, ``manifest.json`` states at once that they are cached, so that training on many shards starts without
reading their receipts. Of a dataset in a bucket, the cache is on this machine.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import xxhash

from posegen.config.identity import digest
from posegen.dataset import documents, files, layout, lock
from posegen.dataset.read import Dataset
from posegen.dataset.storage.address import storage_of
from posegen.dataset.storage.bucket import REQUESTS
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import available_cores, free_disk, user_cache
from posegen.foundations.quantities import human_bytes
from posegen.training.data.features import Recipe, View

FOLDER = "training"
FOLDER_VARIABLE = "POSEGEN_FEATURE_CACHE"
"""Environment variable with the folder for caches of datasets in buckets; ``posegen/features`` in the user's by default."""
_HASH = "npy_xxh3"
"""Key of a receipt with the hash of all bytes of the array's file; `posegen verify` compares it, too."""
_MOST_THREADS = 4

_HEADER_LOCK = Lock()
"""NumPy parses a file's header as Python source, which on Python 3.11 fails at times when several threads do it at once."""

_READ_AT_ONCE = 20
"""Samples of a dataset whose recipes are computed at once. Their arrays stay in the processor's cache: with the 200 samples of
a shard, poses took 1.8 times the processor time, and reading joints three times."""


def features_folder(dataset: Dataset) -> Path:
    """Return the folder of the cache of a dataset: in the dataset, or for one in a bucket on this machine."""
    local = storage_of(dataset.path).local
    if local:
        return local.absolute() / FOLDER
    parent = os.environ.get(FOLDER_VARIABLE) or user_cache() / "features"
    return Path(parent).absolute() / f"{dataset.header.identity}-{dataset.header.shard}"


def fill_cache(dataset: Dataset, recipes: Sequence[Recipe], view: View, report: Callable[[int, int], None]) -> int:
    """Compute the arrays that are not in the cache yet. While another training fills it, wait.

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
    is_local = storage_of(dataset.path).local is not None
    listed, link = dataset.listed_shards
    state = {"shards": listed, "link": link}
    unknown = [recipe for recipe in recipes if not listed or _cache_receipt(_listed_file(folder, recipe, view)) != state]

    def missing_recipes(shard: int) -> list[Recipe]:
        examined = recipes if shard >= listed else unknown
        hashes = dataset.hashes(shard) if examined else {}
        return [recipe for recipe in examined if not _is_current(_cache_file(folder, recipe, view, shard), recipe, hashes)]

    def missing_shards() -> dict[int, list[Recipe]]:
        every = range(header.shards())
        found = zip(every, storage_of(dataset.path).map(missing_recipes, every), strict=True)
        return {shard: recipes for shard, recipes in found if recipes}

    missing = missing_shards()
    total, made = len(missing), 0
    if missing:
        folder.mkdir(parents=not is_local, exist_ok=True)
        # Requests are waited for, so there are more of them than cores.
        threads = min(_MOST_THREADS, available_cores()) if is_local else REQUESTS
        with lock.locked(folder, wait=lock.SECONDS_TO_WAIT), ThreadPoolExecutor(threads, "posegen-recipe") as pool:
            missing = missing_shards()
            made = len(missing)
            sequences = {shard: header.count(shard) * len(header.variants) for shard in missing}
            require_space(folder, sum(sequences[shard] * each.bytes(view) for shard in missing for each in missing[shard]))
            report(total - len(missing), total)
            computed = pool.map(partial(_compute_shard, dataset, view), missing, missing.values())
            for done, _ in enumerate(computed, 1 + total - len(missing)):
                report(done, total)
    for recipe in unknown if listed else ():
        with suppress(PermissionError):  # a folder of somebody else, whose receipts are then read each time
            files.write_durably(_listed_file(folder, recipe, view).with_suffix(".json"), documents.seal(state))
    return made


def _compute_shard(dataset: Dataset, view: View, shard: int, recipes: Sequence[Recipe]) -> None:
    """Compute the values of recipes for a shard, and write them."""
    header, folder, hashes = dataset.header, features_folder(dataset), dataset.hashes(shard)
    is_local = storage_of(dataset.path).local is not None
    first, count, names = shard * header.shard, header.count(shard), {name for recipe in recipes for name in recipe.fields}
    # Objects of a bucket are read whole.
    at_once = header.chunk * max(1, _READ_AT_ONCE // header.chunk) if is_local else header.shard
    values = {recipe: np.empty((count, len(header.variants), *recipe.shape(view)), recipe.dtype) for recipe in recipes}
    for start in range(0, count, at_once):
        block = slice(start, min(start + at_once, count))
        fields = {name: read_field(dataset, name, slice(first + block.start, first + block.stop)) for name in names}
        flat = {name: read.reshape(-1, *read.shape[2:]) for name, read in fields.items()}
        for recipe, computed in values.items():
            computed[block] = recipe.compute(flat, view).reshape(computed[block].shape)
    for recipe, computed in values.items():
        file, data = _cache_file(folder, recipe, view, shard), io.BytesIO()
        np.save(data, computed, allow_pickle=False)
        files.write_durably(file.with_suffix(".npy"), data.getvalue())
        receipt = {"of": _input_hash(recipe, hashes), _HASH: xxhash.xxh3_128_hexdigest(data.getbuffer())}
        files.write_durably(file.with_suffix(".json"), documents.seal(receipt))


def require_space(folder: Path, needed: int) -> None:
    """Raise UsageError if a folder, which need not exist, lies on a disk with less free space than needed, in bytes."""
    free = free_disk(next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir()))
    if needed > free:
        problem = f"the training needs {human_bytes(needed)} of disk space, and {human_bytes(free)} are free"
        raise UsageError(f"{folder}: {problem}. Free some, and run the same command again")


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
    with path.open("rb") as opened:
        if hashlib.file_digest(opened, xxhash.xxh3_128).hexdigest() != receipt.get(_HASH):
            raise PosegenError(f"{path}: checksum mismatch (receipt {file.name}.json). {hint}")
    with _HEADER_LOCK:
        # As a plain array: slices of a memmap are memmaps themselves, and take several times as long to create.
        values: Array = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    return values


def read_field(dataset: Dataset, name: str, samples: slice | Array) -> Array:
    """Read an input of a recipe: an array [sample, variant, ...], or the metadata rows as objects [sample, variant]."""
    if name != layout.ROWS:
        return dataset.arrays(name, samples)
    numbers = np.arange(len(dataset))[samples]
    rows = np.empty((len(numbers), len(dataset.header.variants)), object)
    for i, sample in enumerate(numbers.tolist()):
        rows[i] = dataset.rows(sample)
    return rows


def _is_current(file: Path, recipe: Recipe, hashes: Mapping[str, str]) -> bool:
    receipt = _cache_receipt(file)
    is_same = receipt is not None and _HASH in receipt and receipt.get("of") == _input_hash(recipe, hashes)
    return is_same and file.with_suffix(".npy").is_file()


def _cache_receipt(file: Path) -> dict[str, Any] | None:
    path = file.with_suffix(".json")
    try:
        return documents.unseal(path.read_bytes(), documents.Origin(str(path), "The array is computed again"))
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
