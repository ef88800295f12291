"""Computed workspaces of one actor, before rounding to the grid, with rotations and channels."""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.scene import Scenes
from posegen.foundations.skeleton import JOINTS
from posegen.library.channels import CHANNELS
from posegen.library.load import Library
from posegen.motion.engine import animate_scenes, empty_motion
from posegen.motion.library_tables import library_tables
from posegen.motion.rows import PELVIS
from posegen.motion.scene_arrays import scene_arrays
from posegen.motion.workspace import Clock, Person, Workspace, empty_workspace
from tests.naive import central_rotation

__all__ = ["MARGIN", "acted", "rotations_of", "shown"]


MARGIN = 40


def acted(
    scenes: Scenes,
    library: Library,
    someone: Person,
    fps: int = 25,
    place: tuple[float, float] = (0.3, -0.2),
    work: Workspace | None = None,
) -> Workspace:
    """Return the workspace over the frames of the scene and the margins, with heading .1 turns and a start at `place`.

    `work` is filled again in place of a new workspace.
    """
    frames = int(scenes.length[0])
    work = work or empty_workspace(frames + 2 * MARGIN, scenes.action.shape[2])
    clock = Clock(-MARGIN / fps, 1.0 / fps, MARGIN, frames)
    roles = scene_arrays(scenes, library).roles
    roles.start[0, 0] = (0.2, 0.1, *place, float(scenes.seat_height[0, 0]))
    roles.left_leads[:] = True
    # The kernel of samples, which is compiled in any case, runs over one with one actor.
    persons, motion = Person(*(np.array(each)[None, None] for each in someone)), empty_motion(1, 1, 1, frames)
    animate_scenes(work, roles, persons, library_tables(library), clock, motion, 0, False)
    return work


def shown(work: Workspace, joint: str) -> Array:
    """Return the positions of a joint of the upper body in the stored frames, [frames, 3]."""
    return work.joints[JOINTS.index(joint), :, MARGIN:-MARGIN].T.astype(np.float64)


def rotations_of(work: Workspace, frame: int) -> dict[str, Array]:
    """Return the rotations of chest and head in a stored frame, from channels and pelvis alone."""
    angles = dict(zip(CHANNELS, work.channels[:, MARGIN + frame].astype(np.float64), strict=True))
    pelvis = work.turns[PELVIS, :, MARGIN + frame].reshape(3, 3).astype(np.float64)
    third = central_rotation(*(angles[f"trunk_{c}"] / 3 for c in ("rotation", "flexion", "lateral")))
    chest = pelvis @ third @ third @ third
    return {
        "chest": chest,
        "head": chest @ central_rotation(*(angles[f"neck_{c}"] for c in ("rotation", "flexion", "lateral"))),
    }
