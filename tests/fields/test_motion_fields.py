"""Fields of the joints alone, compared with naive implementations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posegen.config.load import load_config
from posegen.fields.field import Sequences
from posegen.fields.kernels.rotation import BLOCK
from posegen.fields.momentum import BODY_MASS_INDEX, SEGMENTS
from posegen.fields.quality import SCALES
from posegen.fields.rotation import bone_offsets, joint_rotations
from posegen.foundations.skeleton import JOINTS, PARENTS
from tests.fields.conftest import computed, made
from tests.fields.naive_rotations import joint_rotations as naive_rotations

ONE_MILLIMETRE = 1e-3
EVERY = 7
"""Of these frames one is compared with the naive rotations, which take milliseconds a frame."""
STRAIGHT = {joint for joint, name in enumerate(JOINTS) if name.endswith(("knee", "ankle", "elbow", "wrist"))}


def test_velocity_and_acceleration_are_differences(sequences: Sequences) -> None:
    arrays, fps = computed("velocity", sequences), sequences.config.fps
    for index in np.ndindex(sequences.shape[:3]):
        joints = sequences.joints[index][sequences.present[index]].astype(float)
        if len(joints):
            velocity = arrays["velocity"][index][sequences.present[index]]
            np.testing.assert_allclose(velocity, np.gradient(joints, 1 / fps, axis=0), atol=1e-5, rtol=1e-5)
            inner = (joints[2:] - 2 * joints[1:-1] + joints[:-2]) * fps**2
            acceleration = arrays["acceleration"][index][sequences.present[index]]
            np.testing.assert_allclose(acceleration[1:-1], inner, atol=1e-3, rtol=1e-5)
            np.testing.assert_array_equal(acceleration[0], acceleration[1])


def forward_kinematics(rotation: np.ndarray, root: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    x, y = rotation[..., :3], rotation[..., 3:]
    local = np.stack([x, y, np.cross(x, y)], axis=-1)
    turned: list[np.ndarray] = []
    positions: list[np.ndarray] = []
    for joint, parent in enumerate(PARENTS):
        own = local[..., joint, :, :]
        turned.append(own if parent < 0 else turned[parent] @ own)
        bone = offsets[..., None, joint, :, None]
        positions.append(root if parent < 0 else positions[parent] + (turned[parent] @ bone)[..., 0])
    return np.stack(positions, axis=-2)


def test_forward_kinematics_of_the_rotations_gives_the_joints(sequences: Sequences) -> None:
    arrays = computed("rotation", sequences)
    rotation, root = arrays["rotation"].astype(float), arrays["root"].astype(float)
    reached = forward_kinematics(rotation, root[..., :3], bone_offsets(sequences))
    present = sequences.present
    assert np.abs(reached - sequences.joints)[present].max() < ONE_MILLIMETRE / 2
    x, y = rotation[present][..., :3], rotation[present][..., 3:]
    for first, second, expected in ((x, x, 1.0), (y, y, 1.0), (x, y, 0.0)):
        np.testing.assert_allclose((first * second).sum(-1), expected, atol=1e-6)
    facing = rotation[present][:, 0]
    forward = np.cross(facing[:, :3], facing[:, 3:])
    np.testing.assert_allclose(root[present][:, 3], np.arctan2(forward[:, 0], forward[:, 2]), atol=1e-5)


def test_knees_and_elbows_are_hinges(sequences: Sequences) -> None:
    rotation = computed("rotation", sequences)["rotation"][sequences.present].astype(float)
    for name in ("left_elbow", "right_elbow", "left_ankle", "right_ankle"):
        # A hinge keeps its own axis, x. The axis of a nearly straight arm is that of the arm held out sideways.
        axis = rotation[:, JOINTS.index(name), 0]
        assert np.median(axis) > 0.999, name
        assert np.quantile(axis, 0.01) > 0.9, name


def test_rotations_equal_the_naive_ones(sequences: Sequences) -> None:
    offsets = bone_offsets(sequences)
    local, pelvis = joint_rotations(sequences.joints, offsets)
    assert np.isnan(local[~sequences.present]).all()
    for index in np.ndindex(sequences.shape[:3]):
        frames = np.flatnonzero(sequences.present[index])[::EVERY]
        if not frames.size:  # fewer actors than the arrays have room for
            continue
        world = naive_rotations(sequences.joints[index][frames], offsets[index])
        for joint, parent in enumerate(PARENTS):
            own = world[:, joint] if parent < 0 else np.swapaxes(world[:, parent], -1, -2) @ world[:, joint]
            found = local[index][frames, joint].reshape(-1, 2, 3)
            np.testing.assert_allclose(np.swapaxes(found, -1, -2), own[..., :2], atol=1e-6)
        np.testing.assert_allclose(np.moveaxis(pelvis[index], -1, 0)[frames], np.swapaxes(world[:, 0], -1, -2), atol=1e-9)


@pytest.mark.parametrize("frames", [1, BLOCK - 1, BLOCK, BLOCK + 1])
def test_rotations_of_a_frame_do_not_depend_on_the_others(sequences: Sequences, frames: int) -> None:
    """Frames are computed in blocks, the last of which has rows of the one before it, here with NaN."""
    index = np.unravel_index(np.argmax(sequences.present.sum(axis=-1)), sequences.shape[:3])
    joints, offsets = sequences.joints[index][sequences.present[index]], bone_offsets(sequences)[index]
    assert len(joints) > BLOCK + 1
    whole, pelvis = joint_rotations(joints, offsets)
    assert np.isfinite(whole).all()
    for first in (0, len(joints) - frames):
        local, own_pelvis = joint_rotations(joints[first : first + frames], offsets)
        assert local.tobytes() == whole[first : first + frames].tobytes()
        assert own_pelvis.tobytes() == pelvis[..., first : first + frames].tobytes()
    joints[:-frames] = np.nan
    local, _ = joint_rotations(joints, offsets)
    assert local[-frames:].tobytes() == whole[-frames:].tobytes()
    assert np.isnan(local[:-frames]).all()


def test_straight_limbs_in_all_directions_have_rotations(sequences: Sequences) -> None:
    """Where a plane is undefined, the axes are still orthogonal, and the joints are reached."""
    offsets = bone_offsets(sequences)[0, 0, 0]
    for direction in np.concatenate([np.eye(3), -np.eye(3)]):
        joints = np.zeros((1, len(JOINTS), 3))
        for joint, parent in enumerate(PARENTS[1:], start=1):
            along = direction if joint in STRAIGHT else offsets[joint] / np.linalg.norm(offsets[joint])
            joints[0, joint] = joints[0, parent] + along * np.linalg.norm(offsets[joint])
        local, _ = joint_rotations(joints, offsets)
        columns = local.reshape(-1, 2, 3).astype(float)
        np.testing.assert_allclose(columns @ np.swapaxes(columns, -1, -2), np.broadcast_to(np.eye(2), (22, 2, 2)), atol=1e-6)
        reached = forward_kinematics(local.astype(float), joints[:, 0], offsets)
        np.testing.assert_allclose(reached, joints, atol=ONE_MILLIMETRE)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        joint_rotations(np.zeros((2, 5, 22, 3)), np.zeros((3, 22, 3)))


def test_rotations_of_a_known_pose(sequences: Sequences) -> None:
    offsets = bone_offsets(sequences)[:1, :1, :1]
    turned = np.tile(np.eye(3)[:, :2].T.ravel(), (1, 1, 1, 2, 22, 1))
    bend = np.radians(40)

    def about_x(angle: float) -> list[float]:
        return [1, 0, 0, 0, np.cos(angle), np.sin(angle)]

    turned[..., 1, JOINTS.index("left_hip"), :] = about_x(-bend)
    turned[..., 1, JOINTS.index("left_knee"), :] = about_x(2 * bend)
    turned[..., 1, JOINTS.index("right_elbow"), :] = about_x(-bend)
    turned[..., 1, JOINTS.index("spine2"), :] = about_x(bend / 4)
    joints = forward_kinematics(turned, np.zeros((1, 1, 1, 2, 3)), offsets)
    one = sequences.slice(0, 1)
    row = [{**one.rows[0], "actors": one.rows[0]["actors"][:1]}]
    posed = Sequences(
        one.config, one.library, one.samples, joints.astype(np.float32), one.action[:, :1, :1], one.contact[:, :1, :1], row
    )
    found = computed("rotation", posed)["rotation"]
    np.testing.assert_allclose(found[0, 0, 0, 1], turned[0, 0, 0, 1], atol=1e-4)
    np.testing.assert_allclose(found[0, 0, 0, 0], turned[0, 0, 0, 0], atol=1e-4)


def test_momentum_of_a_rigid_body_in_flight() -> None:
    """For a rigid body that spins in free flight, gravity changes the linear momentum and the angular momentum is constant."""
    still = made(load_config("default", ["frames=40", "variants.speed=null", "variants.scale=null"]), 1)
    pose = still.joints[0, 0, 0, 0].astype(float)
    fps, frames, spin = 25, 40, 1.3
    seconds = np.arange(frames) / fps
    turned = np.empty((frames, 22, 3))
    for f, t in enumerate(seconds):
        c, s = np.cos(spin * t), np.sin(spin * t)
        turned[f] = (pose - pose[0]) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T
        turned[f] += np.array([2.0 * t, 3 * t - 4.905 * t * t, -1.0 * t])
    joints = np.broadcast_to(turned.astype(np.float32), still.joints.shape)
    moving = replace(still, joints=joints)
    arrays = {name: values[0, 0, 0].astype(float) for name, values in computed("momentum", moving).items()}
    person = still.rows[0]["actors"][0]
    mass = BODY_MASS_INDEX * person["stature"] ** 2
    assert abs(arrays["mass"] - mass) < 1e-3
    angular = arrays["angular_momentum"][2:-2]
    np.testing.assert_allclose(angular[:, 1], angular[0, 1], rtol=0.01)
    assert 0.2 < abs(angular[0, 1]) / spin < 4.0  # kg m^2 about the vertical, standing: 1 to 3 with the arms at the sides
    linear = arrays["linear_momentum"]
    force = np.diff(linear[2:-2], axis=0) * fps
    # The centre of mass of a body that turns about its pelvis also moves in a small circle.
    np.testing.assert_allclose(force[:, 1], -9.81 * mass, rtol=0.01)
    assert abs(sum(part.mass for part in SEGMENTS) - 1.0) < 1e-9


def test_each_defect_lowers_the_quality(sequences: Sequences) -> None:
    good = computed("quality", sequences)
    score = good["quality"][~np.isnan(good["quality"])]
    assert np.median(score) > 0.8
    assert score.max() <= 1.0
    trembling = sequences.joints + np.random.default_rng(0).normal(0, 0.02, sequences.joints.shape).astype(np.float32)
    sunken = sequences.joints - np.array([0, 0.1, 0], np.float32)
    sliding = sequences.joints + np.linspace(0, 5, sequences.shape[3], dtype=np.float32)[:, None, None] * np.array(
        [1, 0, 0], np.float32
    )
    for defective, measure in ((trembling, "jerk"), (trembling, "stretch"), (sunken, "depth"), (sliding, "slide")):
        bad = computed("quality", replace(sequences, joints=defective.astype(np.float32)))
        assert np.nanmax(bad["quality"] / good["quality"]) < 0.5
        assert np.nanmin(bad["quality_measures"][..., list(SCALES).index(measure)]) > SCALES[measure]
