"""Measure the motion that a trained model generates for the captions of the test split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.storage.address import AnyPath
from posegen.evaluation.distances import diversity, encoded_spread
from posegen.evaluation.plausibility import MEASURES, measure_clip
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.foundations.wording import table
from posegen.training.animation.animate import MotionClip
from posegen.training.animation.generated_set import generate_for_test_captions
from posegen.training.measures import chance_of, pools, ranks_of
from posegen.training.trained_models import PRECISION_POOL

_PRECISE = 3
_ACTIONS = ("no action", "one action", "two actions", "three actions", "four actions or more")
_MEASURED = 150
"""Maximum number of clips whose plausibility is measured."""
_SHOWN = ("skate, strict", "skate, GMD", "penetration", "bone length", "limits", "overlap", "jerk")


@dataclass(frozen=True)
class Side:
    """How well a set of motions matches captions, and how plausible it is.

    Attributes
    ----------
    frechet : float
        Fréchet distance to the real set; for the real set, between its two halves.
    precision : float
        Share of the motions whose caption ranks among the first three of 32.
    precision_by_actions : dict of str to float
        The same for captions with one action, two actions and so on, in the same pools.
    diversity : float
        Mean distance between two motions.
    figures : dict of str to float
        Means over the clips for which they are defined; see :data:`posegen.evaluation.plausibility.MEASURES`. Empty for the
        mean motion.
    """

    frechet: float
    precision: float
    precision_by_actions: dict[str, float]
    diversity: float
    figures: dict[str, float]


@dataclass(frozen=True)
class AnimationMeasures:
    """Evaluation of the motion that a model generates for captions, with the real motion and the mean motion as controls.

    Attributes
    ----------
    clips : int
    made, real, mean : Side
    chance : float
        Precision of a random ranking.
    multimodality : float
        Mean distance between two motions generated for the same caption.
    """

    clips: int
    made: Side
    real: Side
    mean: Side
    chance: float
    multimodality: float

    def text(self, run: Path) -> str:
        """Return the measures of the model of a run as text."""
        sides = self.made, self.real, self.mean
        rows = [
            ("Fréchet distance to the real", *(f"{side.frechet:.4f}" for side in sides)),
            ("R-precision, top 3 of 32", *(f"{100 * side.precision:.1f} %" for side in sides)),
        ]
        for count in self.made.precision_by_actions:
            rows.append((f"captions with {count}", *(f"{100 * side.precision_by_actions[count]:.1f} %" for side in sides)))
        rows.append(("distance of two motions", *(f"{side.diversity:.3f}" for side in sides)))
        rows += [(name, *(f"{side.figures[name]:.4g}" for side in (self.made, self.real)), "") for name in _SHOWN]
        title = f"Motion of {run} for {self.clips:,} captions of the test split, one per sample"
        return "\n".join(
            [
                table(("", "generated", "real", "mean pose"), rows, title),
                "The Fréchet distance of the real motion is between its two halves.",
                f"R-precision by chance {100 * self.chance:.1f} %; "
                f"distance of two motions for one caption {self.multimodality:.3f}",
            ]
        )


def measure_animation(
    run: Path, dataset: AnyPath, judge: Path, samples: int | None, log: Callable[[str], None], **how: Any
) -> AnimationMeasures:
    """Generate motion for captions with a model and measure it.

    Raises
    ------
    UsageError
        If the runs do not match the dataset.
    """
    made = generate_for_test_captions(run, dataset, judge, log, samples=samples, **how)
    chosen = pools(0, len(made.real), PRECISION_POOL)
    same = [made.words[pool][:, None] == made.words[pool] for pool in chosen]
    actions = np.minimum(made.actions[np.concatenate(chosen)], len(_ACTIONS) - 1)

    def side(vectors: Array, figures: dict[str, float], reference: Array | None) -> Side:
        scores = (vectors[pool] @ made.text[pool].T for pool in chosen)
        precise = np.concatenate([ranks_of(*pair) for pair in zip(scores, same, strict=True)]) <= _PRECISE
        by_actions = {_ACTIONS[count]: float(precise[actions == count].mean()) for count in np.unique(actions).tolist()}
        spread = encoded_spread(vectors, reference)
        frechet = spread.halves if reference is None else spread.frechet
        return Side(float(frechet or 0.0), float(precise.mean()), by_actions, spread.diversity, figures)

    log("measuring plausibility")
    right = np.concatenate([pool.sum(axis=1) for pool in same])
    return AnimationMeasures(
        clips=len(made.real),
        made=side(made.generated_vectors, _figures(made.generated, made.fps), made.real_vectors),
        real=side(made.real_vectors, _figures(made.real, made.fps), None),
        mean=side(made.mean_vectors, {}, made.real_vectors),
        chance=float(chance_of(right, len(chosen[0]), _PRECISE).mean()),
        multimodality=float(np.mean([diversity(turns) for turns in made.repeated])),
    )


def _figures(scenes: list[tuple[MotionClip, ...]], fps: float) -> dict[str, float]:
    found = [
        measure_clip(Recording("", "", figure.joints.astype(np.float64), fps, figure.contact.astype(np.uint8)))
        for figures in scenes[:_MEASURED]
        for figure in figures
    ]
    columns = {name: np.array([clip[name] for clip in found]) for name in MEASURES}
    return {name: float(np.nanmean(values)) for name, values in columns.items() if np.isfinite(values).any()}
