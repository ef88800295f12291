"""Posegen's variants: the same scene performed faster or slower, with larger or smaller bodies, translated, or mirrored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.config.schema import ScaleRange, Shift, SpeedRange
from posegen.foundations import skeleton
from posegen.foundations.arrays import Array
from posegen.foundations.constants import PATHS
from posegen.foundations.scene import LEFT, RIGHT, Scenes, on_grid
from posegen.motion.engine import Motion
from posegen.variants.copies import copy_motion
from posegen.variants.variant import Parameters, Variant, factor_between

_SPEED_GAP, _SCALE_GAP = 0.05, 0.03
"""Least differences of the factors from 1."""
_LEAST_SHIFT = 0.25
_OTHER_PATH = np.array(skeleton.mirror_order(PATHS))


def _draw_speed(limits: SpeedRange, draws: Array) -> dict[str, Array]:
    return {"speed": factor_between(draws[:, 0], limits.min, limits.max, _SPEED_GAP).astype(np.float32)}


def _apply_speed(scenes: Scenes, parameters: Parameters) -> Scenes:
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


SPEED = Variant(
    "speed", _apply_speed, {"speed": 1.0}, draw=_draw_speed, draws=1, longest_time=lambda limits: max(1.0, limits.max)
)


def _draw_scale(limits: ScaleRange, draws: Array) -> dict[str, Array]:
    return {"scale": factor_between(draws[:, 0], limits.min, limits.max, _SCALE_GAP).astype(np.float32)}


def _apply_scale(scenes: Scenes, parameters: Parameters) -> Scenes:
    factor = parameters["scale"][:, None]
    return replace(
        scenes,
        persons=replace(scenes.persons, stature=scenes.persons.stature * factor),
        seat_height=scenes.seat_height * factor,
    )


SCALE = Variant("scale", _apply_scale, {"scale": 1.0}, draw=_draw_scale, first_draw=1, draws=1, body_factor="scale")


def _draw_position(limits: Shift, draws: Array) -> dict[str, Array]:
    return {
        "offset_x": on_grid(_offset(draws[:, 0], draws[:, 1], limits.max)),
        "offset_z": on_grid(_offset(draws[:, 2], draws[:, 3], limits.max)),
    }


def _offset(draws: Array, signs: Array, most: float) -> Array:
    """Return offsets uniform in size from a quarter of `most` to `most`, of either sign."""
    size = most * (_LEAST_SHIFT + (1.0 - _LEAST_SHIFT) * draws)
    return np.where(signs < 0.5, size, 0.0 - size)


def _apply_position(scenes: Scenes, parameters: Parameters) -> Scenes:
    offset = np.stack([parameters["offset_x"], parameters["offset_z"]], axis=1)[:, None]
    present = np.arange(scenes.origin.shape[1]) < scenes.actors[:, None]
    return replace(scenes, origin=np.where(present[..., None], scenes.origin + offset, scenes.origin))


def _copy_position(motion: Motion, source: int, target: int, parameters: Parameters) -> None:
    offset_x, offset_z = parameters["offset_x"], parameters["offset_z"]
    orders = [range(len(names)) for names in (skeleton.JOINTS, skeleton.PARTS, skeleton.CONTACTS)]
    copy_motion(motion, source, target, orders, (1, 1, 1), np.stack([offset_x, np.zeros_like(offset_x), offset_z], -1))


POSITION = Variant(
    "position",
    _apply_position,
    {"offset_x": 0.0, "offset_z": 0.0},
    draw=_draw_position,
    first_draw=2,
    draws=4,
    copy=_copy_position,
)


def _draw_mirror(_settings: bool, draws: Array) -> dict[str, Array]:
    return {"mirrored": np.ones(len(draws), bool)}


def _apply_mirror(scenes: Scenes, _parameters: Parameters) -> Scenes:
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
        turn=zero - scenes.turn,
        path=np.where(scenes.path > 0, _OTHER_PATH[scenes.path], scenes.path).astype(scenes.path.dtype),
        side=np.where(sided, LEFT + RIGHT - scenes.side, scenes.side).astype(scenes.side.dtype),
        phase=np.where(phase >= 1, phase - 1, phase),
        apart=scenes.apart * np.array([1, 1, -1], np.float32) + zero,
    )


def _copy_mirror(motion: Motion, source: int, target: int, _parameters: Parameters) -> None:
    orders = (skeleton.MIRROR_JOINTS, skeleton.MIRROR_PARTS, skeleton.MIRROR_CONTACTS)
    copy_motion(motion, source, target, orders, (-1, 1, 1), np.zeros((len(motion.joints), 3)))


MIRROR = Variant(
    "mirror", _apply_mirror, {"mirrored": False}, draw=_draw_mirror, first_draw=6, copy=_copy_mirror, exchanges_sides=True
)
