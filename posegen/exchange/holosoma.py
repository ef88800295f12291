"""Joint positions for the retargeting of holosoma: z up, in the order of SMPL's joints, and the person's stature."""

from __future__ import annotations

import io

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each


def encode(clip: Clip) -> bytes:
    """Return ``global_joint_positions`` float32 [frame, 22, 3] and ``height`` in metres as an npz archive."""
    x, y, z = np.moveaxis(clip.joints, -1, 0)
    buffer = io.BytesIO()
    np.savez(buffer, global_joint_positions=np.stack([z, x, y], axis=-1), height=np.float32(clip.stature))
    return buffer.getvalue()


FORMAT = one_file_each("holosoma", "joint positions with z up for retargeting to robots", ".npz", encode)
