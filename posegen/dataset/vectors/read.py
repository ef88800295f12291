"""Reading embeddings: what is opened is checked, and what is damaged or missing is an error that says how to mend it."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from posegen.dataset.headers import load_header
from posegen.dataset.layout import Header
from posegen.dataset.vectors.layout import (
    MASK,
    ROWS_SCHEMA,
    TOKEN,
    VectorHeader,
    encoder_folder,
    encoders_at,
    folder_name,
    load_vector_header,
    rows_part,
)
from posegen.dataset.vectors.receipts import OverlayReceipt, read_checked, read_receipt
from posegen.dataset.vectors.shards import read_columns, read_object, read_texts
from posegen.errors import PosegenError, UsageError
from posegen.wording import did_you_mean, shown

__all__ = ["Embeddings", "Texts", "open_embeddings"]

Array = NDArray[Any]
_KEPT_BYTES = 256 << 20


class Texts(Sequence[str]):
    """Distinct texts by row, read shard by shard when they are asked for."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._kept: tuple[int, list[str]] = (-1, [])

    def __len__(self) -> int:
        return self._embeddings.count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = operator.index(index)
        if not -len(self) <= row < len(self):
            msg = f"there is no text {row}, only {len(self)}"
            raise IndexError(msg)
        shard, position = divmod(row % len(self), self._embeddings.header.shard)
        kept = self._kept
        if kept[0] != shard:
            kept = self._kept = shard, self._embeddings.texts_of(shard)
        return kept[1][position]

    def __iter__(self) -> Iterator[str]:
        for shard in range(self._embeddings.shards):
            yield from self._embeddings.texts_of(shard)


class Embeddings:
    """The vectors of a dataset's distinct captions, by one encoder; made by :func:`open_embeddings`.

    Attributes
    ----------
    folder : Path
    header : VectorHeader
    encoder : str
    dimension, count : int
        Length of a vector; how many distinct texts there are.
    texts : Texts
    """

    def __init__(
        self,
        folder: Path,
        header: VectorHeader,
        receipts: Mapping[str, Sequence[OverlayReceipt]],
        own: Header,
    ) -> None:
        self.folder = folder
        self.header = header
        self.encoder = header.encoder
        self.dimension = header.dimension
        self._rows, self._texts, self._vectors = (receipts[kind] for kind in ("rows", "texts", "vectors"))
        self._own = own
        self.count = sum(receipt.count for receipt in self._texts)
        self.shards = len(self._texts)
        self.texts = Texts(self)
        self._kept: OrderedDict[int, Array] = OrderedDict()
        self._tables: OrderedDict[int, Array] = OrderedDict()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<Embeddings {self.folder}: {self.count} texts, {self.dimension} dimensions>"

    def __reduce__(self) -> tuple[Any, ...]:
        return open_embeddings, (self.folder.parent.parent, self.folder.name)

    @property
    def source(self) -> str:
        """What the encoder is loaded by: its name, or its folder."""
        return str(self.header.told.get("source", self.encoder))

    @property
    def captions(self) -> int:
        """The most captions that a sequence has."""
        return max((receipt.numbers["captions"] for receipt in self._rows), default=0)

    @cached_property
    def rows(self) -> pa.Table:
        """For each caption of the dataset: sample, variant, caption (its number) and row (of its text)."""
        return pa.concat_tables([ROWS_SCHEMA.empty_table(), *(self._table(shard) for shard in range(len(self._rows)))])

    def vectors(self) -> Array:
        """Read all vectors: float32 [texts, dimension], of unit length."""
        all_vectors = np.empty((self.count, self.dimension), np.float32)
        for shard in range(self.shards):
            start = shard * self.header.shard
            all_vectors[start : start + self._texts[shard].count] = self._shard(shard)
        return all_vectors

    def take(self, rows: ArrayLike) -> Array:
        """Read the vectors of some texts.

        Parameters
        ----------
        rows : int [...]
            Numbers of texts; -1 for none.

        Returns
        -------
        float32 [..., dimension]
            NaN where there is none.
        """
        wanted = np.asarray(rows, np.int64)
        found = np.full((wanted.size, self.dimension), np.nan, np.float32)
        shards = np.where(wanted >= 0, wanted // self.header.shard, -1).ravel()
        for shard in np.unique(shards[shards >= 0]).tolist():
            here = np.flatnonzero(shards == shard)
            found[here] = self._shard(shard)[wanted.ravel()[here] % self.header.shard]
        return found.reshape(*wanted.shape, self.dimension)

    def tokens(self, rows: ArrayLike) -> tuple[Array, Array]:
        """Read the vectors of the tokens of some texts.

        Returns
        -------
        token : float32 [n, position, dimension]
            NaN where a text has no token.
        mask : bool [n, position]

        Raises
        ------
        UsageError
            If they were not kept.
        """
        if not self.header.positions:
            msg = f"{self.folder}: has no vectors of tokens. Run `posegen embed` with --tokens and a --name of its own"
            raise UsageError(msg)
        wanted = np.asarray(rows, np.int64).ravel()
        fields = {field.name: field for field in self.header.fields}
        parts = []
        for row in wanted.tolist():
            shard, position = divmod(row, self.header.shard)
            receipt = self._vectors[shard]
            parts.append([read_object(self.folder, self.header, receipt, fields[name], position) for name in (TOKEN, MASK)])
        empty = np.empty((0, self.header.positions, self.dimension), np.float32)
        token = np.concatenate([empty, *(part[0] for part in parts)], dtype=np.float32)
        return token, np.concatenate([empty[..., 0], *(part[1] for part in parts)]).astype(bool)

    def of_sequences(self, shard: int) -> Array:
        """Give the rows of the captions of a shard of the dataset: int64 [sample, variant, caption], -1 where there is none."""
        with self._lock:
            if shard in self._tables:
                self._tables.move_to_end(shard)
                return self._tables[shard]
        grid = self._grid(shard)
        with self._lock:
            self._tables[shard] = grid
            while len(self._tables) > 1 and sum(kept.nbytes for kept in self._tables.values()) > _KEPT_BYTES // 4:
                self._tables.popitem(last=False)
        return grid

    def of_sample(self, sample: int) -> Array:
        """Read the vectors of a sample's captions: float32 [variant, caption, dimension], NaN where there is none."""
        shard, position = divmod(sample, self._own.shard)
        return self.take(self.of_sequences(shard)[position])

    def texts_of(self, shard: int) -> list[str]:
        """Read the texts of a shard of texts."""
        return read_texts(self.folder, self._texts[shard])

    def _grid(self, shard: int) -> Array:
        table, samples = self._table(shard), self._rows[shard].count
        variants = self._own.variants
        sample, caption, row = (table.column(name).to_numpy() for name in ("sample", "caption", "row"))
        variant = pc.index_in(table.column("variant"), pa.array(variants)).to_numpy()
        grid = np.full((samples, len(variants), self.captions), -1, np.int64)
        grid[sample - shard * self._own.shard, variant, caption] = row
        return grid

    def _table(self, shard: int) -> pa.Table:
        receipt = self._rows[shard]
        name = rows_part(shard)
        data = read_checked(self.folder, name, receipt.files)
        return read_columns(self.folder, name, data, receipt.numbers["rows"], ROWS_SCHEMA)

    def _shard(self, shard: int) -> Array:
        """Vectors of a shard of texts, kept for a while."""
        with self._lock:
            if shard in self._kept:
                self._kept.move_to_end(shard)
                return self._kept[shard]
        values = read_object(self.folder, self.header, self._vectors[shard], self.header.fields[0]).astype(np.float32)
        with self._lock:
            self._kept[shard] = values
            while len(self._kept) > 1 and sum(kept.nbytes for kept in self._kept.values()) > _KEPT_BYTES:
                self._kept.popitem(last=False)
        return values


def open_embeddings(dataset: str | Path, encoder: str | None = None) -> Embeddings:
    """Open the embeddings that lie beside a dataset.

    Parameters
    ----------
    dataset : str or Path
    encoder : str, optional
        Name of the encoder, or of its folder; the only one there unless given.

    Returns
    -------
    Embeddings

    Raises
    ------
    UsageError
        If there are none, none by this encoder, or several and none is named.
    PosegenError
        If they are of another dataset, not complete, or damaged; names what, and the cure.
    """
    path = Path(dataset)
    own = load_header(path)
    folder = encoder_folder(path, _chosen(path, encoder))
    header = load_vector_header(folder)
    if header is None or header.identity != own.identity:
        msg = f"{folder}: holds embeddings of another dataset. Delete that folder and run `posegen embed {path}`"
        raise PosegenError(msg)
    return Embeddings(folder, header, _receipts(folder, header, own), own)


def _receipts(folder: Path, header: VectorHeader, own: Header) -> dict[str, list[OverlayReceipt]]:
    """Read all receipts, which must tell of all captions of the dataset."""
    goes_on = f"Run `posegen embed {folder.parent.parent}` as before: it does what is missing"
    try:
        rows = [read_receipt(folder, "rows", shard) for shard in range(own.shards())]
        distinct = max((receipt.numbers["distinct"] for receipt in rows), default=0)
        shards = range(-(-distinct // header.shard))
        texts, vectors = ([read_receipt(folder, kind, shard) for shard in shards] for kind in ("texts", "vectors"))
    except FileNotFoundError as error:
        msg = f"{folder}: is not complete: {Path(str(error.filename)).relative_to(folder)} is missing. {goes_on}"
        raise PosegenError(msg) from error
    behind = any(receipt.count < own.count(shard) for shard, receipt in enumerate(rows))
    if behind or sum(receipt.count for receipt in texts) < distinct:
        msg = f"{folder}: was made when the dataset had fewer samples. {goes_on}"
        raise PosegenError(msg)
    for of, receipt in zip(texts, vectors, strict=True):
        if receipt.source != header.source_of(of.source) or receipt.count != of.count:
            msg = f"{folder}: shard {of.shard} of its vectors is not of the texts that there are now. {goes_on}"
            raise PosegenError(msg)
    return {"rows": rows, "texts": texts, "vectors": vectors}


def _chosen(path: Path, encoder: str | None) -> str:
    known = encoders_at(path)
    if encoder is None and len(known) == 1:
        return known[0]
    if not known:
        msg = f"{path}: has no embeddings. Run `posegen embed {path}`"
        raise UsageError(msg)
    if encoder is None:
        msg = f"{path}: has embeddings by several encoders, {', '.join(known)}: name one of them"
        raise UsageError(msg)
    if folder_name(encoder) not in known:
        msg = f"{path}: has no embeddings by {shown(encoder)}{did_you_mean(encoder, known)}"
        raise UsageError(msg)
    return folder_name(encoder)
