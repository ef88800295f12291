"""From metres to pixels: a viewer's camera without perspective, so that a metre is as long everywhere in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.skeleton import JOINTS

__all__ = ["Placement", "View", "facing", "middle", "view_from"]

Array = NDArray[Any]


@dataclass(frozen=True)
class View:
    """Unit vectors of a camera: to the right and up in the picture, and out of it towards the viewer."""

    right: tuple[float, float, float]
    up: tuple[float, float, float]
    toward: tuple[float, float, float]


@dataclass(frozen=True)
class Placement:
    """Where in a picture the world goes: `centre` (world) comes to `at` (pixels), `scale` pixels to the metre."""

    view: View
    scale: float
    at: tuple[float, float]

    def pixels(self, points: Array, centre: Array) -> Array:
        """Pixels [..., 2] of points [..., 3] when the camera looks at `centre`, which broadcasts against them."""
        away = points - centre
        across = (away * np.asarray(self.view.right)).sum(-1)
        upward = (away * np.asarray(self.view.up)).sum(-1)
        return np.stack([self.at[0] + self.scale * across, self.at[1] - self.scale * upward], -1)

    def depth(self, points: Array) -> Array:
        """How near points [..., 3] are to the viewer; larger is nearer."""
        return np.asarray((points * np.asarray(self.view.toward)).sum(-1))


def view_from(azimuth: float, elevation: float, heading: float = 0.0) -> View:
    """Camera around a figure.

    Parameters
    ----------
    azimuth : float
        Degrees from straight in front of the figure; positive stands on its left side.
    elevation : float
        Degrees above the horizon.
    heading : float
        Radians by which the figure is turned to the left of +z.

    Returns
    -------
    View
    """
    turn, tilt = radians(azimuth) + heading, radians(elevation)
    return View(
        right=(cos(turn), 0.0, -sin(turn)),
        up=(-sin(turn) * sin(tilt), cos(tilt), -cos(turn) * sin(tilt)),
        toward=(sin(turn) * cos(tilt), sin(tilt), cos(turn) * cos(tilt)),
    )


def facing(joints: Array) -> float:
    """Heading in radians of the first figure that is there in `joints` [actors, frames, 22, 3], from hips and shoulders."""
    figures = joints.reshape(-1, *joints.shape[-2:])
    there = np.asarray(np.isfinite(figures).all((1, 2)))
    figure = figures[there][0]
    hips, shoulders = (
        figure[JOINTS.index(f"left_{name}")] - figure[JOINTS.index(f"right_{name}")] for name in ("hip", "shoulder")
    )
    left = hips + shoulders
    # A figure that faces +z has its left at +x.
    return float(np.arctan2(-left[2], left[0]))


def middle(joints: Array) -> Array:
    """Point on the floor [frames, 3] between the pelvises of all actors; frames without anyone repeat the last one."""
    pelvis = joints[:, :, 0]
    there = np.asarray(np.isfinite(pelvis).all(-1))
    count = there.sum(0)
    total = np.where(there[..., None], pelvis, 0.0).sum(0)
    centre = np.zeros((len(count), 3))
    centre[count > 0] = total[count > 0] / count[count > 0, None]
    last = np.maximum.accumulate(np.where(count > 0, np.arange(len(count)), 0))
    centre = centre[last]
    centre[:, 1] = 0.0
    return centre
