"""The record that describes a variant, and the functions that draw the parameters of all variants and apply one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.plugins import VARIANTS
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.scene import Scenes
from posegen.motion.engine import Motion

Parameters = Mapping[str, Array]
"""Drawn parameters by name, each an array [n]."""


@dataclass(frozen=True)
class Variant:
    """A transform of planned scenes.

    Attributes
    ----------
    name : str
        Key of the variant in the config and value of the column `variant`.
    transform : callable
        Returns the scenes of the variant for base scenes and drawn :data:`Parameters`.
    neutral : mapping of str to float or bool
        Parameters of this variant, with the values that the rows of all other variants have.
    draw : callable, optional
        Returns the parameters as arrays [n] for the variant's settings in the config and uniform draws [n, `draws`].
    first_draw, draws : int
        Position of the variant's first number in the stream of variants, and their count. Posegen's own variants use the
        numbers 0 to 5.
    settings : pydantic model, optional
        Keys below ``variants.NAME`` of a variant from another package.
    copy : callable, optional
        Writes the motion of the variant from that of the base: ``copy(motion, source, target, parameters)``. Only for variants
        whose arrays follow exactly from the stored base; the others are animated.
    exchanges_sides : bool
        Whether left and right of labels and captions are exchanged. Used where `copy` is given.
    longest_time : callable
        Returns, for the settings, the largest factor on the seconds of the base that the variant shows.
    body_factor : str, optional
        Name of the parameter that scales the bodies.
    """

    name: str
    transform: Callable[[Scenes, Parameters], Scenes] = lambda scenes, _parameters: scenes
    neutral: Mapping[str, float | bool] = field(default_factory=dict)
    draw: Callable[[Any, Array], dict[str, Array]] | None = None
    first_draw: int = 0
    draws: int = 0
    settings: type[Any] | None = None
    copy: Callable[[Motion, int, int, Parameters], None] | None = None
    exchanges_sides: bool = False
    longest_time: Callable[[Any], float] = lambda _settings: 1.0
    body_factor: str | None = None


BASE = Variant("base")
"""The scene as planned."""


def enabled_variants(config: Config) -> tuple[Variant, ...]:
    """Return the records of the variants that the config asks for, in the order in which they are stored."""
    return tuple(VARIANTS.load(name) for name in config.variants.names)


def draw_parameters(config: Config, samples: ArrayLike) -> dict[str, Array]:
    """Draw the parameters of the enabled variants.

    Parameters
    ----------
    config : Config
    samples : int64 [n]

    Returns
    -------
    dict of str to array [n]
        By name of the parameter. They depend on the seed and the sample alone.
    """
    drawn: dict[str, Array] = {}
    for variant in enabled_variants(config):
        if variant.draw is not None:
            draws = uniform(config.seed, samples, Stream.VARIANT, variant.draws, first=variant.first_draw)
            drawn |= variant.draw(getattr(config.variants, variant.name), draws)
    return drawn


def neutral_parameters(names: Iterable[str] = ()) -> dict[str, float | bool]:
    """Return the neutral value of each parameter, in the order of columns: of posegen's variants, then of others in `names`."""
    own = sorted(map(VARIANTS.load, VARIANTS.built_in), key=lambda variant: variant.first_draw)
    others = [VARIANTS.load(name) for name in names if name not in VARIANTS.built_in]
    return {name: value for variant in (*own, *others) for name, value in variant.neutral.items()}


def parameter_columns(variants: Sequence[Variant], parameters: Parameters, samples: int) -> dict[str, Array]:
    """Return each parameter of all samples in all variants, [samples, variants]; those of other variants are neutral."""
    neutral = neutral_parameters(variant.name for variant in variants)
    columns = {name: np.full((samples, len(variants)), value) for name, value in neutral.items()}
    for v, variant in enumerate(variants):
        for name in variant.neutral:
            columns[name][:, v] = parameters[name]
    return columns


def longest_time(config: Config) -> float:
    """Return the factor on the shown seconds that base scenes must last, so that no variant runs out of plan."""
    return max(variant.longest_time(getattr(config.variants, variant.name, None)) for variant in enabled_variants(config))


def largest_bodies(config: Config, samples: ArrayLike) -> Array:
    """Return the factor between the bodies of each sample and the largest ones in any of its variants, float64 [n]."""
    parameters = draw_parameters(config, samples)
    largest = np.ones(len(np.asarray(samples)))
    for variant in enabled_variants(config):
        if variant.body_factor is not None:
            largest = np.maximum(largest, parameters[variant.body_factor].astype(np.float64))
    return largest


def factor_between(draws: Array, low: float, high: float, gap: float) -> Array:
    """Return factors uniform from `low` to `high` but at least `gap` away from 1, unless the range leaves nothing else."""
    below, above = min(high, 1.0 - gap), max(low, 1.0 + gap)
    smaller, larger = max(0.0, below - low), max(0.0, high - above)
    if smaller + larger == 0.0:
        return np.asarray(low + draws * (high - low))
    where = draws * (smaller + larger)
    return np.where(where < smaller, low + where, above + (where - smaller))
