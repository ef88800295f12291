"""The report on a dataset's embeddings: one page with a map of its texts, counts, and what lies next to what.

The page stands for itself: it loads nothing from elsewhere and runs no script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.embedding_layout import read_overlay_receipt
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.files import write_durably
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.runs import current_run
from posegen.embedding.neighbours import neighbour_index
from posegen.embedding.pairs_labels import KINDS, Numbering, labels_of
from posegen.embedding.pairs_layout import PAIRS, load_pairs_header
from posegen.embedding.report_map import POINTS, places_of, spread
from posegen.embedding.report_page import page
from posegen.errors import PosegenError

__all__ = ["Report", "write_report"]

Array = NDArray[Any]

FILE = "report.html"
EXAMPLES, NEAREST = 12, 4


@dataclass(frozen=True)
class Report:
    """What the page shows.

    Attributes
    ----------
    title : str
    facts : list of (str, str)
        Names and figures.
    places : float64 [points, 2]
        Of texts on the map, from 0 to 1.
    how : str
        How they were laid out.
    texts, actions : list of str
        Of each point: what it says, and the rarest action that it tells of.
    counts : list of (str, int)
        How many texts tell of each action, the most told first.
    examples : list of (str, list of (str, float))
        Texts, and those nearest to them with their cosines.
    """

    title: str
    facts: list[tuple[str, str]]
    places: Array
    how: str
    texts: list[str]
    actions: list[str]
    counts: list[tuple[str, int]]
    examples: list[tuple[str, list[tuple[str, float]]]]


def write_report(path: str | Path, encoder: str | None = None, points: int = POINTS) -> Path:
    """Write the report on the embeddings of a dataset beside them.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded already.
    encoder : str, optional
        Whose vectors; the only ones there unless given.
    points : int
        Texts on the map at most.

    Returns
    -------
    Path
        Of the page.

    Raises
    ------
    UsageError
        If there are no embeddings.
    PosegenError
        If the dataset or its embeddings are damaged.
    """
    dataset, embeddings = open_dataset(path), open_embeddings(path, encoder)
    told, counts = _told(dataset, embeddings)
    shown = spread(embeddings.count, points)
    vectors = embeddings.vectors()
    places, how = places_of(vectors[shown])
    frequency = dict(counts)
    rarest = [min(told.get(row, ("none",)), key=lambda action: (frequency.get(action, 0), action)) for row in shown.tolist()]
    texts = [embeddings.texts[row] for row in shown.tolist()]
    title = f"{Path(path).resolve().name}: {embeddings.count:,} texts by {embeddings.encoder}"
    facts = _facts(dataset, embeddings, len(shown))
    report = Report(title, facts, places, how, texts, rarest, counts, _examples(embeddings, vectors))
    target = embeddings.folder / FILE
    write_durably(target, page(report).encode(), current_run())
    return target


def _told(dataset: Dataset, embeddings: Embeddings) -> tuple[dict[int, tuple[str, ...]], list[tuple[str, int]]]:
    """Find the actions that each text tells of, and count how many texts tell of each."""
    numbering, pairs, at = Numbering(), [], 0
    rows = embeddings.rows.column("row").to_numpy()
    for shard in range(dataset.header.shards()):
        labels = labels_of(dataset.table(shard), numbering)
        caption, claim = labels.claimed
        kinds, actions = (np.array([each[place] for each in numbering.claims], np.int64) for place in (0, 1))
        action = kinds[claim] == KINDS.index("action")
        pairs.append(np.unique(np.stack([rows[at + caption[action]], actions[claim[action]]], axis=1), axis=0))
        at += int(labels.captions.sum())
    names = {number: word for word, number in numbering.words.items()}
    found: dict[int, tuple[str, ...]] = {}
    every = np.unique(np.concatenate([np.zeros((0, 2), np.int64), *pairs]), axis=0)
    for row, action in every.tolist():
        found[row] = (*found.get(row, ()), names[action])
    counts = Counter(names[action] for action in every[:, 1].tolist())
    return found, sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _facts(dataset: Dataset, embeddings: Embeddings, shown: int) -> list[tuple[str, str]]:
    captions = len(embeddings.rows)
    facts = [
        ("samples", f"{len(dataset):,}"),
        ("captions", f"{captions:,}"),
        ("distinct texts", f"{embeddings.count:,} ({captions / max(1, embeddings.count):.1f} captions each)"),
        ("dimensions", f"{embeddings.dimension:,}"),
        ("on the map", f"{shown:,}"),
    ]
    return facts + _pairs(embeddings)


def _pairs(embeddings: Embeddings) -> list[tuple[str, str]]:
    try:
        header = load_pairs_header(embeddings.folder, "")
        receipts = [read_overlay_receipt(embeddings.folder, PAIRS, shard) for shard in range(header.shards if header else 0)]
    except (FileNotFoundError, PosegenError):
        return []  # not complete, or damaged: `posegen embed --pairs` tells of that
    names = {"duplicates": "near-duplicates", "negatives": "hard negatives"}
    sums = {name: sum(receipt.numbers[name] for receipt in receipts) for name in names}
    return [(names[name], f"{total:,} pairs") for name, total in sums.items()] if header else []


def _examples(embeddings: Embeddings, vectors: Array) -> list[tuple[str, list[tuple[str, float]]]]:
    rows = spread(embeddings.count, EXAMPLES)
    others, near = neighbour_index(vectors).neighbours(vectors, rows, NEAREST)
    texts: Sequence[str] = embeddings.texts
    return [
        (texts[row], [(texts[other], float(cosine)) for other, cosine in zip(*found, strict=True) if other >= 0])
        for row, *found in zip(rows.tolist(), others.tolist(), near.tolist(), strict=True)
    ]
