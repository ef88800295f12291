"""The scale variant: the same scene with larger or smaller bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.config.schema import ScaleRange
from posegen.foundations.arrays import Array
from posegen.foundations.scene import Scenes
from posegen.variants.variant import Parameters, Variant, factor_between

_GAP = 0.03
_STEP_HEIGHT = 5
"""Column of :attr:`posegen.foundations.scene.Scenes.steps`."""


def _draw(limits: ScaleRange, draws: Array) -> dict[str, Array]:
    return {"scale": factor_between(draws[:, 0], limits.min, limits.max, _GAP).astype(np.float32)}


def _transform(scenes: Scenes, parameters: Parameters) -> Scenes:
    factor = parameters["scale"][:, None]
    return replace(
        scenes,
        persons=replace(scenes.persons, stature=scenes.persons.stature * factor),
        seat_height=scenes.seat_height * factor,
        # The position of a step on the path stays; its height scales with the body.
        steps=scenes.steps * np.where(np.arange(6) == _STEP_HEIGHT, factor[..., None], np.float32(1.0)),
    )


VARIANT = Variant("scale", _transform, {"scale": 1.0}, draw=_draw, first_draw=1, draws=1, body_factor="scale")
