"""Mine and read the pair table of a dataset's texts: near-duplicates and hard negatives of each text.

Among a text's nearest neighbours, a near-duplicate claims only what is true of the text's own sequences; a hard negative
claims something that is false of each of them by its labels: another action, side, direction, count or order. Neighbours that
are neither, because a claim may or may not be true, are omitted. No text is both.

::

    DATASET/embeddings/ENCODER/
      pairs/pairs.json            vectors and labels that the pairs were mined from, and the caps
      pairs/part-00000.parquet    pairs of a shard of texts: row, other, similarity, kind, reason
      receipts/pairs/00000.json   marks a shard complete; written last

>>> pairs = open_pairs("data/default-0")  # doctest: +SKIP
>>> pairs.negatives(0)  # texts that are similar to text 0 but false of its sequences  # doctest: +SKIP
array([412, 7, 96])
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.dataset.documents import Count, Document, Origin, seal
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.files import write_changed
from posegen.dataset.layout import Positive
from posegen.dataset.lock import locked
from posegen.dataset.overlays import commit_part, intact_receipt, load_overlay_header, read_overlay_receipt, read_part_table
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.tables import encode_table
from posegen.embedding.claims import KINDS, ClaimCollector, Claims
from posegen.embedding.neighbours import EXACT, find_neighbours, neighbour_index
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_positive
from posegen.foundations.hashing import byte_hash
from posegen.foundations.progress import Progress

PAIRS = "pairs"
HEADER_FILE = "pairs/pairs.json"
FORMAT_VERSION = 1
DUPLICATE, NEGATIVE = "duplicate", "negative"
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("other", pa.int64()),
        ("similarity", pa.float32()),
        ("kind", pa.string()),
        ("reason", pa.string()),
    ]
)
"""`reason` is the kind of the false claim of a negative, such as ``action`` or ``side``; empty for near-duplicates."""

SAMPLES = 50_000
"""Default number of samples whose texts have pairs: some 250,000 texts, whose vectors are held in memory."""
SHARD = 4096
"""Texts in a shard."""
NEIGHBOURS = 64
"""Neighbours examined for each text."""
SIMILARITY = 0.7
"""Least cosine of near-duplicates. Less similar texts would not be mistaken for each other."""
BLOCK = 1024
"""Texts whose neighbours are judged at the same time; it bounds memory."""


@dataclass(frozen=True)
class PairsHeader(Document):
    """Content of `pairs.json`.

    Attributes
    ----------
    format_version : int
    source : str
        Hash of the vectors, the rows of captions, the labels, and the settings that follow.
    samples : int
        Number of samples, from the first, whose texts have pairs.
    texts : int
        Number of their texts.
    shard : int
        Texts in a shard.
    neighbours, duplicates, negatives : int
        Neighbours examined for a text, and most pairs of each kind.
    similarity : float
        Least cosine of near-duplicates.
    index : str
        How neighbours were found: ``exact``, or with inverted ``lists``.
    """

    format_version: Count
    source: str
    samples: Count
    texts: Count
    shard: Positive
    neighbours: Count
    duplicates: Count
    negatives: Count
    similarity: float
    index: str

    @property
    def shards(self) -> int:
        """Number of shards."""
        return -(-self.texts // self.shard)


@dataclass(frozen=True)
class PairsResult:
    """Result of :func:`mine_pairs`.

    Attributes
    ----------
    path : Path
        Folder of the table.
    texts, duplicates, negatives : int
        Number of texts, and of pairs of each kind.
    index : str
        How neighbours were found.
    shards, made : int
        Shards of the table, and those that this run computed.
    seconds : float
    """

    path: AnyPath
    texts: int
    duplicates: int
    negatives: int
    index: str
    shards: int
    made: int
    seconds: float

    @property
    def nothing_to_do(self) -> bool:
        """Whether the table was complete before this run."""
        return self.made == 0


class PairTable:
    """Pairs of texts by row, opened by :func:`open_pairs`.

    Attributes
    ----------
    header : PairsHeader
    texts : int
        Number of texts that have pairs: those from row 0.
    table : pyarrow.Table
        All pairs: row, other, similarity, kind, reason.
    """

    def __init__(self, folder: AnyPath, header: PairsHeader, table: pa.Table) -> None:
        self.folder = folder
        self.header = header
        self.texts = header.texts
        self.table = table
        row, self._other = (table.column(name).to_numpy() for name in ("row", "other"))
        negative = pc.equal(table.column("kind"), NEGATIVE).to_numpy()
        # Pairs are sorted by row; the near-duplicates of a text precede its negatives.
        self._ends = np.searchsorted(2 * row + negative, np.arange(2 * self.texts), side="right")

    def __repr__(self) -> str:
        return f"<PairTable {self.folder}: {len(self.table)} pairs of {self.texts} texts>"

    def duplicates(self, row: int) -> Array:
        """Return the rows, int64, of the near-duplicates of a text, nearest first.

        They are similar to the text and true of its sequences, so they are no negatives for it.
        """
        return self._slice(row, 0)

    def negatives(self, row: int) -> Array:
        """Return the rows, int64, of the hard negatives of a text, nearest first.

        They are similar to the text and false of each of its sequences.
        """
        return self._slice(row, 1)

    def _slice(self, row: int, kind: int) -> Array:
        if not 0 <= row < self.texts:
            raise IndexError(f"there are no pairs of text {row}, only of the first {self.texts}")
        position = 2 * row + kind
        start = self._ends[position - 1] if position else 0
        part: Array = self._other[start : self._ends[position]]
        return part


def open_pairs(dataset: str | AnyPath, encoder: str | None = None) -> PairTable:
    """Open the pair table of a dataset's vectors.

    Parameters
    ----------
    dataset : str or Path
    encoder : str, optional
        Name of the vectors; not needed if there is only one set.

    Returns
    -------
    PairTable

    Raises
    ------
    UsageError
        If there is none.
    PosegenError
        If it is incomplete, damaged, or was mined from other vectors or labels; the message contains a hint.
    """
    embeddings = open_embeddings(dataset, encoder)
    folder = embeddings.folder
    command = f"posegen embed {dataset} --pairs"
    hint = f"Run `{command}`: it computes only what is missing or outdated"
    header = load_overlay_header(PairsHeader, folder / HEADER_FILE, hint)
    if header is None:
        raise UsageError(f"{folder}: has no pairs of texts yet. Run `{command}`")
    if _hash_source(open_dataset(dataset), embeddings, astuple(header)[2:]) != header.source:
        msg = f"{folder}: the pairs of texts were mined from other vectors, captions or labels than the current ones. {hint}"
        raise PosegenError(msg)
    parts = [SCHEMA.empty_table(), *(_read_shard(folder, header, shard, hint) for shard in range(header.shards))]
    return PairTable(folder, header, pa.concat_tables(parts))


def count_pairs(folder: AnyPath) -> tuple[int, int] | None:
    """Return the number of near-duplicates and of hard negatives beside the vectors in `folder`; None without a table.

    Raises
    ------
    FileNotFoundError, PosegenError
        If the table is incomplete or damaged.
    """
    header = load_overlay_header(PairsHeader, folder / HEADER_FILE, "")
    if header is None:
        return None
    numbers = [read_overlay_receipt(folder, PAIRS, shard).numbers for shard in range(header.shards)]
    return sum(each["duplicates"] for each in numbers), sum(each["negatives"] for each in numbers)


def _pairs_part(shard: int) -> str:
    return f"{PAIRS}/part-{shard:05}.parquet"


def _read_shard(folder: AnyPath, header: PairsHeader, shard: int, hint: str) -> pa.Table:
    origin = Origin(str(folder / _pairs_part(shard)), hint)
    try:
        receipt = read_overlay_receipt(folder, PAIRS, shard)
    except FileNotFoundError as error:
        raise origin.error("is not complete: it has no receipt") from error
    if receipt.source != header.source:
        raise origin.error("belongs to other pairs than the header")
    count = receipt.numbers["duplicates"] + receipt.numbers["negatives"]
    return read_part_table(folder, receipt, _pairs_part(shard), count, SCHEMA)


def mine_pairs(
    path: str | AnyPath,
    encoder: str | None = None,
    *,
    samples: int = SAMPLES,
    duplicates: int = 16,
    negatives: int = 16,
    progress: Progress | None = None,
) -> PairsResult:
    """Mine the pairs of a dataset's texts, and store them beside their vectors.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded.
    encoder : str, optional
        Name of the vectors; not needed if there is only one set.
    samples : int
        Number of samples, from the first, whose texts get pairs. Texts that later samples share get none, since the labels
        of those samples are not read.
    duplicates, negatives : int
        Most pairs of each kind per text.
    progress : Progress, optional
        Display of progress; silent by default.

    Returns
    -------
    PairsResult

    Raises
    ------
    UsageError
        If a cap is less than 1, or there are no embeddings.
    PosegenError
        If the dataset or its embeddings are damaged, or another process is at work.
    """
    for name, value in (("samples", samples), ("duplicates", duplicates), ("negatives", negatives)):
        require_positive(name, value)
    start, display = time.monotonic(), progress or Progress()
    dataset, embeddings = open_dataset(path), open_embeddings(path, encoder)
    folder = embeddings.folder
    with locked(folder):
        header = _new_header(dataset, embeddings, min(samples, len(dataset)), (duplicates, negatives))
        receipts = [intact_receipt(folder, PAIRS, shard) for shard in range(header.shards)]
        missing = [shard for shard, receipt in enumerate(receipts) if receipt is None or receipt.source != header.source]
        write_changed({folder / HEADER_FILE: seal(header, indent=2)})
        if missing:
            _mine_shards(dataset, embeddings, header, missing, display)
    near, hard = count_pairs(folder) or (0, 0)
    seconds = time.monotonic() - start
    return PairsResult(folder / PAIRS, header.texts, near, hard, header.index, header.shards, len(missing), seconds)


def _new_header(dataset: Dataset, embeddings: Embeddings, samples: int, caps: tuple[int, int]) -> PairsHeader:
    rows = embeddings.rows
    texts = int(rows.column("row").to_numpy()[rows.column("sample").to_numpy() < samples].max(initial=-1)) + 1
    index = "exact" if texts <= EXACT else "lists"
    settings = (samples, texts, SHARD, NEIGHBOURS, *caps, SIMILARITY, index)
    return PairsHeader(FORMAT_VERSION, _hash_source(dataset, embeddings, settings), *settings)


def _hash_source(dataset: Dataset, embeddings: Embeddings, settings: tuple[Any, ...]) -> str:
    """Return the hash of all that pairs depend on: the vectors' bytes, the rows of captions, the labels, and the settings."""
    kinds = {"vectors": embeddings.shards, "rows": dataset.header.shards()}
    receipts = [read_overlay_receipt(embeddings.folder, kind, shard) for kind, count in kinds.items() for shard in range(count)]
    hashes = [f"{name} {file.xxh3}" for receipt in receipts for name, file in sorted(receipt.files.items())]
    hashes += [dataset.rows_hash(shard) for shard in range(dataset.header.shards())]
    return byte_hash([repr((FORMAT_VERSION, *settings)).encode(), *(f"\n{each}".encode() for each in hashes)])


def _mine_shards(dataset: Dataset, embeddings: Embeddings, header: PairsHeader, missing: list[int], progress: Progress) -> None:
    claims, shared = _collect_claims(dataset, embeddings, header, progress)
    vectors = embeddings.vectors()[: header.texts]
    progress.start("mine pairs", header.texts, unit="texts")
    index = neighbour_index(vectors)
    for shard in missing:
        start, first = time.monotonic(), shard * header.shard
        count = min(header.shard, header.texts - first)
        blocks = []
        for begin in range(first, first + count, BLOCK):
            rows = np.arange(begin, min(begin + BLOCK, first + count))
            others, similarities = find_neighbours(index, vectors, rows, header.neighbours)
            own = ~shared[rows]
            blocks.append(_choose(rows[own], others[own], similarities[own], claims, header))
        table = pa.concat_tables(blocks).combine_chunks()
        hard = pc.sum(pc.equal(table.column("kind"), NEGATIVE)).as_py() or 0
        numbers = {"duplicates": len(table) - hard, "negatives": hard}
        files, seconds = {_pairs_part(shard): [encode_table(table)]}, time.monotonic() - start
        commit_part(embeddings.folder, PAIRS, shard, count, header.source, numbers, files, seconds=seconds)
        progress.update(first + count)
    progress.stop()


def _collect_claims(dataset: Dataset, embeddings: Embeddings, header: PairsHeader, progress: Progress) -> tuple[Claims, Array]:
    """Return the claims of texts, and whether later samples share each text."""
    collector, at = ClaimCollector(header.texts), 0
    rows, samples = (embeddings.rows.column(name).to_numpy() for name in ("row", "sample"))
    size = dataset.header.shard
    progress.start("read labels", header.samples)
    for shard in range(-(-header.samples // size)):
        table, done = dataset.table(shard), min(header.samples, (shard + 1) * size)
        start, at = at, int(np.searchsorted(samples, done))
        collector.add(table.filter(pc.less(table.column("sample"), header.samples)), rows[start:at])
        progress.update(done)
    progress.stop()
    shared = np.zeros(header.texts, bool)
    later = rows[at:]
    shared[later[later < header.texts]] = True
    return collector.finish(), shared


def _choose(rows: Array, others: Array, similarities: Array, claims: Claims, header: PairsHeader) -> pa.Table:
    """Return the pairs of some texts, sorted by row, near-duplicates before negatives, nearest first.

    Parameters
    ----------
    rows : int64 [n]
        The texts.
    others : int64 [n, neighbours]
        Their neighbours, nearest first; -1 for none.
    similarities : float32 [n, neighbours]
    claims : Claims
    header : PairsHeader
    """
    exists, safe = others >= 0, np.maximum(others, 0)
    wrong = claims.find_false(rows, safe)
    false = exists & (wrong < len(KINDS))
    alike = exists & ~false & (similarities >= header.similarity) & claims.find_true(rows, safe)
    found = [
        np.nonzero(chosen & (np.cumsum(chosen, axis=1) <= most))
        for chosen, most in ((alike, header.duplicates), (false, header.negatives))
    ]
    text, rank = (np.concatenate([where[axis] for where in found]) for axis in (0, 1))
    negative = np.repeat([False, True], [len(where[0]) for where in found])
    order = np.lexsort((rank, negative, text))
    text, rank, negative = text[order], rank[order], negative[order]
    kinds = pa.array([DUPLICATE, NEGATIVE]).take(pa.array(negative.astype(np.int64)))
    reasons = pa.array([*KINDS, ""]).take(pa.array(np.where(negative, wrong[text, rank], len(KINDS)).astype(np.int64)))
    return pa.table([rows[text], others[text, rank], similarities[text, rank], kinds, reasons], schema=SCHEMA)
