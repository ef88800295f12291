"""Clips as other skeletons would have them: what a model sees in training differs from clip to clip in where joints are said to
be, and in size.

Captured skeletons do so: of the hips alone, one convention puts them 5 cm further ahead of the pelvis than another, which is
ten standard deviations of generated ones. A model that has only seen one skeleton takes such a walk for anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.skeleton import JOINTS
from posegen.training.clips.drawing import SKELETON, draws_of
from posegen.training.settings import Skeleton

__all__ = ["LEAST_SPREAD", "on_other_skeletons"]

Array = NDArray[Any]

LEAST_SPREAD = 0.1
"""Metres, m/s or rad/s: for tasks to which skeletons do not matter, the least that a feature is taken to vary by. What hardly
varies among generated people, such as where hips are, is not to count for more than what they do: captured clips are known
better by that, 42 % rather than 37 %. Who is to be told from whom, though, is told by such things.
"""

_BODY = len(JOINTS) * 3
_MOVED = slice(_BODY, _BODY + 2)
_WIDTH = np.float32(3**0.5)
"""Half the width of a uniform distribution whose standard deviation is 1."""


def on_other_skeletons(clips: dict[str, Array], skeleton: Skeleton, seed: int, number: int) -> dict[str, Array]:
    """Show each clip on a skeleton of its own, which depends on the batch, the sample and the variant.

    Parameters
    ----------
    clips : dict
        With ``motion`` float32 [clip, frame, FEATURES], ``length``, ``sample`` and ``variant``.
    skeleton : Skeleton
        How far from the one that they have.
    seed, number : int
        Of the run, and of the batch.

    Returns
    -------
    dict
        With another ``motion``, in which every joint has moved by the same in all frames, as seen from the body, and
        everything is larger or smaller.
    """
    if not skeleton.joints and not skeleton.size:
        return clips
    drawn = draws_of(clips["sample"], clips["variant"], seed, number, SKELETON, 1 + _BODY).astype(np.float32)
    either_way = (2 * drawn - 1) * _WIDTH
    size = 1 + np.float32(skeleton.size) * either_way[:, None, :1]
    moved = np.float32(skeleton.joints) * either_way[:, None, 1:]
    motion = clips["motion"].copy()
    there = np.arange(motion.shape[1])[None, :, None] < clips["length"][:, None, None]
    motion[..., :_BODY] = np.where(there, motion[..., :_BODY] * size + moved, 0)
    motion[..., _MOVED] *= size
    return {**clips, "motion": motion}
