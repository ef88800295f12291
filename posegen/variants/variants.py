"""The variants of a sample: the same scene faster, elsewhere, on another body, or in the mirror.

A variant transforms the scene before motion, labels and captions are made, so that it is as physical and as truly
described as the base, of which it has all draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.config.schema import Config
from posegen.planning.placing import on_grid
from posegen.randomness import Stream, uniform
from posegen.scene import LEFT, RIGHT, Scenes

__all__ = ["VariantParameters", "apply_variant", "variant_names", "variant_parameters"]

Array = NDArray[Any]

_SPEED_GAP, _SCALE_GAP = 0.05, 0.03
_LEAST_SHIFT = 0.25
_STEP_HEIGHT = 5


@dataclass(frozen=True)
class VariantParameters:
    """By how much each variant changes each sample; arrays [n].

    Attributes
    ----------
    speed, scale : float32
        Factors; 1 where there is no such variant.
    offset_x, offset_z : float32
        Metres, multiples of :data:`posegen.constants.GRID`; 0 where there is no such variant.
    """

    speed: Array
    scale: Array
    offset_x: Array
    offset_z: Array


def variant_names(config: Config) -> tuple[str, ...]:
    """Names of the variants that the config asks for, in the order in which they are stored."""
    return config.variants.names


def variant_parameters(config: Config, samples: ArrayLike) -> VariantParameters:
    """Draw the parameters of the variants of samples.

    Parameters
    ----------
    config : Config
    samples : int64 [n]

    Returns
    -------
    VariantParameters
    """
    draws = uniform(config.seed, samples, Stream.VARIANT, 6)
    variants, none = config.variants, np.zeros(len(draws))
    speed, scale, shift = variants.speed, variants.scale, variants.position
    factors = (
        none + 1.0 if limits is None else _factor(draws[:, i], limits.min, limits.max, gap)
        for i, (limits, gap) in enumerate(((speed, _SPEED_GAP), (scale, _SCALE_GAP)))
    )
    offsets = (none if shift is None else _offset(draws[:, first], draws[:, first + 1], shift.max) for first in (2, 4))
    return VariantParameters(*(values.astype(np.float32) for values in factors), *(on_grid(values) for values in offsets))


def _factor(draws: Array, low: float, high: float, gap: float) -> Array:
    """Uniform from `low` to `high`, but no closer than `gap` to 1, unless the range leaves nothing else."""
    below, above = min(high, 1.0 - gap), max(low, 1.0 + gap)
    slower, faster = max(0.0, below - low), max(0.0, high - above)
    if slower + faster == 0.0:
        return np.asarray(low + draws * (high - low))
    where = draws * (slower + faster)
    return np.where(where < slower, low + where, above + (where - slower))


def _offset(draws: Array, signs: Array, most: float) -> Array:
    """Uniform in size from a quarter of `most` to `most`, to either side."""
    size = most * (_LEAST_SHIFT + (1.0 - _LEAST_SHIFT) * draws)
    return np.where(signs < 0.5, size, 0.0 - size)


def apply_variant(scenes: Scenes, name: str, parameters: VariantParameters) -> Scenes:
    """Transform base scenes into those of a variant.

    Parameters
    ----------
    scenes : Scenes
    name : str
        One of :func:`variant_names`.
    parameters : VariantParameters

    Returns
    -------
    Scenes
    """
    if name not in _TRANSFORMS:
        msg = f"there is no variant {name!r}; there are {', '.join(_TRANSFORMS)}"
        raise ValueError(msg)
    return _TRANSFORMS[name](scenes, parameters)


def _speed(scenes: Scenes, parameters: VariantParameters) -> Scenes:
    factor = parameters.speed[:, None, None]
    return replace(
        scenes,
        start=scenes.start / factor,
        end=scenes.end / factor,
        speed=scenes.speed * factor,
        tempo=scenes.tempo * factor,
        meets=np.where(scenes.meets < 0, scenes.meets, scenes.meets / parameters.speed),
    )


def _position(scenes: Scenes, parameters: VariantParameters) -> Scenes:
    offset = np.stack([parameters.offset_x, parameters.offset_z], axis=1)[:, None]
    present = np.arange(scenes.origin.shape[1]) < scenes.actors[:, None]
    steps = scenes.steps.copy()
    steps[..., :2] += offset
    return replace(scenes, origin=np.where(present[..., None], scenes.origin + offset, scenes.origin), steps=steps)


def _scale(scenes: Scenes, parameters: VariantParameters) -> Scenes:
    factor = parameters.scale[:, None]
    return replace(
        scenes,
        persons=replace(scenes.persons, stature=scenes.persons.stature * factor),
        seat_height=scenes.seat_height * factor,
        # A step keeps its place on the path, but is as high as the body is large.
        steps=scenes.steps * np.where(np.arange(6) == _STEP_HEIGHT, factor[..., None], np.float32(1.0)),
    )


def _mirror(scenes: Scenes, _parameters: VariantParameters) -> Scenes:
    # Subtracting from 0 rather than negating keeps -0 out of the arrays.
    zero = np.float32(0.0)
    across = scenes.origin[..., 0]
    sided = (scenes.side == LEFT) | (scenes.side == RIGHT)
    phase = scenes.phase + np.float32(0.5)
    return replace(
        scenes,
        persons=replace(scenes.persons, left_handed=~scenes.persons.left_handed),
        origin=np.stack([zero - across, scenes.origin[..., 1]], axis=-1),
        heading=zero - scenes.heading,
        steps=scenes.steps * np.array([-1, 1, -1, 1, 1, 1], np.float32) + zero,
        turn=zero - scenes.turn,
        side=np.where(sided, LEFT + RIGHT - scenes.side, scenes.side).astype(scenes.side.dtype),
        phase=np.where(phase >= 1, phase - 1, phase),
        apart=scenes.apart * np.array([1, 1, -1], np.float32) + zero,
    )


_TRANSFORMS: dict[str, Callable[[Scenes, VariantParameters], Scenes]] = {
    "base": lambda scenes, _parameters: scenes,
    "speed": _speed,
    "position": _position,
    "scale": _scale,
    "mirror": _mirror,
}
