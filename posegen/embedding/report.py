"""Write the report on a dataset's embeddings: one page with a map of its texts, counts, and nearest texts.

The layout is in the template ``report.html.j2``. The page is self-contained: it loads nothing and runs no script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.files import write_durably
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.embedding.claims import extract_labels, parse_claims
from posegen.embedding.neighbours import find_neighbours, neighbour_index
from posegen.embedding.pairs import count_pairs
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.foundations.templates import fill_template

FILE = "report.html"
EXAMPLES, NEAREST = 12, 4
MAX_POINTS = 2500
"""Most texts on the map: more would hide each other, and t-SNE is slow."""
PERPLEXITY = 30.0
COLOURS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#393b79"),
    *("#637939", "#8c6d31", "#843c39", "#7b4173", "#3182bd", "#31a354", "#756bb1", "#e6550d", "#c51b8a", "#02818a"),
)
GREY = "#c4c4c4"
"""Colour of the other actions."""
WIDTH, HEIGHT, MARGIN = 1000, 760, 12


def write_report(path: str | AnyPath, encoder: str | None = None, points: int = MAX_POINTS) -> AnyPath:
    """Write the report on the embeddings of a dataset beside them.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded.
    encoder : str, optional
        Name of the vectors; not needed if there is only one set.
    points : int
        Most texts on the map.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    UsageError
        If there are no embeddings.
    PosegenError
        If the dataset or its embeddings are damaged.
    """
    dataset, embeddings = open_dataset(path), open_embeddings(path, encoder)
    actions, counts = _actions_of_texts(dataset, embeddings)
    rows = even_rows(embeddings.count, points)
    vectors = embeddings.vectors()
    positions, layout = layout_plane(vectors[rows])
    frequency = dict(counts)
    page = render_page(
        title=f"{dataset.path.resolve().name}: {embeddings.count:,} texts by {embeddings.encoder}",
        facts=_facts(dataset, embeddings, len(rows)),
        positions=positions,
        layout=layout,
        texts=[embeddings.texts[row] for row in rows.tolist()],
        actions=[
            min(actions.get(row, ("none",)), key=lambda action: (frequency.get(action, 0), action)) for row in rows.tolist()
        ],
        counts=counts,
        examples=_examples(embeddings, vectors),
    )
    target = embeddings.folder / FILE
    write_durably(target, page.encode())
    return target


def render_page(*, positions: Array, texts: Sequence[str], actions: Sequence[str], **values: Any) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    positions : float64 [points, 2]
        Positions of texts on the map, from 0 to 1.
    texts, actions : sequence of str
        Text of each point, and the rarest action in it.
    **values
        What else the template shows: ``title``; ``facts``, as names and values; ``layout``, the name of the method; ``counts``
        of texts by action; ``examples``, texts with their nearest texts and the cosines of these.
    """
    frequency = Counter(actions)
    frequent = sorted(frequency, key=lambda action: (-frequency[action], action))
    colours = dict(zip(frequent, COLOURS, strict=False))
    points = [
        (MARGIN + x * (WIDTH - 2 * MARGIN), MARGIN + (1 - y) * (HEIGHT - 2 * MARGIN), colours.get(action, GREY), action, text)
        for (x, y), action, text in zip(positions.tolist(), actions, texts, strict=True)
    ]
    points.sort(key=lambda point: point[2] != GREY)  # grey points first: they hide no others
    key = [(action, colour, frequency[action]) for action, colour in colours.items()]
    if rest := len(actions) - sum(count for *_, count in key):
        key.append(("others", GREY, rest))
    template = Path(__file__).parent / "report.html.j2"
    return fill_template(template, points=points, key=key, width=WIDTH, height=HEIGHT, **values)


def _actions_of_texts(dataset: Dataset, embeddings: Embeddings) -> tuple[dict[int, tuple[str, ...]], list[tuple[str, int]]]:
    """Return the actions that each text claims, and the number of texts of each action."""
    index: dict[str, int] = {}
    at, pairs = 0, [np.zeros((0, 2), np.int64)]
    rows = embeddings.rows.column("row").to_numpy()
    for shard in range(dataset.header.shards()):
        labels = extract_labels(dataset.table(shard), index)
        caption, claim = labels.claimed.nonzero()
        pairs.append(np.unique(np.stack([rows[at + caption], claim], axis=1), axis=0))
        at += len(labels.sequence)
    claims = parse_claims(index)
    found: dict[int, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for row, claim in np.unique(np.concatenate(pairs), axis=0).tolist():
        kind, action, _ = claims[claim]
        if kind == "action":
            found[row] = (*found.get(row, ()), action)
            counts[action] += 1
    return found, sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _facts(dataset: Dataset, embeddings: Embeddings, points: int) -> list[tuple[str, str]]:
    captions = len(embeddings.rows)
    facts = [
        ("samples", f"{len(dataset):,}"),
        ("captions", f"{captions:,}"),
        ("distinct texts", f"{embeddings.count:,} ({captions / max(1, embeddings.count):.1f} captions each)"),
        ("dimensions", f"{embeddings.dimension:,}"),
        ("on the map", f"{points:,}"),
    ]
    with suppress(FileNotFoundError, PosegenError):  # incomplete or damaged, which `posegen embed --pairs` reports
        if pairs := count_pairs(embeddings.folder):
            facts += [("near-duplicates", f"{pairs[0]:,} pairs"), ("hard negatives", f"{pairs[1]:,} pairs")]
    return facts


def _examples(embeddings: Embeddings, vectors: Array) -> list[tuple[str, list[tuple[str, float]]]]:
    rows, texts = even_rows(embeddings.count, EXAMPLES), embeddings.texts
    others, near = find_neighbours(neighbour_index(vectors), vectors, rows, NEAREST)
    return [
        (texts[row], [(texts[other], cosine) for other, cosine in zip(*found, strict=True) if other >= 0])
        for row, *found in zip(rows.tolist(), others.tolist(), near.tolist(), strict=True)
    ]


def even_rows(count: int, most: int) -> Array:
    """Return at most `most` of the rows 0 to count - 1, evenly spaced.

    >>> even_rows(10, 4).tolist()
    [0, 2, 5, 7]
    """
    return np.arange(min(count, most)) * count // max(1, min(count, most))


def layout_plane(vectors: Array) -> tuple[Array, str]:
    """Project vectors to a plane: by t-SNE if there are enough, else by principal components.

    Parameters
    ----------
    vectors : float32 [n, dimension]

    Returns
    -------
    positions : float [n, 2]
        From 0 to 1.
    layout : str
        ``t-SNE`` or ``principal components``.
    """
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import minmax_scale
    from threadpoolctl import threadpool_limits

    if len(vectors) <= 3 * PERPLEXITY:
        left, values, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        flat = np.zeros((len(vectors), 2))
        flat[:, : len(values)] = (left * values)[:, :2]
        return minmax_scale(flat), "principal components"
    model = TSNE(2, perplexity=PERPLEXITY, init="pca", metric="cosine", random_state=1, max_iter=500)
    # Its threads synchronise at every step. On a busy machine one thread is faster than several.
    with threadpool_limits(1):
        return minmax_scale(model.fit_transform(vectors)), "t-SNE"
