"""Accuracy on mocap of a classifier that is trained on generated motion alone.

It is trained on excerpts of generated clips and their mirror images, and predicts the family of each mocap clip whose family
is in the library. Features, classifier and noise of the training clips are chosen on the mocap clips of one half of the
subjects; the reported accuracy is measured on the other half. The reference is the same classifier trained on mocap clips of
other subjects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.motion.clips import Captured, captured, scaled
from benchmarks.motion.excerpts import excerpts
from benchmarks.motion.features import FEATURES, SETS, mirrored, pieces, roughened
from benchmarks.motion.shared_families import first_half, fit, lacking
from posegen.evaluation.families import ACTIONS
from posegen.library.load import Library, load_library

Array = NDArray[Any]

TARGET = 0.60
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

    def __getitem__(self, chosen: Array) -> Pieces:
        figures = {name: values[chosen] for name, values in self.figures.items()}
        return Pieces(figures, self.families[chosen], self.clips[chosen], self.persons[chosen])

    def seen_as(self, features: str) -> Array:
        """Return the features of the sets that a classifier uses."""
        return np.hstack([self.figures[name] for name in FEATURES[features]])


@dataclass(frozen=True)
class Answer:
    """Predicted and true families of clips."""

    said: Array
    families: Array

    @property
    def balanced(self) -> float:
        """Return the balanced accuracy: the mean over the families of the share of their clips that are recognised."""
        return float(np.mean([(self.said == name)[self.families == name].mean() for name in np.unique(self.families)]))


Answers = tuple[Answer, Answer]
"""Names of the clips used to choose a design, and of the held-out clips."""


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
    first = first_half([clip.person for clip in real], truth.tolist())
    found = dict(_designs(ours, asked, truth, first))
    yield from _tried({design: chosen.balanced for design, (chosen, _) in found.items()})
    kind, features, training = best = max(found, key=lambda design: found[design][0].balanced)
    chosen, held = found[best]
    beside = f"{chosen.balanced:.2f} where it was chosen; chance is {1 / len(shared):.2f}"
    measured = f"{held.balanced:.2f} of {len(held.said)} clips, {beside}"
    used = f"{kind}, {features}, {training}"
    yield Figure(f"{name}: {used}", measured, f"balanced accuracy {TARGET:.2f}", held.balanced >= TARGET)
    among = cross_validated(classifiers()[kind], features, asked, truth)
    half = Answer(among.said[~first], among.families[~first])
    measured = f"{half.balanced:.2f}; {among.balanced:.2f} of the clips of both halves"
    yield Figure("the same, classifier trained on mocap of other subjects", measured)
    yield from _confusion(held, "generated motion")
    yield from _confusion(half, "mocap")


def _designs(ours: Sequence[Captured], asked: Pieces, families: Array, first: Array) -> Iterator[tuple[Design, Answers]]:
    """Evaluate each design on the clips of both halves."""
    for training in TRAINING:
        seen = described(ours, rough=training == "roughened", mirror=True)
        for features in FEATURES:
            for kind, make in classifiers().items():
                said = answered(make(), features, seen, asked, len(families))
                yield (kind, features, training), (Answer(said[first], families[first]), Answer(said[~first], families[~first]))


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
    said = classifier.predict(asked.seen_as(features))
    names = np.unique(np.concatenate([seen.families, asked.families]))
    votes = np.zeros((clips, len(names)))
    np.add.at(votes, (asked.clips, np.searchsorted(names, said)), 1.0)
    # A clip that is too short for a piece has no prediction.
    return np.where(votes.any(-1), names[votes.argmax(-1)], "")


def cross_validated(make: Callable[[], Any], features: str, asked: Pieces, truth: Array) -> Answer:
    """Predict the clips of each subject by a classifier trained on all other subjects."""
    said = np.full(len(truth), "", dtype=object)
    for person in np.unique(asked.persons):
        theirs = asked.persons == person
        answers = answered(make(), features, asked[~theirs], asked[theirs], len(truth))
        own = np.unique(asked.clips[theirs])
        said[own] = answers[own]
    return Answer(said, truth)


def _tried(found: Mapping[Design, float]) -> Iterator[Figure]:
    """Report the best accuracy of each choice over all other choices; the detail has every design."""
    detail = {", ".join(design): round(accuracy, 3) for design, accuracy in found.items()}
    for place, choice in enumerate(("classifier", "figures", "training")):
        best: dict[str, float] = {}
        for design, accuracy in found.items():
            best[design[place]] = max(best.get(design[place], 0.0), accuracy)
        measured = ", ".join(f"{name} {accuracy:.2f}" for name, accuracy in sorted(best.items(), key=lambda item: -item[1]))
        yield Figure(f"choice of the {choice}: the best of its {len(found)} designs, first half", measured, "", None, detail)


def _confusion(answer: Answer, trained: str) -> Iterator[Figure]:
    for family in np.unique(answer.families):
        names, counts = np.unique(answer.said[answer.families == family].astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        measured = ", ".join(f"{names[k] or 'nothing'} {counts[k]}" for k in order)
        yield Figure(f"trained on {trained}, takes {family} for", measured)
