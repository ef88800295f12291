"""Measure the default encoder: texts per second of processor time, and the actions of the nearest captions.

Rates are of processor time of all threads, which other processes change less than the time on the clock. A core does less per
second while the other ones are busy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.datasets import caption_texts, generate
from benchmarks.embed.phrasings import JUDGED, TRIED, phrasings
from benchmarks.figures import Figure
from posegen.dataset.read import Dataset, open_dataset
from posegen.embedding import Encoder, load_encoder
from posegen.embedding.encoder import Runner

MOST = 4096
"""Most texts that are embedded to measure the rate."""
SHARD = 2048
"""Texts prepared at a time, as by `posegen embed`."""
NEAREST = 10
WORKERS = 2


def measure(folder: Path) -> Iterator[Figure]:
    yield from compared(generate(folder / "dataset", "--workers", "2"))


def compared(path: Path) -> Iterator[Figure]:
    """Yield the measures of the encoder for a dataset."""
    dataset = open_dataset(path)
    texts, segments = list(dict.fromkeys(caption_texts(dataset))), _segments(dataset)
    asked = phrasings(JUDGED) + phrasings(TRIED)
    encoder, chosen = load_encoder(workers=WORKERS), texts[:: max(1, len(texts) // MOST)][:MOST]
    yield Figure(f"{encoder.name}: texts a second of processor time", f"{_rate(encoder, chosen):,.0f}")
    queries = encoder.encode([one.text for one in asked], as_query=True)
    vectors = encoder.encode([text for text, _ in segments])
    near = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :NEAREST]
    right = [[segments[row][1] in one.actions for row in rows] for one, rows in zip(asked, near.tolist(), strict=True)]
    subject = f"share of the {NEAREST} captions of segments nearest to {len(asked)} phrases that have the right action"
    yield Figure(f"{encoder.name}: {subject}", f"{100 * np.mean(right):.0f} % of {len(segments):,} captions of segments")


def _rate(encoder: Encoder, texts: list[str]) -> float:
    """Return the texts embedded per second of processor time, tokenisation included."""
    runner = Runner(encoder, encoder.budget, WORKERS, notify=print)
    start, done = time.process_time(), 0
    for first in range(0, len(texts), SHARD):
        done += sum(len(chosen) for chosen, _ in runner.run(texts[first : first + SHARD]))
    return done / (time.process_time() - start)


def _segments(dataset: Dataset) -> list[tuple[str, str]]:
    """Return the distinct captions of segments, with their actions."""
    tables = [dataset.table(shard).column("actors").to_pylist() for shard in range(dataset.header.shards())]
    own = [segment for rows in tables for actors in rows for actor in actors for segment in actor["segments"]]
    return list(dict.fromkeys((segment["text"], segment["action"]) for segment in own))
