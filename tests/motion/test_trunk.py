"""Trunk, head and arms: rotations against plain matrices, and directions of positive angles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import ANATOMICAL, JOINTS, SKELETONS
from posegen.library.channels import CHANNELS
from posegen.motion.rows import PELVIS
from posegen.motion.trunk import hold_arms_out, place_upper_body
from posegen.motion.workspace import empty_workspace
from tests import naive
from tests.naive import about_x, about_y, about_z

OFFSETS = (1.7 * ANATOMICAL).astype(np.float32)
"""The anatomical body: SMPL's head lies so far ahead of its neck that a nod lowers it as much as it moves it ahead."""
UPPER = [j for j, name in enumerate(JOINTS) if not any(part in name for part in ("hip", "knee", "ankle", "foot"))]
FLOAT32 = 1e-6

SEEDS = st.integers(0, 2**32 - 1)


def random_rotations(generator: np.random.Generator, frames: int) -> Array:
    turns = generator.uniform(-0.5, 0.5, (frames, 3))
    return np.stack([about_y(y) @ about_x(x) @ about_z(z) for y, x, z in turns])


def rows(rotations: Array) -> Array:
    """Matrices [frames, 3, 3] in the layout of the kernels, [9, frames]."""
    return np.ascontiguousarray(rotations.reshape(len(rotations), 9).T.astype(np.float32))


def upper(channels: Array, pelvis: Array, root: Array) -> Array:
    work = empty_workspace(channels.shape[1], 1)
    work.channels[:], work.turns[PELVIS], work.joints[0] = channels, pelvis, root
    place_upper_body(work, OFFSETS)
    return work.joints


def posed(**degrees: float) -> dict[str, Array]:
    """Joints of the upper body, upright at the origin, with the named channels at these angles."""
    channels = np.zeros((len(CHANNELS), 1), np.float32)
    for name, value in degrees.items():
        channels[CHANNELS.index(name)] = value / 360
    joints = upper(channels, rows(np.eye(3)[None]), np.zeros((3, 1), np.float32))
    return {name: joints[j, :, 0] for j, name in enumerate(JOINTS)}


@given(SEEDS)
def test_upper_body_is_forward_kinematics(seed: int) -> None:
    generator = np.random.default_rng(seed)
    channels = generator.uniform(-0.38, 0.38, (len(CHANNELS), 3)).astype(np.float32)
    pelvis, root = random_rotations(generator, 3), generator.uniform(-2, 2, (3, 3)).astype(np.float32)
    joints = upper(channels, rows(pelvis), root)
    for f in range(3):
        expected = naive.forward_kinematics(
            channels[:, f].astype(np.float64), pelvis[f], root[:, f], OFFSETS.astype(np.float64)
        )
        np.testing.assert_allclose(joints[UPPER, :, f], expected[UPPER], atol=5e-6)


X, Y, Z = range(3)
DIRECTIONS = [
    ("left_shoulder_flexion", "left_wrist", Z, 1),
    ("right_shoulder_flexion", "right_wrist", Z, 1),
    ("left_shoulder_abduction", "left_wrist", X, 1),
    ("right_shoulder_abduction", "right_wrist", X, -1),
    ("left_elbow_flexion", "left_wrist", Z, 1),
    ("right_elbow_flexion", "right_wrist", Z, 1),
    ("left_collar_elevation", "left_shoulder", Y, 1),
    ("right_collar_elevation", "right_shoulder", Y, 1),
    ("left_collar_protraction", "left_shoulder", Z, 1),
    ("right_collar_protraction", "right_shoulder", Z, 1),
    ("trunk_flexion", "head", Z, 1),
    ("trunk_lateral", "head", X, 1),
    ("trunk_rotation", "left_shoulder", Z, -1),
    ("trunk_rotation", "right_shoulder", Z, 1),
    ("neck_flexion", "head", Z, 1),
    ("neck_lateral", "head", X, 1),
    ("neck_rotation", "head", X, 1),
]


@pytest.mark.parametrize(("channel", "joint", "axis", "direction"), DIRECTIONS)
def test_directions_of_positive_upper_body_angles(channel: str, joint: str, axis: int, direction: int) -> None:
    rest, moved = posed(), posed(**{channel: 20.0})
    arm = float(np.abs(moved[joint] - rest[joint]).max())
    assert direction * (moved[joint][axis] - rest[joint][axis]) == pytest.approx(arm)
    assert arm > 0.003


@pytest.mark.parametrize(("side", "outward"), [("left", 1), ("right", -1)])
def test_external_rotation_moves_the_forearm_outward(side: str, outward: int) -> None:
    bent = {f"{side}_elbow_flexion": 90.0}
    before, after = posed(**bent)[f"{side}_wrist"], posed(**bent, **{f"{side}_shoulder_rotation": 30.0})[f"{side}_wrist"]
    assert outward * (after[X] - before[X]) > 0.1
    assert after[Y] == pytest.approx(before[Y], abs=1e-5)


def test_rest_pose_hangs() -> None:
    rest = posed()
    assert rest["left_shoulder"][X] > 0 > rest["right_shoulder"][X]
    assert rest["left_wrist"][Y] < rest["left_elbow"][Y] < rest["left_shoulder"][Y] < rest["head"][Y]
    np.testing.assert_allclose(rest["left_wrist"] * [-1, 1, 1], rest["right_wrist"], atol=FLOAT32)


def test_elbows_stay_within_their_range() -> None:
    asked = [130.0, 137.0, 140.0, 150.0, 170.0, 220.0]
    places = [posed(left_elbow_flexion=degrees) for degrees in asked]
    arms = [(p["left_elbow"] - p["left_shoulder"], p["left_wrist"] - p["left_elbow"]) for p in places]
    bends = [np.degrees(np.arccos((a @ b) / np.sqrt((a @ a) * (b @ b)))) for a, b in arms]
    assert bends[:2] == pytest.approx(asked[:2], abs=0.05)
    assert (np.diff(bends) > 0.3).all()
    assert 143 < bends[3] < bends[5] < 150


@pytest.mark.parametrize("skeleton", ["smpl", "cmu"])
@pytest.mark.parametrize("wider", [0.0, 0.03])
def test_hanging_arms_are_as_far_from_wide_hips_as_from_those_of_smpl(skeleton: str, wider: float) -> None:
    def room_of(offsets: Array, abduction: Array) -> Array:
        """How far the wrists are further out than the hips, in arm lengths."""
        lengths = offsets[[18, 19], 1] + offsets[[20, 21], 1]
        shoulders = np.abs(offsets[[13, 14], 0] + offsets[[16, 17], 0])
        return np.asarray((np.abs(offsets[[1, 2], 0]) - shoulders) / lengths + np.sin(2 * np.pi * abduction))

    offsets = (1.7 * SKELETONS[skeleton]).astype(np.float32)
    offsets[1, 0], offsets[2, 0] = offsets[1, 0] + wider, offsets[2, 0] - wider
    rows = [CHANNELS.index(f"{side}_shoulder_abduction") for side in ("left", "right")]
    channels = np.zeros((len(CHANNELS), 5), np.float32)
    hold_arms_out(channels, offsets)
    usual = room_of(1.7 * SKELETONS["smpl"], np.zeros(2))
    np.testing.assert_allclose(room_of(offsets, channels[rows, 3]), usual, atol=0.002)
    assert not np.delete(channels, rows, axis=0).any()
