"""Verdict on an evaluation: for each promise about motion and captions the measured value, its target, and whether it passes.

The targets are those that posegen's own datasets are held to; `docs/measures.md` defines the measures. With a reference, mocap
itself is the target where no number is better than another in general.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from posegen.evaluation.evaluate import Evaluation

CONTACT_SLIDES, DEPTH, BONE = 0.01, 5.0, 1.0
"""Greatest share of sliding contacts, millimetres under the floor, and millimetres by which a bone changes its length."""
OUTSIDE, OVERLAPPING, OFF_FALL = 0.0, 0.01, 0.02
"""Greatest share of frames outside joint ranges, with overlapping limbs, and relative error of the fall in flight."""
_BY_LABELS = ("limits", "flight")
LAWFUL_SPEEDS = (1.03, 1.8)
"""Speeds in m/s between which the walk ratio is constant."""
WALK_RATIO, DEPTH_OF_PEOPLE = 0.05, 0.02
"""Greatest mean error of the walk ratio, and metres by which people may penetrate each other in 99 % of frames."""


@dataclass(frozen=True)
class Finding:
    """A line of the verdict.

    Attributes
    ----------
    name, value, target : str
        What is measured, the measured value and its target, with units.
    passes : bool or None
        None if nothing was there to measure, or labels are missing.
    """

    name: str
    value: str
    target: str
    passes: bool | None


def judge(found: Evaluation) -> list[Finding]:
    """Return the verdict on an evaluation, the most important finding first.

    Parameters
    ----------
    found : Evaluation

    Returns
    -------
    list of Finding
    """
    return [*_captions(found), *_bodies(found), *_gait(found), *_people(found), *_reference(found)]


def _captions(found: Evaluation) -> Iterator[Finding]:
    if found.statements is not None:
        true, false = (sum(getattr(kind, name) for kind in found.statements.values()) for name in ("true", "false"))
        passes = not false if true + false else None
        yield Finding("false statements in captions", f"{false:,} of {true + false:,}", "0", passes)
    if found.uncaptioned is not None:
        share = found.uncaptioned.any_part
        yield Finding("clips with an action that no caption states", _percent(share), _percent(0), share == 0)


def _bodies(found: Evaluation) -> Iterator[Finding]:
    """Yield the findings of measures of clips, by their 95th percentile: a few clips do not decide.

    Without labels, joint ranges and flights are not judged: an action may widen a range, and only contacts distinguish flights
    from other movement that no foot carries.
    """
    labelled = found.measures["skate of contacts"].clips > 0
    for name, meaning, most, text in (
        ("skate of contacts", "foot contacts that slide", CONTACT_SLIDES, _percent),
        ("penetration", "depth under the floor", DEPTH, _millimetres),
        ("bone length", "bones change length by", BONE, _millimetres),
        ("limits", "frames outside joint ranges", OUTSIDE, _percent),
        ("overlap", "frames with overlapping limbs", OVERLAPPING, _percent),
        ("flight", "error of the fall in flight", OFF_FALL, _percent),
    ):
        spread = found.measures[name]
        if spread.clips:
            judged = labelled or name not in _BY_LABELS
            target = f"<= {text(most)}" if judged else f"<= {text(most)}, with labels"
            passes = spread.high <= most + 1e-9 if judged else None
            yield Finding(f"{meaning}, 95 % of clips", text(spread.high), target, passes)


def _gait(found: Evaluation) -> Iterator[Finding]:
    low, high = LAWFUL_SPEEDS
    errors = [walk.ratio_error for walk in found.walks if low <= walk.speed <= high]
    if errors:
        error = abs(mean(errors))
        yield Finding("walk ratio, mean error", _percent(error), f"<= {_percent(WALK_RATIO)}", error <= WALK_RATIO)


def _people(found: Evaluation) -> Iterator[Finding]:
    together = [depths.high for number, depths in found.people.depths.items() if number > 1]
    if together:
        deep = max(together)
        text = f"{100 * deep:.1f} cm"
        limit = f"<= {100 * DEPTH_OF_PEOPLE:.0f} cm"
        yield Finding("people inside each other, 99 % of frames", text, limit, deep <= DEPTH_OF_PEOPLE)


def _reference(found: Evaluation) -> Iterator[Finding]:
    """Yield the distance to the reference, beside that between its own subjects, which no generator is expected to beat."""
    if found.realism is None or found.realism.split is None:
        return
    own, theirs = found.realism.dataset.fid_kinetic, found.realism.split.fid_kinetic
    if not math.isnan(own) and not math.isnan(theirs):
        yield Finding("distance to the reference, FID_k", f"{own:.3g}", f"{theirs:.3g} between its subjects", own <= theirs)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _millimetres(value: float) -> str:
    return f"{value:.1f} mm"
