"""Whether captions alone tell what is done: a classifier that sees only which words occur names a sample's actions.

It is trained on the captions of four samples of five and asked for the fifth. With each sample given the captions of another
one it must fall to chance: to what naming always the same, most frequent actions gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.motion.clips import scaled
from benchmarks.story.blocks import ONLY_BASE, blocks

Array = NDArray[Any]

SAMPLES = 10_000
RECOVERED = 0.95
CHANCE = 0.02
"""By how much shuffled captions may seem to tell more than chance."""
HELD_BACK = 5
SEED = 5


def measure(folder: Path) -> Iterator[Figure]:
    captions, actions = read(scaled(SAMPLES, 500))
    found, told = recovered(captions, actions)
    yield Figure(
        f"actions named from the words of captions alone, {told}",
        f"micro-F1 {found:.4f}",
        f"at least {RECOVERED:.2f}",
        found >= RECOVERED,
    )
    shuffled, _ = recovered([captions[i] for i in np.random.default_rng(SEED).permutation(len(captions))], actions)
    least = chance(actions)
    good = shuffled <= least + CHANCE
    yield Figure(
        "the same with captions of other samples", f"micro-F1 {shuffled:.4f}", f"at most {least:.4f} (chance) + {CHANCE}", good
    )


def read(samples: int) -> tuple[list[str], list[frozenset[str]]]:
    """Give captions, all of a sample in one text, and the actions that the rows tell."""
    captions, actions = [], []
    for batch in blocks(samples, overrides=[ONLY_BASE]):
        for row in batch.rows:
            captions.append(" ".join(caption["text"] for caption in row["captions"]))
            actions.append(frozenset(segment["action"] for actor in row["actors"] for segment in actor["segments"]))
    return captions, actions


def recovered(captions: Sequence[str], actions: Sequence[frozenset[str]]) -> tuple[float, str]:
    """Train on most of the samples; give the micro-F1 of the rest, and what there was in words."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    held = np.arange(len(captions)) % HELD_BACK == 0
    words = CountVectorizer(binary=True, min_df=2).fit([c for c, back in zip(captions, held, strict=True) if not back])
    names = MultiLabelBinarizer().fit(actions)
    seen, truth = words.transform(captions), names.transform(actions)
    # What no sample does that it learns from, it cannot name.
    taught = truth[~held].any(axis=0)
    said = np.zeros_like(truth[held])
    classifier = OneVsRestClassifier(LinearSVC(C=0.5, random_state=SEED)).fit(seen[~held], truth[~held][:, taught])
    said[:, taught] = classifier.predict(seen[held])
    found = float(f1_score(truth[held], said, average="micro"))
    return found, f"{len(names.classes_)} actions, {len(words.vocabulary_)} words, {held.sum():,} samples held back"


def chance(actions: Sequence[frozenset[str]]) -> float:
    """Give the micro-F1 of the best answer that is always the same."""
    counts: dict[str, int] = {}
    for names in actions:
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    frequent = np.sort(list(counts.values()))[::-1]
    hits, named = np.cumsum(frequent), np.arange(1, len(frequent) + 1)
    return float((2 * hits / (named * len(actions) + frequent.sum())).max())
