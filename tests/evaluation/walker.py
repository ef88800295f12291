"""A synthetic walk with contact labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.recording import Recording
from tests.evaluation.figures import FPS, standing

__all__ = ["walker"]


def walker(
    speed: float = 1.3, stride: float = 1.08, stance: float = 0.6, frames: int = 150, flight: float = 0.0, rise: float = 0.02
) -> Recording:
    """Return a walk towards +z: feet move linearly, the body rises twice per stride and sways once.

    `stance` is the share of the stride that a foot touches; the labels leave out `flight` of the stride more at its end.
    """
    joints = standing(frames)
    times = np.arange(frames) / FPS
    contact: NDArray[Any] = np.zeros((frames, 9), np.uint8)
    for side, foot in ((0, (7, 10)), (1, (8, 11))):
        phase = (times / stride + side / 2) % 1
        # The foot moves backwards linearly in stance and forwards linearly in swing.
        ahead = np.where(phase < stance, 0.5 - phase / stance, (phase - stance) / (1 - stance) - 0.5) * speed * stride * stance
        joints[:, foot, 2] += ahead[:, None]
        contact[:, 2 * side : 2 * side + 2] = (phase < stance - flight)[:, None]
    joints[..., 2] += speed * times[:, None]
    joints[..., 1] += rise / 2 * np.sin(4 * np.pi * times / stride)[:, None]
    joints[..., 0] += 0.03 * np.sin(2 * np.pi * times / stride)[:, None]
    segment = {"action": "walk", "parts": ["legs"], "start": 0, "end": frames, "turn": 0.0}
    return Recording("walker", "1", joints, FPS, contact, [segment])
