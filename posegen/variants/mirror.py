"""The mirror variant: the same scene with left and right exchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.motion.engine import Motion
from posegen.scene import LEFT, RIGHT, Scenes
from posegen.variants.copies import mirror
from posegen.variants.variant import Parameters, Variant

Array = NDArray[Any]

_FIRST_DRAW = 6


def _draw(_settings: bool, draws: Array) -> dict[str, Array]:
    return {"mirrored": np.ones(len(draws), bool)}


def _transform(scenes: Scenes, _parameters: Parameters) -> Scenes:
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


def _copy(motion: Motion, source: int, target: int, _parameters: Parameters) -> None:
    mirror(motion, source, target)


MIRROR = Variant(
    "mirror", _transform, {"mirrored": False}, draw=_draw, first_draw=_FIRST_DRAW, copy=_copy, exchanges_sides=True
)
