"""Joints of generated sequences at any rate and before they are rounded, for fields that differentiate them.

The scene is a function of time: its frames are computed at the given rate, not interpolated. Contacts begin and end at a frame,
so that joints differ from the stored ones by up to some centimetres there. Recordings have no scene.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.fields.field import Sequences
from posegen.foundations.arrays import Array
from posegen.motion.engine import animate_into, empty_motion
from posegen.motion.placement import separate_actors
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
            animate_into(variant.transform(base, parameters), library, rate, motion, v, rounded=False)
        else:
            variant.copy(motion, 0, v, parameters)
    return motion.joints
