"""Mining pairs of texts: near-duplicates, which are no negatives for training, and hard negatives, which are.

Of a text's nearest neighbours, a near-duplicate is one that claims nothing but what is true of the text's own sequences; a hard
negative is one that claims something that is false of each of them by its labels: another action, side, direction, count or
order. What is neither, since it may or may not be true, is left out. So no text is both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from posegen.dataset.embedding_layout import read_overlay_receipt
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.files import remove_temporary_files, write_durably
from posegen.dataset.layout import rows_path
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.runs import current_run
from posegen.dataset.tables import encode_table
from posegen.embedding.neighbours import EXACT, neighbour_index
from posegen.embedding.pairs_choice import Caps, Pairs, choose
from posegen.embedding.pairs_claims import Claims, Gathering
from posegen.embedding.pairs_labels import KINDS
from posegen.embedding.pairs_layout import (
    DUPLICATE,
    FORMAT_VERSION,
    HEADER_FILE,
    NEGATIVE,
    PAIRS,
    SCHEMA,
    PairsHeader,
    load_pairs_header,
    pairs_part,
)
from posegen.embedding.parts import commit, sound_receipt
from posegen.errors import PosegenError, UsageError
from posegen.hashing import byte_hash

__all__ = ["PairsResult", "mine_pairs", "settings_of", "source_of"]

Array = NDArray[Any]
_Tell = Callable[[str, int, int], None]

SAMPLES = 50_000
"""Samples whose texts have pairs, unless more are asked for: some 250,000 texts, whose vectors are held in memory."""
SHARD = 4096
"""Texts in a shard."""
NEIGHBOURS = 64
"""Neighbours that are looked at for each text."""
SIMILARITY = 0.7
"""Cosine that near-duplicates have at least: less alike, they would not be taken for one another anyway."""
TOGETHER = 1024
"""Texts whose neighbours are judged at once, for the sake of memory."""


@dataclass(frozen=True)
class PairsResult:
    """What there is in the end.

    Attributes
    ----------
    path : Path
        Folder of the table.
    texts, duplicates, negatives : int
        Texts, and pairs of each kind.
    index : str
        How neighbours were found.
    shards, made : int
        Shards of the table, and those of them that this run made.
    seconds : float
    """

    path: Path
    texts: int
    duplicates: int
    negatives: int
    index: str
    shards: int
    made: int
    seconds: float

    @property
    def nothing_to_do(self) -> bool:
        """Whether all was there already."""
        return self.made == 0


def mine_pairs(
    path: str | Path,
    encoder: str | None = None,
    *,
    samples: int = SAMPLES,
    duplicates: int = 16,
    negatives: int = 16,
    progress: _Tell | None = None,
) -> PairsResult:
    """Mine the pairs of a dataset's texts, and write them down beside their vectors.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded already.
    encoder : str, optional
        Whose vectors; the only ones there unless given.
    samples : int
        Samples from the first whose texts get pairs. A text that later samples have, too, gets none, since
        those are not looked at.
    duplicates, negatives : int
        Pairs of each kind that a text has at most.
    progress : callable, optional
        Told what is done, how many of it are done, and of how many.

    Returns
    -------
    PairsResult

    Raises
    ------
    UsageError
        If a cap is less than 1, or there are no embeddings.
    PosegenError
        If the dataset or its embeddings are damaged, or another run is at work.
    """
    for name, value in (("samples", samples), ("duplicates", duplicates), ("negatives", negatives)):
        if value < 1:
            msg = f"{name} must be at least 1 (got {value})"
            raise UsageError(msg)
    start, tell = time.monotonic(), progress or (lambda what, done, total: None)
    dataset, embeddings = open_dataset(path), open_embeddings(path, encoder)
    folder, run = embeddings.folder, current_run()
    with locked(folder, run):
        remove_temporary_files(folder)
        header = _header(dataset, embeddings, min(samples, len(dataset)), (duplicates, negatives))
        sound = [sound_receipt(folder, PAIRS, shard) for shard in range(header.shards)]
        missing = [shard for shard, receipt in enumerate(sound) if receipt is None or receipt.source != header.source]
        if _there(folder) != header:
            write_durably(folder / HEADER_FILE, header.to_bytes(), run)
        if missing:
            _mine(dataset, embeddings, header, missing, run, tell)
    counts = [read_overlay_receipt(folder, PAIRS, shard).numbers for shard in range(header.shards)]
    near, hard = (sum(count[kind] for count in counts) for kind in ("duplicates", "negatives"))
    seconds = time.monotonic() - start
    return PairsResult(folder / PAIRS, header.texts, near, hard, header.index, header.shards, len(missing), seconds)


def _header(dataset: Dataset, embeddings: Embeddings, samples: int, caps: tuple[int, int]) -> PairsHeader:
    rows = embeddings.rows
    texts = int(rows.column("row").to_numpy()[rows.column("sample").to_numpy() < samples].max(initial=-1)) + 1
    index = "exact" if texts <= EXACT else "lists"
    settings = (samples, texts, SHARD, NEIGHBOURS, *caps, SIMILARITY, index)
    return PairsHeader(FORMAT_VERSION, source_of(dataset, embeddings, settings), *settings)


def settings_of(header: PairsHeader) -> tuple[Any, ...]:
    """Give what a header tells of its pairs, besides their source."""
    return astuple(header)[2:]


def _there(folder: Path) -> PairsHeader | None:
    try:
        return load_pairs_header(folder, "")
    except PosegenError:
        return None  # it is written anew


def source_of(dataset: Dataset, embeddings: Embeddings, settings: tuple[Any, ...]) -> str:
    """Hash all that pairs depend on: the vectors' bytes, the rows of captions, the labels, and the settings."""
    kinds = {"vectors": embeddings.shards, "rows": dataset.header.shards()}
    receipts = [read_overlay_receipt(embeddings.folder, kind, shard) for kind, count in kinds.items() for shard in range(count)]
    told = [f"{name} {file.xxh3}" for receipt in receipts for name, file in sorted(receipt.files.items())]
    told += [dataset.receipt(shard).files[rows_path(shard)].xxh3 for shard in range(dataset.header.shards())]
    return byte_hash([repr((FORMAT_VERSION, *settings)).encode(), *(f"\n{each}".encode() for each in told)])


def _mine(dataset: Dataset, embeddings: Embeddings, header: PairsHeader, missing: list[int], run: str, tell: _Tell) -> None:
    claims, shared = _claims(dataset, embeddings, header, tell)
    vectors = embeddings.vectors()[: header.texts]
    tell("making the index of texts", 0, header.texts)
    index, caps = neighbour_index(vectors), Caps(header.similarity, header.duplicates, header.negatives)
    for shard in missing:
        start, first = time.monotonic(), shard * header.shard
        count = min(header.shard, header.texts - first)
        parts = []
        for begin in range(first, first + count, TOGETHER):
            rows = np.arange(begin, min(begin + TOGETHER, first + count))
            found = index.neighbours(vectors, rows, header.neighbours)
            own = ~shared[rows]
            parts.append(choose(rows[own], found[0][own], found[1][own], claims, caps))
        pairs = Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        negatives = int(pairs.negative.sum())
        numbers, seconds = {"duplicates": len(pairs.row) - negatives, "negatives": negatives}, time.monotonic() - start
        files = {pairs_part(shard): [encode_table(_table(pairs))]}
        commit(embeddings.folder, PAIRS, shard, count, header.source, numbers, files, run, seconds=seconds)
        tell("mining pairs of texts", first + count, header.texts)


def _claims(dataset: Dataset, embeddings: Embeddings, header: PairsHeader, tell: _Tell) -> tuple[Claims, Array]:
    """Gather the claims of texts, and which texts are of later samples, too."""
    gathering, at = Gathering(), 0
    rows, samples = (embeddings.rows.column(name).to_numpy() for name in ("row", "sample"))
    size = dataset.header.shard
    for shard in range(-(-header.samples // size)):
        table, done = dataset.table(shard), min(header.samples, (shard + 1) * size)
        start, at = at, int(np.searchsorted(samples, done))
        gathering.add(table.filter(pc.less(table.column("sample"), header.samples)), rows[start:at])
        tell("reading labels", done, header.samples)
    shared = np.zeros(header.texts, bool)
    later = rows[at:]
    shared[later[later < header.texts]] = True
    return gathering.finish(header.texts), shared


def _table(pairs: Pairs) -> pa.Table:
    kinds = pa.array([DUPLICATE, NEGATIVE]).take(pa.array(pairs.negative.astype(np.int64)))
    reasons = pa.array([*KINDS, ""]).take(pa.array(pairs.reason))
    return pa.table([pairs.row, pairs.other, pairs.similarity, kinds, reasons], schema=SCHEMA)
