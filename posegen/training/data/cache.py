"""What recipes made of a dataset, kept with it: computed once, shard by shard, and gone on with after a kill.

``DATASET/training/<recipe>-<version>-<stride>/`` holds for each shard an ``.npy`` file and, written last, a receipt with its
hash and that of what it was computed from. A shard that was made again has another content, so it is computed anew.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.config.identity import digest
from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import remove_temporary_files, write_durably
from posegen.dataset.layout import ROWS
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError
from posegen.machine import available_cores
from posegen.training.data.features import Recipe, View

__all__ = ["FOLDER", "cached_array", "keep_array", "kept_array", "prepare", "read_field", "view_of"]

Array = NDArray[Any]

FOLDER = "training"
_MOST_THREADS = 4


def view_of(dataset: Dataset, stride: int) -> View:
    """Tell how a model sees a dataset."""
    header = dataset.header
    names = header.field("action").attributes["names"]
    return View(-(-header.frames // stride), header.fps / stride, stride, tuple(str(name) for name in names))


def prepare(dataset: Dataset, recipes: Sequence[Recipe], view: View, tell: Callable[[int, int], None]) -> int:
    """Compute what is not there yet.

    Parameters
    ----------
    dataset : Dataset
    recipes : sequence of Recipe
    view : View
    tell : callable
        Is given how many shards are done, and of how many, after each.

    Returns
    -------
    int
        How many shards were computed.
    """
    header = dataset.header
    missing = [
        shard for shard in range(header.shards()) if not all(_is_there(dataset, recipe, view, shard) for recipe in recipes)
    ]
    if not missing:
        return 0
    place = dataset.path / FOLDER
    place.mkdir(exist_ok=True)
    threads = min(_MOST_THREADS, available_cores(), len(missing))
    with locked(place, current_run()), ThreadPoolExecutor(threads, "posegen-recipe") as pool:
        remove_temporary_files(place)
        for done, _ in enumerate(pool.map(partial(_compute, dataset, recipes, view), missing), 1):
            tell(done, len(missing))
    return len(missing)


def cached_array(dataset: Path, recipe: Recipe, view: View, shard: int) -> Array:
    """Open what was computed of a shard: [sample, variant, ...], as it lies on the disk.

    Raises
    ------
    PosegenError
        If it is missing or damaged.
    """
    folder = _folder(dataset, recipe, view)
    return _opened(folder, f"{shard:05d}")


def read_field(dataset: Dataset, name: str, samples: slice | Array) -> Array:
    """Read what a recipe takes of some samples: an array [sample, variant, ...], or their rows, as objects."""
    if name != ROWS:
        return dataset.arrays(name, samples)
    wanted = np.arange(len(dataset))[samples]
    rows = np.empty((len(wanted), len(dataset.header.variants)), object)
    for place, sample in enumerate(wanted.tolist()):
        rows[place] = dataset.rows(sample)
    return rows


def keep_array(folder: Path, name: str, values: Array, of: str) -> None:
    """Keep an array in a folder; when this returns, it is safe.

    Parameters
    ----------
    folder : Path
    name : str
    values : ndarray
    of : str
        What it was computed from.
    """
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    run = current_run()
    write_durably(folder / f"{name}.npy", file.getvalue(), run)
    receipt = {"of": of, "xxh3": xxhash.xxh3_128_hexdigest(values.data)}
    write_durably(folder / f"{name}.json", seal(receipt), run)


def kept_array(folder: Path, name: str, of: str) -> Array | None:
    """Open an array that was kept; None if there is none, or it was computed from something else.

    Raises
    ------
    PosegenError
        If it is damaged.
    """
    return _opened(folder, name) if _was_kept(folder, name, of) else None


_HEADERS = Lock()
"""NumPy parses a file's header as Python, which on Python 3.11 fails at times when several threads do it at once."""


@lru_cache(4096)
def _opened(folder: Path, name: str) -> Array:
    receipt = _receipt(folder, name)
    path = folder / f"{name}.npy"
    cure = f"Remove {folder} and run the same command again: it is computed anew"
    if receipt is None or not path.is_file():
        msg = f"{path}: is missing, though training is going on. {cure}"
        raise PosegenError(msg)
    with _HEADERS:
        # As a plain array: each piece of a memmap is one as well, and takes several times as long to make.
        values: Array = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    if xxhash.xxh3_128_hexdigest(values.data) != receipt["xxh3"]:
        msg = f"{path}: does not have the bytes that its receipt tells of. {cure}"
        raise PosegenError(msg)
    return values


def _compute(dataset: Dataset, recipes: Sequence[Recipe], view: View, shard: int) -> None:
    header = dataset.header
    first = shard * header.shard
    samples = slice(first, first + header.count(shard))
    wanted = [recipe for recipe in recipes if not _is_there(dataset, recipe, view, shard)]
    fields = {name: read_field(dataset, name, samples) for recipe in wanted for name in recipe.fields}
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in fields.items()}
    for recipe in wanted:
        values = recipe.compute(flat, view).astype(recipe.dtype)
        values = np.ascontiguousarray(values.reshape(-1, len(header.variants), *recipe.shape(view)))
        keep_array(_folder(dataset.path, recipe, view), f"{shard:05d}", values, _content(dataset, recipe, shard))


def _is_there(dataset: Dataset, recipe: Recipe, view: View, shard: int) -> bool:
    return _was_kept(_folder(dataset.path, recipe, view), f"{shard:05d}", _content(dataset, recipe, shard))


def _was_kept(folder: Path, name: str, of: str) -> bool:
    receipt = _receipt(folder, name)
    return receipt is not None and receipt.get("of") == of and (folder / f"{name}.npy").is_file()


def _receipt(folder: Path, name: str) -> dict[str, Any] | None:
    path = folder / f"{name}.json"
    try:
        return unseal(path.read_bytes(), Origin(str(path), "It is computed anew"))
    except (FileNotFoundError, PosegenError):
        return None


def _content(dataset: Dataset, recipe: Recipe, shard: int) -> str:
    hashes = dataset.hashes(shard)
    return digest({name: hashes[name] for name in recipe.fields})


@lru_cache(256)
def _folder(dataset: Path, recipe: Recipe, view: View) -> Path:
    return dataset / FOLDER / f"{recipe.name}-{recipe.version}-{view.stride}"
