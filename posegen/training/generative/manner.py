"""Motions as if everybody had the same body: what is left of a person is how they move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from posegen.training.clips.features import FEATURES, features_of
from posegen.training.clips.recipes import Recipe, View
from posegen.training.generative.bodies import AVERAGE, leg_length, offsets_of
from posegen.training.generative.kinematics import joints_of
from posegen.training.generative.poses import CONTACTS, poses_of, root_of, turned_of

__all__ = ["MANNER", "on_one_body"]

Array = NDArray[Any]


def on_one_body(joints: Array, fps: float) -> Array:
    """Have the average body move as others do.

    Joints turn as they did; steps are as long, and the pelvis is as high, in lengths of the legs.

    Parameters
    ----------
    joints : float [clip, frame, 22, 3]
        Metres, y up; NaN in frames that are not there, which must be the last ones.
    fps : float
        Frames a second.

    Returns
    -------
    float32 [clip, frame, 22, 3]
        The same times, from above the origin on and facing +z at first.
    """
    there = ~np.isnan(joints[..., 0, 0])
    # Which points touch is not needed for where joints are.
    untold = np.zeros((*there.shape, CONTACTS.stop - CONTACTS.start), np.uint8)
    poses = torch.from_numpy(poses_of(joints, untold, fps))
    leg = torch.full((len(joints),), float(leg_length(np.array(AVERAGE))))
    root, heading = root_of(poses, leg, fps)
    placed = joints_of(turned_of(poses, heading), root, torch.from_numpy(offsets_of(np.array(AVERAGE)))).numpy()
    return np.where(there[..., None, None], placed, np.float32(np.nan))


def _manner(fields: Mapping[str, Array], view: View) -> Array:
    shown = fields["joints"][:, 0, :: view.stride]
    return features_of(on_one_body(shown, view.fps), view.fps).astype(np.float16)


MANNER = Recipe("manner", 1, ("joints",), "float16", ("frame", FEATURES), _manner)
"""The features of the first actor's motion on the average body."""
