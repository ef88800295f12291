"""One actor before rounding to the grid: bone lengths, and a workspace that is used again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.foundations.scene import Scenes
from posegen.foundations.skeleton import PARENTS
from posegen.motion import rows
from posegen.motion.engine import LEG_JOINTS
from posegen.motion.workspace import Workspace
from tests.motion.acted import MARGIN, acted
from tests.motion.scripted import LIBRARY, SegmentSpec, person, scripted

FRAMES = 250


def joints_of(work: Workspace) -> Array:
    """Joints [22, 3, frames] of the stored frames."""
    joints = work.joints.astype(np.float64)
    for side in range(2):
        for i, row in enumerate(LEG_JOINTS):
            joints[1 + side + 3 * i] = work.legs[side, row : row + 3]
    return np.asarray(joints[..., MARGIN : MARGIN + FRAMES])


SCENES = [
    scripted(
        SegmentSpec("stand", -2, 2), SegmentSpec("walk", 2, 7, speed=1.5, turn=100), SegmentSpec("sit", 7, 13), frames=FRAMES
    ),
    scripted(
        SegmentSpec("run", -3, 4, speed=3.4),
        SegmentSpec("turn", 4, 6, turn=-170),
        SegmentSpec("jump", 6, 9, repetitions=1),
        SegmentSpec("wave", 1, 6, repetitions=5, layered=True),
        frames=FRAMES,
    ),
    scripted(
        SegmentSpec("squat", -3, 4, repetitions=3),
        SegmentSpec("bow", 4, 7, repetitions=1),
        SegmentSpec("walk", 7, 14, speed=0.7),
        frames=FRAMES,
    ),
]


@settings(max_examples=15)
@given(st.sampled_from(SCENES), st.floats(1.45, 2.0), st.integers(0, 2**32 - 1), st.floats(-25, 25), st.floats(-25, 25))
def test_bones_keep_their_length(scenes: Scenes, stature: float, seed: int, x: float, z: float) -> None:
    someone = person(stature, seed)
    joints = joints_of(acted(scenes, LIBRARY, someone, place=(x, z)))
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            lengths = np.sqrt(((joints[joint] - joints[parent]) ** 2).sum(0))
            expected = np.sqrt((someone.offsets[joint].astype(np.float64) ** 2).sum())
            np.testing.assert_allclose(lengths, expected, atol=1e-5)


@pytest.mark.parametrize("scenes", SCENES)
def test_former_content_of_the_workspace_has_no_effect(scenes: Scenes) -> None:
    clean = acted(scenes, LIBRARY, person())
    used = acted(SCENES[1], LIBRARY, person(1.9), place=(3.0, 1.0))
    used.root[rows.TRACK :] = used.turns[:] = used.nominal[:] = np.nan  # scratch rows, which each stage writes first
    acted(scenes, LIBRARY, person(), work=used)
    np.testing.assert_array_equal(joints_of(used), joints_of(clean))
    np.testing.assert_array_equal(used.contact, clean.contact)
