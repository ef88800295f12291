"""Joints of a clip and its frame rate as an npz archive: ``joints`` float32 [frame, 22, 3], metres, y up, and ``fps``."""

from __future__ import annotations

import io

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each


def encode(clip: Clip) -> bytes:
    """Return the npz archive of a clip."""
    buffer = io.BytesIO()
    np.savez(buffer, joints=clip.joints, fps=np.float64(clip.fps))
    return buffer.getvalue()


FORMAT = one_file_each("npz", "an npz for each clip: joints in metres and the frame rate", ".npz", encode)
