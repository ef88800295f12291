"""Likeness of captions to those that people wrote: shares of words and forms, and whether a classifier separates them.

Captions of people are read from the folder POSEGEN_CAPTIONS; without it, the shares are compared with those below alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.datasets import ONLY_BASE, blocks
from benchmarks.figures import Figure
from benchmarks.measure import scaled

SAMPLES = 2000
WITHIN = 0.05
AUC = 0.85
_NUMBER = r"\d+|two|three|four|five|six|seven|eight|nine|ten|once|twice"
PATTERNS = {
    "begins with a person": r"^a person\b",
    "left or right": r"\b(left|right)",
    "a number": rf"\b({_NUMBER})\b",
    "then, before, after, next": r"\b(then|before|after|next)\b",
    "a comma": ",",
    "counted steps": rf"\b({_NUMBER})( \w+)? steps\b|\ba step\b",
    "back, returns": r"\b(back|returns?)\b",
    "stands or stays in place": r"\b(stand|stay|stood)\w* in (place|position)",
    "swivel, pivot, rotate": r"\b(swivel|pivot|rotat)",
    "followed by": "followed by",
    "can be seen": "can be seen",
}
"""Regular expressions of what is counted in captions of small letters."""
HUMANML3D = {
    "begins with a person": 0.66,
    "capital": 0.0,
    "left or right": 0.45,
    "a number": 0.12,
    "then, before, after, next": 0.36,
    "a comma": 0.29,
    "counted steps": 0.05,
    "back, returns": 0.13,
    "stands or stays in place": 0.0,
    "swivel, pivot, rotate": 0.0,
    "followed by": 0.0,
    "can be seen": 0.0,
}
"""Shares in HumanML3D's captions."""


def shares(captions: Sequence[str]) -> dict[str, float]:
    """Return the share of the captions that have each of PATTERNS, and of those that begin with a capital letter."""
    small = [caption.lower() for caption in captions]
    counted = {name: np.mean([bool(re.search(pattern, text)) for text in small]) for name, pattern in PATTERNS.items()}
    return {name: float(share) for name, share in counted.items()} | {
        "capital": float(np.mean([caption[:1].isupper() for caption in captions]))
    }


def generated(samples: int, overrides: Sequence[str] = ()) -> list[str]:
    """Return all captions of the first samples of the default config, base variants only."""
    made = blocks(samples, "default", [ONLY_BASE, *overrides])
    return [caption["text"] for batch in made for row in batch.rows for caption in row["captions"]]


def written(name: str) -> list[str]:
    """Return the captions of people in a file of POSEGEN_CAPTIONS; none without the folder."""
    file = Path(os.environ.get("POSEGEN_CAPTIONS", "")) / f"{name}.tsv"
    lines = file.read_text("utf-8").splitlines()[1:] if file.is_file() else []
    return [line.split("\t")[1] for line in lines]


def separability(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the area under the curve of a logistic regression on words and pairs of words, in five folds; .5 is chance."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    draws, least = np.random.default_rng(0), min(len(one), len(other))
    texts = [texts[i] for texts in (one, other) for i in draws.permutation(len(texts))[:least]]
    labels = np.repeat([0, 1], least)
    counts = CountVectorizer(ngram_range=(1, 2)).fit_transform(texts)
    scores = cross_val_predict(LogisticRegression(max_iter=1000), counts, labels, cv=5, method="predict_proba")[:, 1]
    return float(roc_auc_score(labels, scores))


def compared(found: Mapping[str, float], people: Mapping[str, float]) -> Iterator[Figure]:
    """Yield each share with that of HumanML3D, and with that of the captions at hand."""
    for name, target in HUMANML3D.items():
        here = f"; {people[name]:.3f} in the captions compared" if people else ""
        yield Figure(
            f"captions with: {name}",
            f"{found[name]:.3f}{here}",
            f"{target:.2f} +- {WITHIN}",
            abs(found[name] - target) <= WITHIN,
        )


def measure(folder: Path) -> Iterator[Figure]:
    captions, people = generated(scaled(SAMPLES, 50)), written("humanml3d")
    words = float(np.mean([len(caption.split()) for caption in captions]))
    yield Figure("words of a caption, mean", f"{words:.1f}", "13.7 in HumanML3D")
    yield from compared(shares(captions), shares(people) if people else {})
    if people:
        apart = separability(captions, people)
        name = "generated or written by people, area under the curve (default actions)"
        yield Figure(name, f"{apart:.3f}", f"at most {AUC}", apart <= AUC)
