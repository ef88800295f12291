"""Actions from words: a classifier predicts the actions of a sample from the words of its captions alone.

from posegen.foundations.arrays import Array

It is trained on four of five samples and tested on the fifth. With the captions of other samples it must fall to chance: the
score of always predicting the same, most frequent actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.datasets import ONLY_BASE, blocks
from benchmarks.figures import Figure
from benchmarks.measure import scaled

SAMPLES = 10_000
RECOVERED = 0.95
CHANCE = 0.02
"""Largest excess of shuffled captions over chance."""
HELD_BACK = 5
SEED = 5


def measure(folder: Path) -> Iterator[Figure]:
    captions, actions = read(scaled(SAMPLES, 500))
    found, size = recovered(captions, actions)
    name, target = f"actions classified from caption words alone, {size}", f"at least {RECOVERED:.2f}"
    yield Figure(name, f"micro-F1 {found:.4f}", target, found >= RECOVERED)
    shuffled, _ = recovered([captions[i] for i in np.random.default_rng(SEED).permutation(len(captions))], actions)
    least = chance(actions)
    passed = shuffled <= least + CHANCE
    target = f"at most {least:.4f} (chance) + {CHANCE}"
    yield Figure("control: captions of other samples", f"micro-F1 {shuffled:.4f}", target, passed)


def read(samples: int) -> tuple[list[str], list[frozenset[str]]]:
    """Return the captions of each sequence as one text, and the actions of its rows."""
    captions, actions = [], []
    for batch in blocks(samples, overrides=[ONLY_BASE]):
        for row in batch.rows:
            captions.append(" ".join(caption["text"] for caption in row["captions"]))
            actions.append(frozenset(segment["action"] for actor in row["actors"] for segment in actor["segments"]))
    return captions, actions


def recovered(captions: Sequence[str], actions: Sequence[frozenset[str]]) -> tuple[float, str]:
    """Train on most of the samples; return the micro-F1 of the rest, and a description of the data."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    held = np.arange(len(captions)) % HELD_BACK == 0
    words = CountVectorizer(binary=True, min_df=2).fit([c for c, back in zip(captions, held, strict=True) if not back])
    names = MultiLabelBinarizer().fit(actions)
    seen, truth = words.transform(captions), names.transform(actions)
    # It cannot predict actions that no training sample has.
    trained = truth[~held].any(axis=0)
    predicted = np.zeros_like(truth[held])
    classifier = OneVsRestClassifier(LinearSVC(C=0.5, random_state=SEED)).fit(seen[~held], truth[~held][:, trained])
    predicted[:, trained] = classifier.predict(seen[held])
    found = float(f1_score(truth[held], predicted, average="micro"))
    return found, f"{len(names.classes_)} actions, {len(words.vocabulary_)} words, {held.sum():,} test samples"


def chance(actions: Sequence[frozenset[str]]) -> float:
    """Return the micro-F1 of the best constant answer."""
    counts: dict[str, int] = {}
    for names in actions:
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    frequent = np.sort(list(counts.values()))[::-1]
    hits, named = np.cumsum(frequent), np.arange(1, len(frequent) + 1)
    return float((2 * hits / (named * len(actions) + frequent.sum())).max())
