"""The pair table of a dataset's texts: for each text its near-duplicates and its hard negatives.

>>> pairs = open_pairs("data/default-0")  # doctest: +SKIP
>>> pairs.negatives(0)  # texts that are near in words, and false of what text 0 tells of  # doctest: +SKIP
array([412, 7, 96])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from posegen.dataset.documents import Origin
from posegen.dataset.embedding_layout import read_checked, read_overlay_receipt
from posegen.dataset.embeddings import open_embeddings
from posegen.dataset.read import open_dataset
from posegen.dataset.tables import UNDECODABLE, decode_table
from posegen.embedding.pairs_layout import NEGATIVE, PAIRS, SCHEMA, PairsHeader, load_pairs_header, pairs_part
from posegen.embedding.pairs_mining import PairsResult, mine_pairs, settings_of, source_of
from posegen.errors import PosegenError, UsageError

__all__ = ["PairTable", "PairsResult", "mine_pairs", "open_pairs"]

Array = NDArray[Any]


class PairTable:
    """Pairs of texts, by their rows; made by :func:`open_pairs`.

    Attributes
    ----------
    header : PairsHeader
        Of what it was made, and with what caps.
    texts : int
        How many texts it is of, those from row 0 on.
    table : pyarrow.Table
        All pairs: row, other, similarity, kind, reason.
    """

    def __init__(self, folder: Path, header: PairsHeader, table: pa.Table) -> None:
        self.folder = folder
        self.header = header
        self.texts = header.texts
        self.table = table
        row, self._other = (table.column(name).to_numpy() for name in ("row", "other"))
        negative = pc.equal(table.column("kind"), NEGATIVE).to_numpy()
        # The pairs of a text lie together, its near-duplicates before its negatives.
        self._ends = np.searchsorted(2 * row + negative, np.arange(2 * self.texts), side="right")

    def __repr__(self) -> str:
        return f"<PairTable {self.folder}: {len(self.table)} pairs of {self.texts} texts>"

    def duplicates(self, row: int) -> Array:
        """Give the near-duplicates of a text, nearest first: int64, rows of texts.

        They are near in words and true of the very sequences that the text is of: no negatives for it.
        """
        return self._part(2 * self._checked(row))

    def negatives(self, row: int) -> Array:
        """Give the hard negatives of a text, nearest first: int64, rows of texts.

        They are near in words and false of each sequence that the text is of.
        """
        return self._part(2 * self._checked(row) + 1)

    def _checked(self, row: int) -> int:
        if not 0 <= row < self.texts:
            msg = f"there are no pairs of text {row}, only of the first {self.texts}"
            raise IndexError(msg)
        return row

    def _part(self, number: int) -> Array:
        start = self._ends[number - 1] if number else 0
        part: Array = self._other[start : self._ends[number]]
        return part


def open_pairs(dataset: str | Path, encoder: str | None = None) -> PairTable:
    """Open the pair table that lies beside a dataset's vectors.

    Parameters
    ----------
    dataset : str or Path
    encoder : str, optional
        Whose vectors; the only ones there unless given.

    Returns
    -------
    PairTable

    Raises
    ------
    UsageError
        If there is none.
    PosegenError
        If it is not complete, damaged, or was made of other vectors or labels than there are now; names the cure.
    """
    embeddings = open_embeddings(dataset, encoder)
    folder = embeddings.folder
    command = f"posegen embed {dataset} --pairs"
    cure = f"Run `{command}`: it makes just what is missing or no longer fits"
    header = load_pairs_header(folder, cure)
    if header is None:
        msg = f"{folder}: has no pairs of texts yet. Run `{command}`"
        raise UsageError(msg)
    if source_of(open_dataset(dataset), embeddings, settings_of(header)) != header.source:
        msg = f"{folder}: the pairs of texts were made of other vectors, captions or labels than there are now. {cure}"
        raise PosegenError(msg)
    parts = [SCHEMA.empty_table(), *(_part(folder, header, shard, cure) for shard in range(header.shards))]
    return PairTable(folder, header, pa.concat_tables(parts))


def _part(folder: Path, header: PairsHeader, shard: int, cure: str) -> pa.Table:
    source = Origin(str(folder / pairs_part(shard)), cure)
    try:
        receipt = read_overlay_receipt(folder, PAIRS, shard)
    except FileNotFoundError as error:
        raise source.error("is not complete: it has no receipt") from error
    if receipt.source != header.source:
        raise source.error("is of other pairs than its header tells of")
    data = read_checked(folder, pairs_part(shard), receipt.files)
    try:
        table = decode_table(data, sum(receipt.numbers.values())).cast(SCHEMA)
    except UNDECODABLE as error:
        raise source.error(f"cannot be decoded ({error})") from error
    return table
