"""The mirror variant: the same scene with left and right exchanged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.constants import PATHS
from posegen.foundations.scene import LEFT, RIGHT, Scenes
from posegen.foundations.skeleton import MIRROR_CONTACTS, MIRROR_JOINTS, MIRROR_PARTS, mirror_order
from posegen.motion.engine import Motion
from posegen.variants.copies import copy_motion
from posegen.variants.variant import Parameters, Variant

_OTHER_PATH = np.array(mirror_order(PATHS))


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
        path=np.where(scenes.path > 0, _OTHER_PATH[scenes.path], scenes.path).astype(scenes.path.dtype),
        side=np.where(sided, LEFT + RIGHT - scenes.side, scenes.side).astype(scenes.side.dtype),
        phase=np.where(phase >= 1, phase - 1, phase),
        apart=scenes.apart * np.array([1, 1, -1], np.float32) + zero,
    )


def _copy(motion: Motion, source: int, target: int, _parameters: Parameters) -> None:
    orders = (MIRROR_JOINTS, MIRROR_PARTS, MIRROR_CONTACTS)
    copy_motion(motion, source, target, orders, (-1, 1, 1), np.zeros((len(motion.joints), 3)))


VARIANT = Variant("mirror", _transform, {"mirrored": False}, draw=_draw, first_draw=6, copy=_copy, exchanges_sides=True)
