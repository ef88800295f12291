"""Whether ``posegen search`` finds what somebody does by words that no caption has.

100 phrasings are looked for in the default dataset, as ``posegen generate`` makes it without options: 10,000 samples, so that
of the rarest actions, too, there are more than ten. A found sample is a hit if one of the phrasing's actions is among the
actions of the segments of the variant that was found, whatever its captions say: a faster variant has room for more segments.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.datasets import generate
from benchmarks.embed.phrasings import JUDGED, TRIED, Phrasing, phrasings, unfair, words_of_actions
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen
from posegen.embedding.search import Search, open_search

AT = 10
"""Samples that are looked at for each phrasing."""
PRECISION = 0.9
"""Share of hits among them, in the mean over all phrasings, at least."""


def measure(folder: Path) -> Iterator[Figure]:
    made = generate(folder / "dataset", "--workers", "2")
    subprocess.run(posegen("embed", made, "--quiet"), cwd=ROOT, check=True)
    yield from judged(made, open_search(made))


def judged(path: Path, search: Search) -> Iterator[Figure]:
    """Give the figures of a dataset that is ready to be searched."""
    asked, done = phrasings(JUDGED), actions_of(path)
    yield fairness(asked, list(search.embeddings.texts))
    shares = precisions(asked, done, search)
    by_phrasing = {phrasing.text: share for phrasing, share in zip(asked, shares, strict=True)}
    found = float(np.mean(shares))
    name = f"search by {len(asked)} phrasings that no caption has: precision at {AT}"
    yield Figure(name, f"{found:.3f}", f"at least {PRECISION}", found >= PRECISION, by_phrasing)
    chance = float(np.mean([hits(sorted(done), done, phrasing) for phrasing in asked]))
    yield Figure("the same for samples drawn at random", f"{chance:.3f}")
    tried = phrasings(TRIED)
    yield Figure(
        f"the same for the {len(tried)} that methods were chosen with", f"{np.mean(precisions(tried, done, search)):.3f}"
    )


def precisions(asked: list[Phrasing], done: dict[tuple[int, str], set[str]], search: Search) -> list[float]:
    """Search by each phrasing; give its share of hits."""
    return [hits([(one.sample, one.variant) for one in search.find(phrasing.text, AT)], done, phrasing) for phrasing in asked]


def fairness(asked: list[Phrasing], texts: list[str]) -> Figure:
    """Count the phrasings that captions give away. Words that search knows do not: that it knows them is what is judged."""
    words = words_of_actions()
    faults = {phrasing.text: unfair(phrasing, words, texts) for phrasing in asked}
    given_away = {text: reasons for text, reasons in faults.items() if reasons}
    name = "phrasings with a word that matters of the captions of their actions"
    return Figure(name, f"{len(given_away)} of {len(asked)}", "none", not given_away, given_away)


def actions_of(path: Path) -> dict[tuple[int, str], set[str]]:
    """Find the actions of each variant of each sample, by the labels of its segments."""
    table = pq.read_table(path / "sequences", columns=["sample", "variant", "actors"])
    return {
        (row["sample"], row["variant"]): {segment["action"] for actor in row["actors"] for segment in actor["segments"]}
        for row in table.to_pylist()
    }


def hits(sequences: list[tuple[int, str]], done: dict[tuple[int, str], set[str]], phrasing: Phrasing) -> float:
    """Share of sequences that do one of a phrasing's actions."""
    return float(np.mean([bool(done[sequence] & set(phrasing.actions)) for sequence in sequences]))
