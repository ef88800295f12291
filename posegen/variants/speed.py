"""The speed variant: the same scene performed faster or slower."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.config.schema import SpeedRange
from posegen.foundations.arrays import Array
from posegen.foundations.scene import Scenes
from posegen.variants.variant import Parameters, Variant, factor_between

_GAP = 0.05


def _draw(limits: SpeedRange, draws: Array) -> dict[str, Array]:
    return {"speed": factor_between(draws[:, 0], limits.min, limits.max, _GAP).astype(np.float32)}


def _transform(scenes: Scenes, parameters: Parameters) -> Scenes:
    speed = parameters["speed"]
    factor = speed[:, None, None]
    return replace(
        scenes,
        start=scenes.start / factor,
        end=scenes.end / factor,
        speed=scenes.speed * factor,
        tempo=scenes.tempo * factor,
        meets=np.where(scenes.meets < 0, scenes.meets, scenes.meets / speed),
    )


VARIANT = Variant("speed", _transform, {"speed": 1.0}, draw=_draw, draws=1, longest_time=lambda limits: max(1.0, limits.max))
