"""Styles as numbers that kernels read: what they add to a person's posture, and how they change its steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.library.channels import CHANNELS
from posegen.library.styles import Style
from posegen.motion.gait import WALK
from posegen.motion.manner import CADENCE, CLEARANCE, STANCE, WIDTH, stance_share

__all__ = ["BOUNCE", "PLAIN", "SIDEWAYS", "SWING", "StyleTables", "add_bounce", "bounces", "step_in_style", "style_tables"]

Array = NDArray[Any]

(
    SWING,  # factor on the swing of the arms
    BOUNCE,  # leg lengths; more rise and fall of the pelvis in each step
    SIDEWAYS,  # leg lengths; more swing of the pelvis to either side
    MORE_CADENCE,  # factor on strides a second
    MORE_STANCE,  # share of the stride
    MORE_CLEARANCE,  # m
    MORE_WIDTH,  # m
) = range(7)
_STEPS = ("arm_swing", "bounce", "sideways", "cadence", "stance", "clearance", "width")
ROOT_HEIGHT, ROOT_LATERAL = CHANNELS.index("root_height"), CHANNELS.index("root_lateral")
STANDING_TURNS = 0.32
"""Where in its stride the left leg stands upright: there the pelvis is highest, and furthest to the left."""
COS_ONE, SIN_ONE = -0.42577929, 0.90482705
COS_TWO, SIN_TWO = -0.63742399, -0.77051324
"""Cosine and sine of once and of twice STANDING_TURNS."""


class StyleTables(NamedTuple):
    """The styles of a library.

    Attributes
    ----------
    posture : float [styles, channels]
        Turns by which each channel differs from the usual posture.
    sway : float [styles]
        Factor on how far who stands wanders.
    steps : float [styles, 7]
        How steps and arms differ; see the columns above.
    """

    posture: Array
    sway: Array
    steps: Array


def _posture(style: Style) -> Array:
    row = np.zeros(len(CHANNELS))
    for name, degrees in style.posture.items():
        for c, channel in enumerate(CHANNELS):
            rest = name.removeprefix("both_")
            if channel in (rest, f"left_{rest}", f"right_{rest}"):
                row[c] = degrees / 360
    return row


def _tables(styles: tuple[Style, ...]) -> StyleTables:
    return StyleTables(
        posture=np.stack([_posture(style) for style in styles]),
        sway=np.array([style.sway for style in styles]),
        steps=np.array([[getattr(style, name) for name in _STEPS] for style in styles], np.float64),
    )


@lru_cache(maxsize=8)
def style_tables(library: Library) -> StyleTables:
    """Flat arrays of the styles of `library` (which hashes by identity)."""
    return _tables(tuple(library.styles.values()))


PLAIN = _tables((Style(),))
"""The neutral style alone."""


@kernel
def step_in_style(manner: Array, gait: int, speed: Scalar, style: Array) -> None:
    """Change the numbers of a walking slot's steps by a style; `manner` is its row of the action tables, `speed` in m/s."""
    if gait != WALK:
        return
    manner[CADENCE] *= style[MORE_CADENCE]
    manner[CLEARANCE] += style[MORE_CLEARANCE]
    manner[WIDTH] += style[MORE_WIDTH]
    if style[MORE_STANCE] != 0:
        manner[STANCE] = stance_share(gait, speed, 1.0, manner) + style[MORE_STANCE]


@kernel
def bounces(channel: int, style: Array) -> bool:
    """Whether a style lets this channel swing over the stride of a walk."""
    return (channel == ROOT_HEIGHT and style[BOUNCE] != 0) or (channel == ROOT_LATERAL and style[SIDEWAYS] != 0)


@kernel
def add_bounce(channel: int, style: Array, series: Array, first_sine: int) -> None:
    """Add what a style adds to the series of a channel: constant, cosines, and sines from `first_sine` on.

    A livelier walk comes down further between the steps, a duller one is lower in their middle: nobody's legs grow.
    """
    if channel == ROOT_HEIGHT:
        more = style[BOUNCE]
        series[0] -= np.float32(abs(more))
        series[2] += np.float32(more * COS_TWO)
        series[first_sine + 1] += np.float32(more * SIN_TWO)
    else:
        series[1] += np.float32(style[SIDEWAYS] * COS_ONE)
        series[first_sine] += np.float32(style[SIDEWAYS] * SIN_ONE)
