"""Kimodo: joints, rotations and contacts of SMPL-X's 22 joints as the program writes them, y up, 30 frames per second."""

from __future__ import annotations

import io

import numpy as np

from posegen.exchange.amass import smpl_rotations
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.joint_rotations import in_parent

FPS = 30
_FEET = 4
"""The first points of :data:`posegen.foundations.skeleton.CONTACTS`: heel and toe, left and right."""


def encode(clip: Clip) -> bytes:
    """Return the npz archive of a clip."""
    world = smpl_rotations(clip)
    buffer = io.BytesIO()
    np.savez(
        buffer,
        posed_joints=clip.joints,
        root_positions=clip.joints[:, 0],
        global_rot_mats=np.moveaxis(world, 0, 1).astype(np.float32),
        local_rot_mats=np.moveaxis(in_parent(world), 0, 1).astype(np.float32),
        foot_contacts=clip.contact[:, :_FEET].astype(np.float32),
    )
    return buffer.getvalue()


_SUMMARY = "joints, rotations and contacts in Kimodo's arrays; 30 frames per second"
FORMAT = one_file_each("kimodo", _SUMMARY, ".npz", encode, FPS, fields=("rotation",), frame_bytes=1960)
