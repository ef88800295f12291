"""Decisions whether two clips show the same person: thresholds at false accept rates, and what they promise for unseen persons.

A threshold is calibrated on the validation split. Its persons were never trained on, except in a run on own clips of few
persons, whose thresholds promise nothing for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from pydantic import TypeAdapter

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, uniform
from posegen.training.predictions import NamedClip, motion_inputs
from posegen.training.run_folder import RESULT, read_document
from posegen.training.trained_models import SHORTEST, TrainedModel, load_model

FALSE_ACCEPT_RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_RESAMPLINGS = 200
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of clips: float score [pair], and int64 person [pair, 2]."""

    score: Array
    person: Array


@dataclass(frozen=True)
class Rate:
    """A threshold and its error rates.

    Attributes
    ----------
    far : float
        False accept rate: share of pairs of two persons whose score exceeds the threshold.
    threshold : float
    tar : float
        True accept rate: share of pairs of one person whose score exceeds it.
    tar_low, tar_high : float
        95 % prediction interval of the rate for another group of as many unseen persons.
    persons : int
        Persons on which the threshold was calibrated.
    """

    far: float
    threshold: float
    tar: float
    tar_low: float
    tar_high: float
    persons: int


def calibrated_rates(same: ScoredPairs, other: ScoredPairs) -> list[Rate]:
    """Return the threshold at each of :data:`FALSE_ACCEPT_RATES` that the pairs determine, at least one false accept.

    The interval is computed by resampling persons twice, since pairs that share a person are not independent: the threshold is
    that of the first resampling, the rate that of the second.

    Parameters
    ----------
    same, other : ScoredPairs
        Pairs of one person, and of two.
    """
    persons = np.unique(np.concatenate([same.person.ravel(), other.person.ravel()]))
    drawn = uniform(0, np.arange(2 * _RESAMPLINGS), Stream.AUGMENT, len(persons))
    counts = np.stack([np.bincount((row * len(persons)).astype(np.int64), minlength=len(persons)) for row in drawn])
    of_same = counts[:, np.searchsorted(persons, same.person[:, 0])]
    first, second = np.searchsorted(persons, other.person).T
    of_other = counts[:, first] * counts[:, second]
    rates = []
    for far in FALSE_ACCEPT_RATES:
        if far * len(other.score) < 1:
            continue
        limit = threshold(other.score, np.ones(len(other.score)), far)
        resampled = []
        for one, two in zip(of_other[:_RESAMPLINGS], of_same[_RESAMPLINGS:], strict=True):
            if one.any() and two.any():
                resampled.append(float(two[same.score > threshold(other.score, one, far)].sum() / two.sum()))
        low, high = np.quantile(resampled, _INTERVAL).tolist() if resampled else (0.0, 1.0)
        rates.append(Rate(far, limit, float((same.score > limit).mean()), low, high, len(persons)))
    return rates


def threshold(scores: Array, weights: Array, far: float) -> float:
    """Return the lowest of some scores that at most a share `far` of their weight exceeds.

    Examples
    --------
    >>> threshold(np.array([0.1, 0.5, 0.3, 0.2]), np.ones(4), 0.25)
    0.3
    """
    order = np.argsort(scores)[::-1]
    above = np.cumsum(weights[order]) - weights[order]
    exceeding = above <= far * weights.sum() + 1e-9
    return float(scores[order[np.flatnonzero(exceeding)[-1]]])


@dataclass(frozen=True)
class Decision:
    """A decision about two clips.

    Attributes
    ----------
    same : bool
        Whether they show the same person.
    similarity : float
    rate : Rate
        The threshold with its rates.
    known_persons : bool
        Whether the model was trained on the persons of the rates, which are then not valid for others.
    """

    same: bool
    similarity: float
    rate: Rate
    known_persons: bool = False

    def text(self) -> str:
        """Return the decision as one line for the user."""
        rate = self.rate
        verdict, sign = ("same person", ">") if self.same else ("different persons", "<=")
        promise = f"true accept rate {100 * rate.tar:.1f} % ({100 * rate.tar_low:.1f} to {100 * rate.tar_high:.1f})"
        persons = f"{rate.persons} " + ("known persons: not valid for others" if self.known_persons else "unseen persons")
        return (
            f"{verdict}: similarity {self.similarity:.3f} {sign} {rate.threshold:.3f}, the threshold at a false accept rate of "
            f"{100 * rate.far:g} %; {promise} on {persons}"
        )


def compare_clips(run: Path, one: Iterable[NamedClip], two: Iterable[NamedClip], far: float = 0.01) -> Decision:
    """Decide whether two recordings show the same person.

    Parameters
    ----------
    run : Path
        Run of the task identity.
    one, two : iterable of NamedClip
        The clips of each recording; the similarity is the mean cosine of all pairs.
    far : float
        False accept rate, one of :data:`FALSE_ACCEPT_RATES`.

    Raises
    ------
    UsageError
        If the run has another task or no threshold at this rate, or a recording is too short.
    """
    trained, result = load_model(run, "calibrate"), read_document(run, RESULT)
    if result is None or "rates" not in result["table"]:
        raise UsageError(f"{run}: has no calibrated thresholds. Train it again with this version, into another folder")
    known = {rate["far"]: rate for rate in result["table"]["rates"]}
    if far not in known:
        rates = ", ".join(f"{rate:g}" for rate in known) or "none"
        is_lower = far in FALSE_ACCEPT_RATES and far < min(known, default=1.0)
        hint = "A lower rate needs a run on more persons" if is_lower else "Use one of these"
        raise UsageError(f"{run}: has no threshold at a false accept rate of {far:g}; it has {rates}. {hint}")
    rate = TypeAdapter(Rate).validate_python({name: known[far][name] for name in Rate.__dataclass_fields__})
    similarity = float((_vectors(trained, one) @ _vectors(trained, two).T).mean())
    return Decision(similarity > rate.threshold, similarity, rate, result["table"].get("known_persons", False))


def _vectors(trained: TrainedModel, clips: Iterable[NamedClip]) -> Array:
    vectors, names = [], []
    for clip in clips:
        names.append(clip.name)
        for _, _, inputs in motion_inputs(trained, clip):
            with torch.inference_mode():
                vectors.append(trained.task.apply(trained.model, inputs).numpy()[0])
    if not vectors:
        raise UsageError(f"{', '.join(names[:3])}: too short; the model needs {SHORTEST / trained.view.fps:.1f} s")
    return np.stack(vectors)
