"""Kernel of the joints of planned scenes before they are rounded; :mod:`posegen.fields.scene_joints` passes the arrays."""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, kernel
from posegen.motion.engine import LEG_JOINTS, animate_actor
from posegen.motion.library_tables import ActionTables
from posegen.motion.placement import face_partners
from posegen.motion.scene_arrays import Roles, person_at, role_at
from posegen.motion.workspace import Clock, Person, Workspace


@kernel
def fill_joints(
    work: Workspace, roles: Roles, persons: Person, actions: ActionTables, clock: Clock, joints: Array, variant: int
) -> None:
    """Write the joints of all samples and actors as one variant of `joints`, float32 [n, variants, actors, frames, 22, 3]."""
    for i in range(len(joints)):
        if roles.meets[i] >= 0:
            face_partners(work, roles, persons, i, actions, clock)
        for who in range(joints.shape[2]):
            out = joints[i, variant, who]
            out[:] = np.nan
            if who < roles.actors[i]:
                animate_actor(work, role_at(roles, i, who), person_at(persons, i, who), actions, clock)
                for f in range(roles.length[i]):
                    for j in range(out.shape[1]):
                        for k in range(3):
                            out[f, j, k] = work.joints[j, k, clock.margin + f]
                    for side in range(2):
                        for j in range(len(LEG_JOINTS)):
                            for k in range(3):
                                out[f, 1 + side + 3 * j, k] = work.legs[side, LEG_JOINTS[j] + k, clock.margin + f]
