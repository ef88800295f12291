"""The position variant: the same scene translated on the floor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.config.schema import Shift
from posegen.foundations.arrays import Array
from posegen.foundations.scene import Scenes, on_grid
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARTS
from posegen.motion.engine import Motion
from posegen.variants.copies import copy_motion
from posegen.variants.variant import Parameters, Variant

_LEAST_SHIFT = 0.25


def _draw(limits: Shift, draws: Array) -> dict[str, Array]:
    return {
        "offset_x": on_grid(_offset(draws[:, 0], draws[:, 1], limits.max)),
        "offset_z": on_grid(_offset(draws[:, 2], draws[:, 3], limits.max)),
    }


def _offset(draws: Array, signs: Array, most: float) -> Array:
    """Return offsets uniform in size from a quarter of `most` to `most`, of either sign."""
    size = most * (_LEAST_SHIFT + (1.0 - _LEAST_SHIFT) * draws)
    return np.where(signs < 0.5, size, 0.0 - size)


def _transform(scenes: Scenes, parameters: Parameters) -> Scenes:
    offset = np.stack([parameters["offset_x"], parameters["offset_z"]], axis=1)[:, None]
    present = np.arange(scenes.origin.shape[1]) < scenes.actors[:, None]
    steps = scenes.steps.copy()
    steps[..., :2] += offset
    return replace(scenes, origin=np.where(present[..., None], scenes.origin + offset, scenes.origin), steps=steps)


def _copy(motion: Motion, source: int, target: int, parameters: Parameters) -> None:
    offset_x, offset_z = parameters["offset_x"], parameters["offset_z"]
    orders = [range(len(names)) for names in (JOINTS, PARTS, CONTACTS)]
    copy_motion(motion, source, target, orders, (1, 1, 1), np.stack([offset_x, np.zeros_like(offset_x), offset_z], -1))


VARIANT = Variant("position", _transform, {"offset_x": 0.0, "offset_z": 0.0}, draw=_draw, first_draw=2, draws=4, copy=_copy)
