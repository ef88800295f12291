"""From the scratch rows of one actor to what a dataset shows: joints on the grid, contacts, and the parts that actions move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.guided import mark_stretches
from posegen.motion.rows import ANKLE_X, BALL_X, HEEL_HEIGHT, HIP_X, KNEE_X, TOE_HEIGHT, between, copy_row
from posegen.motion.state import Clock, Role, slot_of
from posegen.motion.tables import SEAT, ActionTables
from posegen.motion.tracks import slot_stages
from posegen.skeleton import CONTACTS

__all__ = ["LEG_JOINTS", "to_grid", "write_contacts", "write_joints", "write_slots"]

Array = NDArray[Any]

TOUCHING = 0.005
"""A planted foot's heel or toe touches while it is less than this above the floor, in metres."""
LEG_JOINTS = np.array(
    [[[1, HIP_X], [4, KNEE_X], [7, ANKLE_X], [10, BALL_X]], [[2, HIP_X], [5, KNEE_X], [8, ANKLE_X], [11, BALL_X]]]
)
SEAT_POINT = CONTACTS.index("seat")


@kernel
def to_grid(x: Scalar) -> Scalar:
    """Nearest multiple of 2^-13 (float32)."""
    # Adding 0 turns -0 into 0, as which it is stored.
    return np.rint(np.float32(x) * np.float32(8192.0)) * np.float32(1.0 / 8192.0) + np.float32(0.0)


@kernel
def write_joints(joints: Array, legs: Array, leg_joints: Array, margin: int, out: Array) -> None:
    """Put rows of joints, which are changed, onto the grid; `out` is float32 [frames, 22, 3]."""
    for side in range(2):
        for i in range(4):
            j, row = leg_joints[side, i, 0], leg_joints[side, i, 1]
            for k in range(3):
                copy_row(legs[side, row + k], margin, margin + len(out), joints[j, k])
    # Row by row, so that vectors are rounded; then frame by frame, so that what is written lies side by side.
    for j in range(out.shape[1]):
        for k in range(3):
            row = joints[j, k]
            for f in between(margin, margin + len(out)):
                row[f] = to_grid(row[f])
    for f in range(len(out)):
        g = np.uintp(margin + f)
        for j in range(out.shape[1]):
            out[f, j, 0], out[f, j, 1], out[f, j, 2] = joints[j, 0, g], joints[j, 1, g], joints[j, 2, g]


@kernel
def write_contacts(legs: Array, planted: Array, margin: int, out: Array) -> None:
    """Label heels and toes; `out` is uint8 [frames, contacts]."""
    out[:] = 0
    for f in range(len(out)):
        for side in range(2):
            if planted[side, margin + f]:
                out[f, 2 * side] = legs[side, HEEL_HEIGHT, margin + f] < np.float32(TOUCHING)
                out[f, 2 * side + 1] = legs[side, TOE_HEIGHT, margin + f] < np.float32(TOUCHING)


@kernel
def write_slots(role: Role, actions: ActionTables, draws: Array, step: Scalar, action: Array, contact: Array) -> None:
    """Label each frame's parts with the slot that moves them, and what touches by what the slots say."""
    frames = len(action)
    for k in range(len(role.kinds)):
        slot = slot_of(role, k)
        f0 = max(0, int(np.ceil(slot.start / step - 1e-6)))
        f1 = min(frames, int(np.ceil(slot.end / step - 1e-6)))
        for p in range(action.shape[1]):
            if actions.parts[slot.kind, p] or k < role.base:
                action[f0:f1, p] = slot.kind // 2
        if slot.support == SEAT:
            entered, leaving = slot_stages(slot)
            contact[max(0, int(np.ceil(entered / step))) : min(frames, max(0, int(np.ceil(leaving / step)))), SEAT_POINT] = 1
        if slot.last_stretch > slot.first_stretch:
            for point in range(4, contact.shape[1]):
                mark_stretches(slot, actions, draws, Clock(0.0, step), point, contact[:, point])
