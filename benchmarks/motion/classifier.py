"""Accuracy on mocap of a classifier that is trained on generated motion alone.

It is trained on excerpts of generated clips and their mirror images, and predicts the family of each mocap clip whose family
is in the library. The subjects are split into two halves: classifier, features and noise of the training clips are chosen on
the mocap clips of one half, and the clips of the other half are predicted by them. Both halves are predicted in this way: one
of them alone has three clips of a single subject in some families, so a choice among 64 designs on it is chance. The reference
is the same classifier trained on mocap clips of other subjects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import Captured, captured, fit, folds_by_subject, lacking
from benchmarks.motion.features import FEATURES, SETS, mirrored, pieces, roughened
from benchmarks.motion.scripted import excerpts
from posegen.evaluation.performances import ACTIONS
from posegen.foundations.arrays import Array
from posegen.library.load import Library, load_library

TARGET = 0.80
SAMPLES = 200
MOST = 100
"""Number of generated excerpts of a family, before mirroring."""
LONGEST = 2.0
"""Longest duration in seconds of the pieces that clips are cut into."""
TRAINING = ("as made", "roughened")
SEED = 4

Design = tuple[str, str, str]
"""Classifier, features, training."""


@dataclass(frozen=True)
class Pieces:
    """Pieces of clips: their features by set, families, clips and subjects."""

    figures: Mapping[str, Array]
    families: Array
    clips: Array
    persons: Array

    def seen_as(self, features: str) -> Array:
        """Return the features of the sets that a classifier uses."""
        return np.hstack([self.figures[name] for name in FEATURES[features]])


def measure(folder: Path) -> Iterator[Figure]:
    name = "balanced accuracy on mocap clips, classifier trained on generated motion"
    clips = captured()
    if clips is None:
        yield Figure(name, "not measured: POSEGEN_REFERENCE is not set", f"balanced accuracy {TARGET:.2f}")
        return
    library = load_library()
    families = fit(clips)
    missing = lacking(families, library.actions)
    shared = {family: of_it for family, of_it in families.items() if family not in missing}
    real = [clip for of_it in shared.values() for clip in of_it]
    ours = generated(shared, library)
    shared_names = f"{len(shared)} families: {', '.join(shared)}"
    yield Figure("families of the classifier", f"{shared_names}; the library lacks {', '.join(missing) or 'none'}")
    asked, truth = described(real), np.array([clip.family for clip in real])
    first = folds_by_subject([clip.person for clip in real], truth.tolist(), 2) == 0
    found = dict(_designs(ours, asked, len(truth)))
    by_half = [_chosen(found, truth, half) for half in (first, ~first)]
    yield from _tried({design: balanced(said, truth) for design, said in found.items()})
    # A clip is predicted by the design that was chosen on the clips of the other half.
    held = np.where(first, found[by_half[1]], found[by_half[0]])
    used = "; ".join(
        f"{', '.join(design)}: {balanced(found[design][half], truth[half]):.2f} where it was chosen, "
        f"{balanced(found[design][~half], truth[~half]):.2f} on the other half"
        for design, half in zip(by_half, (first, ~first), strict=True)
    )
    accuracy = balanced(held, truth)
    measured = f"{accuracy:.2f} of {len(truth)} clips ({used}); chance is {1 / len(shared):.2f}"
    yield Figure(name, measured, f"balanced accuracy {TARGET:.2f}", accuracy >= TARGET)
    among = cross_validated(classifiers()[by_half[0][0]], by_half[0][1], asked, len(truth))
    yield Figure("the first of these designs, trained on mocap of other subjects", f"{balanced(among, truth):.2f}")
    yield from _confusion(held, truth, "generated motion")
    yield from _confusion(among, truth, "mocap")


def _chosen(found: Mapping[Design, Array], truth: Array, half: Array) -> Design:
    """Return the design that recognises most on the clips of one half."""
    return max(found, key=lambda design: balanced(found[design][half], truth[half]))


def balanced(said: Array, truth: Array) -> float:
    """Return the balanced accuracy: the mean over the families of the share of their clips that are recognised."""
    from sklearn.metrics import recall_score

    return float(recall_score(truth, said, labels=np.unique(truth), average="macro", zero_division=0))


def _designs(ours: Sequence[Captured], asked: Pieces, clips: int) -> Iterator[tuple[Design, Array]]:
    """Predict all clips by each design."""
    for training in TRAINING:
        seen = described(ours, rough=training == "roughened", mirror=True)
        for features in FEATURES:
            for kind, make in classifiers().items():
                yield (kind, features, training), answered(make(), features, seen, asked, clips)


def classifiers() -> Mapping[str, Callable[[], Any]]:
    """Return the classifiers; each scales its features and gives each family the same weight."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return {
        "logistic regression": lambda: make_pipeline(
            StandardScaler(), LogisticRegression(C=0.01, class_weight="balanced", max_iter=1000)
        ),
        "random forest": lambda: RandomForestClassifier(
            150, min_samples_leaf=2, class_weight="balanced_subsample", random_state=SEED
        ),
        "support vectors": lambda: make_pipeline(StandardScaler(), SVC(C=1.0, gamma="scale", class_weight="balanced")),
        "nearest neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(9, weights="distance")),
    }


def generated(shared: Mapping[str, object], library: Library) -> list[Captured]:
    """Return excerpts of each family, with the same number for each of its actions."""
    found = []
    for family in shared:
        actions = [name for name in ACTIONS[family] if name in library.actions]
        for action in actions:
            some = islice(excerpts(library, action, scaled(SAMPLES, 20)), MOST // len(actions))
            found += [Captured(stretch.name, family, stretch.person, stretch.joints, stretch.fps) for stretch in some]
    return found


def described(clips: Sequence[Captured], *, rough: bool = False, mirror: bool = False) -> Pieces:
    """Cut clips into pieces and compute the features of each."""
    draws = np.random.default_rng(SEED)
    figures: dict[str, list[Array]] = {name: [] for name in SETS}
    families, numbers, persons = [], [], []
    for number, clip in enumerate(clips):
        for whole in (clip.joints, mirrored(clip.joints)) if mirror else (clip.joints,):
            for piece in pieces(roughened(whole, draws) if rough else whole, clip.fps, LONGEST):
                for name, describe in SETS.items():
                    figures[name].append(describe(piece, clip.fps))
                families.append(clip.family)
                numbers.append(number)
                persons.append(clip.person)
    described_by = {name: np.array(values) for name, values in figures.items()}
    return Pieces(described_by, np.array(families), np.array(numbers), np.array(persons))


def answered(classifier: Any, features: str, seen: Pieces, asked: Pieces, clips: int) -> Array:
    """Train on the first set, and predict each clip of the second one by the majority of its pieces."""
    classifier.fit(seen.seen_as(features), seen.families)
    return _majority(classifier.predict(asked.seen_as(features)), asked, clips)


def cross_validated(make: Callable[[], Any], features: str, asked: Pieces, clips: int) -> Array:
    """Predict the clips of each subject by a classifier trained on all other subjects."""
    from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

    pieces, others = asked.seen_as(features), LeaveOneGroupOut()
    return _majority(cross_val_predict(make(), pieces, asked.families, groups=asked.persons, cv=others), asked, clips)


def _majority(said: Array, asked: Pieces, clips: int) -> Array:
    """Return the most frequent prediction of the pieces of each clip; empty for a clip that is too short for a piece."""
    names, numbers = np.unique(said, return_inverse=True)
    votes = np.zeros((clips, len(names)))
    np.add.at(votes, (asked.clips, numbers), 1.0)
    return np.where(votes.any(-1), names[votes.argmax(-1)], "")


def _tried(found: Mapping[Design, float]) -> Iterator[Figure]:
    """Report the best accuracy of each choice over all other choices; the detail has every design."""
    detail = {", ".join(design): round(accuracy, 3) for design, accuracy in found.items()}
    for place, choice in enumerate(("classifier", "figures", "training")):
        best: dict[str, float] = {}
        for design, accuracy in found.items():
            best[design[place]] = max(best.get(design[place], 0.0), accuracy)
        measured = ", ".join(f"{name} {accuracy:.2f}" for name, accuracy in sorted(best.items(), key=lambda item: -item[1]))
        yield Figure(f"choice of the {choice}: the best of its {len(found)} designs, all clips", measured, "", None, detail)


def _confusion(said: Array, truth: Array, trained: str) -> Iterator[Figure]:
    for family in np.unique(truth):
        names, counts = np.unique(said[truth == family].astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        measured = ", ".join(f"{names[k] or 'nothing'} {counts[k]}" for k in order)
        yield Figure(f"trained on {trained}, takes {family} for", measured)
