"""What ``posegen evaluate --animated`` measures: the training stage makes and encodes motion, the evaluation measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posegen.training.animation.animate import MotionClip
    from posegen.training.animation.evaluation import GeneratedSet

__all__ = ["JudgedMotion", "Side", "judge_motion"]

_PRECISE = 3
_ACTIONS = ("no action", "one action", "two actions", "three actions", "four actions or more")
_MEASURED = 150
"""Clips of which plausibility is measured, which takes its time."""
_SHOWN = ("skate, strict", "skate, GMD", "penetration", "bone length", "limits", "overlap", "jerk")


@dataclass(frozen=True)
class Side:
    """How a set of motions goes with captions, and how plausible it is.

    Attributes
    ----------
    frechet : float
        Fréchet distance from the real set; of the real one, of every second clip from the others.
    precision : float
        Share of the motions whose caption is among the first three of 32.
    precision_by_actions : dict of str to float
        The same of those captions that tell of one action, of two, and so on; of the same pools.
    diversity : float
        Mean distance between two motions.
    figures : dict of str to float
        Means over the clips that have them; see :data:`posegen.evaluation.clip_measures.MEASURES`. Empty for the mean motion.
    """

    frechet: float
    precision: float
    precision_by_actions: dict[str, float]
    diversity: float
    figures: dict[str, float]


@dataclass(frozen=True)
class JudgedMotion:
    """What a model makes of captions, beside the real motion and the mean motion.

    Attributes
    ----------
    clips : int
    made, real, mean : Side
    chance : float
        Precision of an order of chance.
    multimodality : float
        Mean distance between two motions that are made of the same caption.
    """

    clips: int
    made: Side
    real: Side
    mean: Side
    chance: float
    multimodality: float

    def document(self) -> dict[str, Any]:
        """Give all of it as plain data."""
        return asdict(self)

    def lines(self, run: Path) -> list[str]:
        """Print it."""
        lines = ["", f"What {run} makes of {self.clips:,} captions that it has never seen, one of each sample:"]
        lines.append(f"  {'':<34}{'made':>10}{'real':>10}{'mean pose':>10}")
        sides = self.made, self.real, self.mean
        rows = {"Fréchet distance from the real": [f"{side.frechet:.4f}" for side in sides]}
        rows["caption in first 3 of 32"] = [f"{100 * side.precision:.1f}%" for side in sides]
        for count in self.made.precision_by_actions:
            rows[f"  if it tells of {count}"] = [f"{100 * side.precision_by_actions[count]:.1f}%" for side in sides]
        rows["distance of two motions"] = [f"{side.diversity:.3f}" for side in sides]
        rows |= {name: [f"{side.figures[name]:.4g}" for side in (self.made, self.real)] for name in _SHOWN}
        lines += [f"  {name:<34}" + "".join(f"{value:>10}" for value in values) for name, values in rows.items()]
        by_chance = f"{100 * self.chance:.1f}% by chance"
        lines.append(f"  of the real: one half from the other. In the first 3 of 32 are {by_chance}")
        lines.append(f"  two motions of the same caption are {self.multimodality:.3f} apart")
        return lines


def judge_motion(
    run: Path, dataset: Path, judge: Path, samples: int | None, tell: Callable[[str], None], **how: Any
) -> JudgedMotion:
    """Have a model make motion of captions, and measure it.

    Raises
    ------
    UsageError
        If the runs and the dataset do not go together.
    """
    import numpy as np

    from posegen.evaluation.distances import diversity, encoded_spread
    from posegen.training.animation.evaluation import generate_for_test_captions
    from posegen.training.measures.ranking import rank_pairs
    from posegen.training.trained.encoding import PRECISION_POOL

    made = generate_for_test_captions(run, dataset, judge, tell, samples=samples, **how)
    chance = 0.0

    def side(vectors: NDArray[Any], figures: dict[str, float], reference: NDArray[Any] | None) -> Side:
        nonlocal chance
        ranking = rank_pairs(vectors, made.text[:, None], made.words[:, None], pool=PRECISION_POOL, times=1)["motion_to_text"]
        chance = ranking.chance[_PRECISE]
        spread = encoded_spread(vectors, reference)
        frechet = spread.halves if reference is None else spread.frechet
        by_actions = _by_actions(vectors, made)
        return Side(float(frechet or 0.0), ranking.recall[_PRECISE], by_actions, spread.diversity, figures)

    tell("plausibility is measured")
    return JudgedMotion(
        clips=len(made.numbers),
        made=side(made.made_vectors, _figures(made.made, made.fps), made.real_vectors),
        real=side(made.real_vectors, _figures(made.real, made.fps), None),
        mean=side(made.mean_vectors, {}, made.real_vectors),
        chance=chance,
        multimodality=float(np.mean([diversity(turns) for turns in made.again])),
    )


def _by_actions(vectors: NDArray[Any], made: GeneratedSet) -> dict[str, float]:
    import numpy as np

    from posegen.training.measures.ranking import pools, ranks_of
    from posegen.training.trained.encoding import PRECISION_POOL

    found: dict[int, list[bool]] = {}
    for chosen in pools(0, len(vectors), PRECISION_POOL):
        same = made.words[chosen][:, None] == made.words[chosen]
        ranks = ranks_of(vectors[chosen] @ made.text[chosen].T, same)
        for count, rank in zip(np.minimum(made.actions[chosen], len(_ACTIONS) - 1).tolist(), ranks.tolist(), strict=True):
            found.setdefault(count, []).append(rank <= _PRECISE)
    return {_ACTIONS[count]: float(np.mean(found[count])) for count in sorted(found)}


def _figures(figures: list[MotionClip], fps: float) -> dict[str, float]:
    import numpy as np

    from posegen.evaluation.clip_measures import MEASURES, measure_clip
    from posegen.evaluation.recording import Recording

    found = [
        measure_clip(Recording("", "", figure.joints.astype(np.float64), fps, figure.contact.astype(np.uint8)))
        for figure in figures[:_MEASURED]
    ]
    columns = {name: np.array([clip[name] for clip in found]) for name in MEASURES}
    return {name: float(np.nanmean(values)) for name, values in columns.items() if np.isfinite(values).any()}
