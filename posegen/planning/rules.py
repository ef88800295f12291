"""The rules of planning, as ``rules.yaml`` has them, and the factors of age. What each key means is written there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import AfterValidator

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import SHAPE
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.wording import shown
from posegen.foundations.yaml_files import read_yaml

Pair: TypeAlias = tuple[float, float]
Curve: TypeAlias = tuple[Pair, ...]
"""Pairs of years and a factor."""


class SegmentRules(StrictModel):
    """Choice and duration of the segments of one actor."""

    dominant_hand: float
    straight: float
    again: float
    least_curve: float
    least_turn: float
    curve_rate: float
    turning_rate: Pair
    margin: float
    hold: float
    before: float
    after: float
    next: float
    shortest_next: float
    shortest_last: float
    most_stretch: float
    most_haste: float
    spare: float


class SpeedRules(StrictModel):
    """Limits of speeds."""

    walk: Pair
    run: Pair
    other: Pair


class FactorRule(StrictModel):
    """A factor of each segment that grows with the energy of the person."""

    mean: float
    energy: float
    spread: float
    limits: Pair
    styled: Pair


class AmplitudeRule(FactorRule):
    """The factor on the size of an action."""

    least: float


class ShapeRule(StrictModel):
    """A path that captions name."""

    weight: float
    shortest: float
    longest: float
    fastest: float
    pieces: tuple[Pair, ...]


class PathRules(StrictModel):
    """All such paths."""

    share: float
    room: float
    shapes: dict[str, ShapeRule]


class MovesRule(StrictModel):
    """Which of two actors come, or leave."""

    both: float
    one: float
    first: float


class MeetingRules(StrictModel):
    """Two people before, during and after an interaction."""

    latest: float
    seen_after: float
    shortest_behind: float
    tempo: Pair
    better_side: float
    turning: float
    curving: float
    comes: MovesRule
    leaves: MovesRule
    straight: float
    turn: float
    wave: float
    wave_right: float
    away_straight: float
    away: Pair
    waits_behind: float
    least_walk: float
    least_turn: float
    least_wave: float
    shortest_wait: float
    most_flesh: float


class AgeRules(StrictModel):
    """How age changes movement."""

    walking: Curve
    running: Curve
    jump: Curve
    range: Curve
    tempo: Curve
    top_speed: float


class VariationRule(StrictModel):
    """How one length differs between people of one stature."""

    deviation: float
    men: float
    row: tuple[float, ...]


class EnergyRule(StrictModel):
    """How the energy of people differs, and falls with age."""

    deviation: float
    lost_per_year: float
    middle_age: float


def _all_lengths(variation: dict[str, VariationRule]) -> dict[str, VariationRule]:
    if tuple(variation) != SHAPE:
        raise ValueError(f"must have the keys {', '.join(SHAPE)} in this order (got {shown(list(variation))})")
    return variation


class BodyRules(StrictModel):
    """How the bodies of people differ."""

    stature_men: Pair
    stature_women: Pair
    growth: tuple[tuple[float, float, float], ...]
    short_legs: Pair
    most_deviation: float
    variation: Annotated[dict[str, VariationRule], AfterValidator(_all_lengths)]
    most_moved: float
    pelvis: float
    energy: EnergyRule
    years_to_full_weight: float


class Rules(StrictModel):
    """All rules of planning."""

    segment: SegmentRules
    speed: SpeedRules
    tempo: FactorRule
    amplitude: AmplitudeRule
    path: PathRules
    meeting: MeetingRules
    age: AgeRules
    body: BodyRules


def read_rules(file: Path) -> Rules:
    """Read a file of rules.

    Raises
    ------
    UsageError
        If a key is missing, unknown or of another type, with its path.
    """
    return validated(Rules, read_yaml(file), f"{file}: ")


RULES = read_rules(Path(__file__).with_name("rules.yaml"))
"""The content of ``rules.yaml``, such as ``RULES.segment.straight``."""


def of_age(curve: Sequence[Pair], age: Array) -> Array:
    """Return the factor of each age by a curve.

    Parameters
    ----------
    curve : sequence of (years, factor)
        In ascending order; constant beyond its ends.
    age : float [...]
        Years.

    Returns
    -------
    float64 [...]

    Examples
    --------
    >>> of_age(RULES.age.running, np.array([30.0, 65.0]))
    array([1.  , 0.76])
    """
    years = np.asarray(age, np.float64)
    factor = np.full(years.shape, curve[0][1])
    for (young, more), (old, less) in pairwise(curve):
        part = np.clip((years - young) / (old - young), 0.0, 1.0)
        factor = factor + part * (less - more)
    return factor
