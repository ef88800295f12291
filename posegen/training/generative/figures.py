"""From poses in numbers to a figure: more frames in between, bones of one body, feet that stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posegen.training.generative.bodies import leg_length, offsets_of
from posegen.training.generative.feet import plant
from posegen.training.generative.kinematics import joints_of
from posegen.training.generative.poses import CONTACTS, root_of, turned_of

__all__ = ["Figure", "figure_of", "finer"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Figure:
    """A motion.

    Attributes
    ----------
    joints : float32 [frame, 22, 3]
        Metres, y up, the floor at height 0.
    contact : bool [frame, 4]
        Which points of the soles touch: left heel, left toe, right heel, right toe.
    """

    joints: Array
    contact: Array


def figure_of(poses: Tensor, body: Array, fps: float, times: int, *, planted: bool = True) -> Figure:
    """Make a figure of poses.

    Parameters
    ----------
    poses : Tensor [frame, POSE_NUMBERS]
    body : float [5]
        See :data:`posegen.training.generative.bodies.MEASURES`.
    fps : float
        Frames of the poses a second.
    times : int
        So many times as many frames a second it gets.
    planted : bool
        Whether what slides of feet that touch is taken out.
    """
    # Steps from frame to frame do not hold between frames: it is their sum that is gone along in more frames.
    leg = torch.tensor(float(leg_length(body)), dtype=torch.float64)
    whole = poses.to(torch.float64)
    root, heading = root_of(whole, leg, fps)
    numbers = finer(torch.cat([whole, root, heading[:, None]], dim=-1), times)
    whole, root, heading = numbers[:, :-4], numbers[:, -4:-1], numbers[:, -1]
    offsets = torch.from_numpy(offsets_of(body).astype(np.float64))
    joints = joints_of(turned_of(whole, heading), root, offsets).numpy()
    touching = whole[:, CONTACTS].numpy()
    if not planted:
        return Figure(joints.astype(np.float32), touching > 0.5)
    done = plant(joints, touching, fps * times, float(body[0]))
    return Figure(done.joints.astype(np.float32), done.contact)


def finer(values: Tensor, times: int) -> Tensor:
    """Put frames in between, on a smooth course through all that there are (Catmull and Rom's spline).

    Parameters
    ----------
    values : Tensor [frame, number]
    times : int

    Returns
    -------
    Tensor [(frame - 1) * times + 1, number]
    """
    last = len(values) - 1
    place = torch.arange(last * times + 1, device=values.device)
    first = torch.div(place, times, rounding_mode="floor").clamp(max=max(last - 1, 0))
    u = ((place - first * times).to(values.dtype) / times)[:, None]
    before, begin, end, after = (values[(first + i).clamp(0, last)] for i in (-1, 0, 1, 2))
    # Beyond the ends the course goes straight on.
    before = torch.where((first == 0)[:, None], 2 * begin - end, before)
    after = torch.where((first + 2 > last)[:, None], 2 * end - begin, after)
    slope, curve = end - before, 2 * before - 5 * begin + 4 * end - after
    bend = 3 * (begin - end) + after - before
    return begin + 0.5 * u * (slope + u * (curve + u * bend))
