"""Reading a dataset: what is opened is checked, and what is damaged or missing is an error that says how to mend it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zarr
from numpy.typing import ArrayLike, NDArray

from posegen.dataset.batches import Batches, make_batches
from posegen.dataset.batches.batches import THREADS, WINDOW
from posegen.dataset.checked import CheckedStore
from posegen.dataset.chunks import TEXT_EMBEDDING, Chunks
from posegen.dataset.complete import load_receipt
from posegen.dataset.descriptions import descriptions
from posegen.dataset.folders import check_folders
from posegen.dataset.guard import Guard, check_descriptions, guard_files
from posegen.dataset.headers import load_header
from posegen.dataset.layers import layer_receipt
from posegen.dataset.layout import ROWS, SEQUENCES, Header, Receipt
from posegen.dataset.limits import bytes_of_sample
from posegen.dataset.tables import UNDECODABLE, read_captions, read_table
from posegen.dataset.vectors.read import Embeddings, open_embeddings
from posegen.errors import PosegenError

__all__ = ["UNDECODABLE", "Dataset", "Sample", "only_shard", "open_dataset", "strange"]

_BLOCK_BYTES = 64 << 20
_MOST_BLOCK_BYTES = 1 << 30

Array = NDArray[Any]
_TABLES_KEPT = 4


@dataclass(frozen=True)
class Sample:
    """One sample with all its variants.

    Attributes
    ----------
    index : int
    arrays : dict of str to ndarray [variant, ...]
        Its values in each field; ``sample.joints`` is short for ``sample.arrays["joints"]``.
    sequences : list of dict
        For each variant, the row that tells of it.
    text_embedding : float32 [variant, caption, dimension]
        The vectors of its captions, of unit length, NaN where there is none; read when it is asked for.
    """

    index: int
    arrays: dict[str, Array]
    sequences: list[dict[str, Any]]
    vectors: Callable[[], Array] | None = field(default=None, repr=False, compare=False)

    @property
    def text_embedding(self) -> Array:
        """The vectors of its captions."""
        if self.vectors is None:
            msg = "this sample is of no dataset on disk, so it has no text_embedding"
            raise PosegenError(msg)
        return self.vectors()

    def __getattr__(self, name: str) -> Array:
        arrays = self.__dict__.get("arrays", {})
        if name not in arrays:
            msg = f"a sample has no {name!r}, only index, sequences, {', '.join(arrays)}"
            raise AttributeError(msg)
        return arrays[name]  # type: ignore[no-any-return]


class Dataset:
    """A dataset on disk, as many samples of it as its header says; made by :func:`open_dataset`.

    It is a sequence of samples: ``len(dataset)``, ``dataset[3]``, ``for sample in dataset``. All reading goes through checks.

    Attributes
    ----------
    path : Path
    header : Header
    """

    def __init__(self, path: Path, header: Header, guard: Guard, encoder: str | None = None) -> None:
        self.path = path
        self.header = header
        self._guard = guard
        self._encoder = encoder
        self._kept_table = lru_cache(_TABLES_KEPT)(self.table)

    def __repr__(self) -> str:
        return f"<Dataset {self.path}: {len(self)} samples of {len(self.header.variants)} variants>"

    def __reduce__(self) -> tuple[Any, ...]:
        return open_dataset, (self.path, self._encoder)

    def __len__(self) -> int:
        return self.header.samples

    def __iter__(self) -> Iterator[Sample]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> Sample:
        sample = self._index(index)
        arrays = {name: self.arrays(name, slice(sample, sample + 1))[0] for name in self.fields}
        return Sample(sample, arrays, self.rows(sample), partial(self.vectors_of, sample))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the array fields; those of a layer only if all of it is derived."""
        absent = {name.split("/")[1] for name in self._guard.absent}
        return tuple(field.name for field in self.header.all_fields if field.name not in absent)

    @cached_property
    def motion(self) -> zarr.Group:
        """The arrays, as a Zarr group that can only be read."""
        store = CheckedStore(self._guard, descriptions(self.header))
        return zarr.open_group(store, mode="r", zarr_format=3)

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vectors of its captions: those by the encoder that was named on opening, else the only ones there are."""
        return open_embeddings(self.path, self._encoder)

    @cached_property
    def sequences(self) -> pa.Table:
        """The table of sequences, read when it is first asked for; :meth:`table` reads that of one shard."""
        tables = [self.table(shard) for shard in range(self.header.shards())]
        if not tables:
            msg = f"{self.path}: has no samples yet. Run the generate command that made it again"
            raise PosegenError(msg)
        return pa.concat_tables(tables)

    def arrays(self, field: str, samples: slice | ArrayLike | None = None) -> Array:
        """Read a field of some samples.

        Parameters
        ----------
        field : str
        samples : slice or array of int, optional
            Which samples; all unless given. Each chunk is decoded once, whatever the order.

        Returns
        -------
        ndarray [n, variant, ...]
        """
        if field not in (entry.name for entry in self.header.all_fields):
            msg = f"{self.path}: has no field {field!r}, only {', '.join(self.fields)}"
            raise PosegenError(msg)
        array: Any = self.motion[field]
        if samples is None or isinstance(samples, slice):
            chosen = samples or slice(None)
            if chosen.step is None or chosen.step > 0:
                return self._decoded(field, array, chosen)
            samples = np.arange(len(self))[chosen]
        indices = np.asarray(samples) if np.size(samples) else np.zeros(0, np.int64)
        indices = np.flatnonzero(indices) if indices.dtype == bool else indices.astype(np.int64, casting="same_kind")
        return self._decoded(field, array.oindex, np.array([self._index(int(index)) for index in indices], np.int64))

    def blocks(self, field: str, start: int, stop: int, variant: int | None = None) -> Iterator[Array]:
        """Read a field of the samples from `start` to `stop`, some at a time, in memory that does not grow with a shard."""
        each, chunk = bytes_of_sample(self.header.field(field)), self.header.chunk
        # Whole chunks, so that each is decoded once, unless their samples together are too large.
        step = chunk * max(1, _BLOCK_BYTES // (chunk * each))
        step = step if step * each <= _MOST_BLOCK_BYTES else _MOST_BLOCK_BYTES // each
        for first in range(start, stop, step):
            block = slice(first, min(first + step, stop))
            yield self._decoded(field, self.motion[field], block if variant is None else (block, variant))

    def batches(
        self,
        size: int,
        *,
        seed: int = 0,
        fields: Sequence[str] | str | None = None,
        variants: Sequence[str] | str | None = None,
        window: int = WINDOW,
        epochs: int | None = 1,
        start: int = 0,
        drop_last: bool = False,
        lanes: int = 1,
        threads: int = THREADS,
    ) -> Batches:
        """Go through shuffled batches of sequences; the arguments are those of :func:`posegen.dataset.batches.make_batches`."""
        chunks = self.chunks(len(self))
        wants_vectors = fields is not None and TEXT_EMBEDDING in fields
        return make_batches(
            chunks.with_embeddings(self.embeddings) if wants_vectors else chunks,
            size,
            seed=seed,
            fields=self.fields if fields is None else fields,
            variants=variants,
            window=window,
            epochs=epochs,
            start=start,
            drop_last=drop_last,
            lanes=lanes,
            threads=threads,
        )

    def chunks(self, samples: int) -> Chunks:
        """Give the chunks of the first samples, as a source of batches."""
        return Chunks(replace(self._guard, header=self.header.with_samples(samples)))

    def rows(self, sample: int) -> list[dict[str, Any]]:
        """Read the rows of a sample, one for each variant."""
        shard, position = divmod(self._index(sample), self.header.shard)
        variants = len(self.header.variants)
        return self._kept_table(shard).slice(position * variants, variants).to_pylist()  # type: ignore[no-any-return]

    def table(self, shard: int) -> pa.Table:
        """Read the table of the sequences of one shard."""
        return read_table(self._guard, shard)

    def vectors_of(self, sample: int) -> Array:
        """Read the vectors of a sample's captions: float32 [variant, caption, dimension], NaN where there is none."""
        return self.embeddings.of_sample(self._index(sample))

    def captions(self, shard: int) -> pa.Table:
        """Read ``sample``, ``variant`` and ``captions``, as lists of texts, of the sequences of one shard."""
        return read_captions(self._guard, shard)

    def receipt(self, shard: int) -> Receipt:
        """Read the receipt of a shard."""
        return load_receipt(self.path, self.header, shard)

    def hashes(self, shard: int) -> dict[str, str]:
        """Look up the content hashes of a shard, those of its layers among them."""
        own = self.receipt(shard)
        layers = (layer for layer in self.header.layers if layer.fields[0].name in self.fields)
        count = self.header.count(shard)
        receipts = [layer_receipt(self.path, self.header, layer, own, count) for layer in layers]
        return {name: text for receipt in (*receipts, own) for name, text in receipt.content.items()}

    def sizes(self) -> dict[str, int]:
        """Bytes on disk of each field and of the rows, by name."""
        sizes = dict.fromkeys((*(field.name for field in self.header.all_fields), ROWS), 0)
        for name, file in self._guard.files.items():
            folder, _, rest = name.partition("/")
            sizes[ROWS if folder == SEQUENCES else rest.partition("/")[0]] += file.bytes
        return sizes

    def _decoded(self, field: str, array: Any, chosen: slice | tuple[slice, int] | Array) -> Array:
        try:
            return np.asarray(array[chosen])
        except UNDECODABLE as error:
            msg = f"{self.path}: {field} cannot be decoded ({error}). `posegen verify {self.path}` says in which shard"
            raise PosegenError(msg) from error

    def _index(self, index: int) -> int:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            msg = f"{self.path}: has no sample {position}, there are {len(self)}"
            raise IndexError(msg)
        return position % len(self)


@contextmanager
def strange(path: str | Path) -> Iterator[None]:
    """Say in words that a dataset, sound as it may be, does not hold what posegen writes into one."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"{path}: does not hold what a dataset of posegen holds ({type(error).__name__}: {error!s:.200}). Make it anew"
        raise PosegenError(msg) from error


def only_shard(path: Path, header: Header, receipt: Receipt) -> Dataset:
    """Open a dataset for just one shard, as many samples as are in it, though fewer may be visible.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    receipt : Receipt
        Of the shard, or of a layer of it: only what it tells of can be read.
    """
    own = header.with_samples(receipt.first + receipt.count)
    shards = dict.fromkeys(receipt.files, receipt.shard)
    return Dataset(path, own, Guard(path, own, receipt.files, shards, {receipt.shard: receipt.count}))


def open_dataset(path: str | Path, encoder: str | None = None) -> Dataset:
    """Open a dataset, checking its header, its arrays' descriptions, its receipts and the sizes of all files.

    Bytes are hashed when a file is first touched.

    Parameters
    ----------
    path : str or Path
        Its folder.
    encoder : str, optional
        Whose vectors of captions are meant, where several encoders' lie beside it.

    Returns
    -------
    Dataset

    Raises
    ------
    PosegenError
        If it is not a dataset, or anything is missing or damaged; names the shard and the cure.
    """
    folder = Path(path)
    header = load_header(folder)
    check_folders(folder, header)
    check_descriptions(folder, header)
    return Dataset(folder, header, guard_files(folder, header), encoder)
