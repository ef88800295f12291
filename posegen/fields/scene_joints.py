"""Joints of generated sequences at any rate and before they are rounded, for fields that differentiate them.

The scene is a function of time: its frames are computed at the given rate, not interpolated. Contacts begin and end at a frame,
so that joints differ from the stored ones by up to some centimetres there. Recordings have no scene.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.fields.field import Sequences
from posegen.fields.kernels.scene import fill_joints
from posegen.foundations.arrays import Array
from posegen.foundations.scene import Scenes
from posegen.library.load import Library
from posegen.motion.engine import empty_motion
from posegen.motion.library_tables import library_tables
from posegen.motion.placement import separate_actors
from posegen.motion.scene_arrays import scene_arrays
from posegen.motion.workspace import MARGIN_SECONDS, Clock, empty_workspace
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters, enabled_variants


def have_scenes(sequences: Sequences) -> bool:
    """Return whether the sequences were planned, so that they can be computed again; the rows of recordings name a source."""
    return not any(row.get("source") for row in sequences.rows)


def scene_joints(sequences: Sequences, rate: int) -> Array:
    """Return the joints of sequences that have scenes.

    Parameters
    ----------
    sequences : Sequences
        n samples.
    rate : int
        Frames per second of the result.

    Returns
    -------
    float32 [n, variant, actor, frame, 22, 3]
        Metres, not rounded to the grid; NaN where absent.
    """
    config, library, (_, variants, actors, frames) = sequences.config, sequences.library, sequences.shape
    attempts = np.array([row["attempt"] for row in sequences.rows[::variants]], np.int64)
    base = separate_actors(plan_scenes(config, library, sequences.samples, attempts), library, config.fps)
    base = replace(base, length=np.minimum(base.length * rate // config.fps, frames * rate // config.fps).astype(np.int32))
    parameters = draw_parameters(config, sequences.samples)
    motion = empty_motion(len(base), variants, actors, frames * rate // config.fps)
    for v, variant in enumerate(enabled_variants(config)):
        if variant.copy is None:
            _animate(variant.transform(base, parameters), library, rate, motion.joints, v)
        else:
            variant.copy(motion, 0, v, parameters)
    return motion.joints


def _animate(scenes: Scenes, library: Library, rate: int, joints: Array, variant: int) -> None:
    """Write the joints of scenes as one variant, as :func:`posegen.motion.engine.animate_into` does."""
    tables, arrays, margin = library_tables(library), scene_arrays(scenes, library), int(np.ceil(MARGIN_SECONDS * rate))
    keys = int((tables.poses.numbers["last_key"] - tables.poses.numbers["first_key"]).max(initial=0))
    knots = 4 + keys * max(1, int(scenes.repetitions.max(initial=0)))
    work = empty_workspace(joints.shape[3] + 2 * margin, scenes.action.shape[2], knots)
    clock = Clock(-margin / rate, 1.0 / rate, margin, joints.shape[3])
    fill_joints(work, arrays.roles, arrays.persons, tables, clock, joints, variant)
