"""Measure the precision of ``posegen search`` for phrases whose words no caption uses.

100 phrases are searched in 10,000 samples of the default config with up to two actors, which have more than ten samples of the
rarest actions; alone, nobody hugs or shakes hands. A match is a hit if one of the phrase's actions is among the actions of the
segments of the matched variant, whatever its captions state: a faster variant can have more segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.datasets import generate
from benchmarks.embed.phrasings import JUDGED, TRIED, Phrasing, phrasings, unfair, words_of_actions
from benchmarks.figures import Figure
from benchmarks.measure import run
from posegen.embedding.search import Search, open_search

AT = 10
"""Number of matches evaluated per phrase."""
PRECISION = 0.9
"""Least mean share of hits among them."""


def measure(folder: Path) -> Iterator[Figure]:
    made = generate(folder / "dataset", "--workers", "2", "--set", "story.actors.max=2")
    run("embed", made)
    yield from judged(made, open_search(made))


def judged(path: Path, search: Search) -> Iterator[Figure]:
    """Yield the measures of a dataset prepared for search."""
    asked, done = phrasings(JUDGED), actions_of(path)
    yield fairness(asked, list(search.embeddings.texts))
    shares = precisions(asked, done, search)
    by_phrasing = {phrasing.text: share for phrasing, share in zip(asked, shares, strict=True)}
    found = float(np.mean(shares))
    name = f"search with {len(asked)} phrases that no caption uses: precision@{AT}"
    yield Figure(name, f"{found:.3f}", f"at least {PRECISION}", found >= PRECISION, by_phrasing)
    chance = float(np.mean([hits(sorted(done), done, phrasing) for phrasing in asked]))
    yield Figure("precision of random samples", f"{chance:.3f}")
    tried = phrasings(TRIED)
    precision = np.mean(precisions(tried, done, search))
    yield Figure(f"precision@{AT} for the {len(tried)} phrases used for development", f"{precision:.3f}")


def precisions(asked: list[Phrasing], done: dict[tuple[int, str], set[str]], search: Search) -> list[float]:
    """Search for each phrase and return its share of hits."""
    return [hits([(one.sample, one.variant) for one in search.find(phrasing.text, AT)], done, phrasing) for phrasing in asked]


def fairness(asked: list[Phrasing], texts: list[str]) -> Figure:
    """Count the phrases that share content words with captions. Related phrases of search may share them: they are measured."""
    words = words_of_actions()
    faults = {phrasing.text: unfair(phrasing, words, texts) for phrasing in asked}
    unfair_phrases = {text: reasons for text, reasons in faults.items() if reasons}
    name = "phrases that share a content word with the captions of their actions"
    return Figure(name, f"{len(unfair_phrases)} of {len(asked)}", "none", not unfair_phrases, unfair_phrases)


def actions_of(path: Path) -> dict[tuple[int, str], set[str]]:
    """Return the actions of each variant of each sample, by the labels of its segments."""
    table = pq.read_table(path / "sequences", columns=["sample", "variant", "actors"])
    return {
        (row["sample"], row["variant"]): {segment["action"] for actor in row["actors"] for segment in actor["segments"]}
        for row in table.to_pylist()
    }


def hits(sequences: list[tuple[int, str]], done: dict[tuple[int, str], set[str]], phrasing: Phrasing) -> float:
    """Return the share of sequences that contain one of a phrase's actions."""
    return float(np.mean([bool(done[sequence] & set(phrasing.actions)) for sequence in sequences]))
