"""Measure the agreement of int8 vectors with float32 on captions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.datasets import generate
from benchmarks.figures import Figure

MIN_AGREEMENT = 0.985
TEXTS = 1000
NEAREST = 10


def measure(folder: Path) -> Iterator[Figure]:
    from posegen.dataset.read import open_dataset
    from posegen.embedding import load_encoder

    dataset = open_dataset(generate(folder / "dataset", "--samples", "400"))
    lists = [dataset.captions(shard).column("captions").to_pylist() for shard in range(dataset.header.shards())]
    distinct = list(dict.fromkeys(text for captions in lists for texts in captions for text in texts))
    texts = distinct[:: max(1, len(distinct) // TEXTS)][:TEXTS]
    exact, small = load_encoder().encode(texts), load_encoder(precision="int8").encode(texts)
    cosines = (exact * small).sum(axis=1)
    yield Figure(
        f"cosine of int8 to float32, {len(texts):,} captions",
        f"least {cosines.min():.4f}, mean {cosines.mean():.4f}",
        f"at least {MIN_AGREEMENT}",
        bool(cosines.min() >= MIN_AGREEMENT),
    )
    shared = [len(set(a) & set(b)) / NEAREST for a, b in zip(_nearest(exact), _nearest(small), strict=True)]
    yield Figure(f"share of the {NEAREST} nearest captions that are the same", f"{100 * np.mean(shared):.0f} %")


def _nearest(vectors: np.ndarray) -> list[list[int]]:
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -1)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :NEAREST].tolist()
