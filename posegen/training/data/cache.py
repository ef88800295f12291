"""Cache of recipe results on disk: computed once per shard, resumed after a kill.

``DATASET/training/<recipe>-<version>-<stride>/`` holds an ``.npy`` file per shard and, written last, a receipt with its hash
and the hash of its input. A shard whose content changed is computed again. What the arrays mean is defined by the recipes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.config.identity import digest
from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.layout import ROWS
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset
from posegen.errors import PosegenError
from posegen.machine import available_cores
from posegen.training.data.features import Recipe, View

FOLDER = "training"
_MOST_THREADS = 4

_HEADER_LOCK = Lock()
"""NumPy parses a file's header as Python source, which on Python 3.11 fails at times when several threads do it at once."""


def view_of(dataset: Dataset, stride: int) -> View:
    """Return the view of a dataset at a stride."""
    header = dataset.header
    names = header.field("action").attributes["names"]
    return View(-(-header.frames // stride), header.fps / stride, stride, tuple(str(name) for name in names))


def prepare(dataset: Dataset, recipes: Sequence[Recipe], view: View, report: Callable[[int, int], None]) -> int:
    """Compute the arrays that are not in the cache yet.

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

    def missing_recipes(shard: int) -> list[Recipe]:
        hashes = dataset.hashes(shard)
        return [recipe for recipe in recipes if not _is_current(_file(dataset.path, recipe, view, shard), recipe, hashes)]

    def compute(shard: int) -> None:
        samples = slice(shard * header.shard, shard * header.shard + header.count(shard))
        missing, hashes = missing_recipes(shard), dataset.hashes(shard)
        fields = {name: read_field(dataset, name, samples) for recipe in missing for name in recipe.fields}
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in fields.items()}
        for recipe in missing:
            values = recipe.compute(flat, view).astype(recipe.dtype)
            values = np.ascontiguousarray(values.reshape(-1, len(header.variants), *recipe.shape(view)))
            _write(_file(dataset.path, recipe, view, shard), values, _input_hash(recipe, hashes))

    header = dataset.header
    shards = [shard for shard in range(header.shards()) if missing_recipes(shard)]
    if not shards:
        return 0
    folder = dataset.path / FOLDER
    folder.mkdir(exist_ok=True)
    threads = min(_MOST_THREADS, available_cores(), len(shards))
    with locked(folder), ThreadPoolExecutor(threads, "posegen-recipe") as pool:
        for done, _ in enumerate(pool.map(compute, shards), 1):
            report(done, len(shards))
    return len(shards)


@lru_cache(4096)
def cached_array(dataset: Path, recipe: Recipe, view: View, shard: int) -> Array:
    """Open the cached values of a shard as a memory map [sample, variant, ...].

    Raises
    ------
    PosegenError
        If the file is missing or damaged.
    """
    file = _file(dataset, recipe, view, shard)
    receipt, path = _receipt(file), file.with_suffix(".npy")
    hint = f"Remove {file.parent} and run the same command again to compute it anew"
    if receipt is None or not path.is_file():
        msg = f"{path}: the file disappeared during training. {hint}"
        raise PosegenError(msg)
    with _HEADER_LOCK:
        # As a plain array: slices of a memmap are memmaps themselves, and take several times as long to create.
        values: Array = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    if xxhash.xxh3_128_hexdigest(values.data) != receipt["xxh3"]:
        msg = f"{path}: checksum mismatch (receipt {file.name}.json). {hint}"
        raise PosegenError(msg)
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


def _write(file: Path, values: Array, input_hash: str) -> None:
    """Write an array and its receipt durably."""
    data = io.BytesIO()
    np.save(data, values, allow_pickle=False)
    write_durably(file.with_suffix(".npy"), data.getvalue())
    receipt = {"of": input_hash, "xxh3": xxhash.xxh3_128_hexdigest(values.data)}
    write_durably(file.with_suffix(".json"), seal(receipt))


def _is_current(file: Path, recipe: Recipe, hashes: Mapping[str, str]) -> bool:
    receipt = _receipt(file)
    return receipt is not None and receipt.get("of") == _input_hash(recipe, hashes) and file.with_suffix(".npy").is_file()


def _receipt(file: Path) -> dict[str, Any] | None:
    path = file.with_suffix(".json")
    try:
        return unseal(path.read_bytes(), Origin(str(path), "The array is computed again"))
    except (FileNotFoundError, PosegenError):
        return None


def _input_hash(recipe: Recipe, hashes: Mapping[str, str]) -> str:
    return digest({name: hashes[name] for name in recipe.fields})


def _file(dataset: Path, recipe: Recipe, view: View, shard: int) -> Path:
    """Return the path of the files of a recipe and a shard, without suffix."""
    return dataset / FOLDER / f"{recipe.name}-{recipe.version}-{view.stride}" / f"{shard:05d}"
