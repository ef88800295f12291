"""Clips of other skeletons: what their joints show does not depend on where these lie in the body."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.motion.scripted import animated, shown
from posegen.evaluation.body import true_intervals
from posegen.foundations.skeleton import JOINTS, SKELETONS
from posegen.library.load import load_library
from posegen.mocap import pose_channels
from posegen.mocap.actions import clip_action
from posegen.mocap.body_angles import spine_rotations

FPS = 25
PELVIS, ANKLES = JOINTS.index("pelvis"), [JOINTS.index("left_ankle"), JOINTS.index("right_ankle")]
SAME = 5.0
"""Degrees, in the median of the frames."""


def clip_on(skeleton: str, action: str) -> NDArray[np.float64]:
    """The same person, with other joints, who performs an action of the library from standing to standing."""
    scenes = shown(load_library(), action, 1, FPS, neutral=True)
    scenes.persons.rest[:] = SKELETONS[skeleton]
    scenes.side[:] = 0
    (recording,) = animated(scenes, load_library(), FPS)
    return recording.joints


def channels_of(joints: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    ground = pose_channels.Ground(
        joints[:, PELVIS] * (1, 0, 1), pose_channels.facing(joints), pose_channels.leg_length(joints), 0.0
    )
    return pose_channels.body_channels(joints, ground, standing=pose_channels.standing_angles(joints))


def crouched(joints: NDArray[np.float64]) -> NDArray[np.float64]:
    """One squat, from bent knees to bent knees."""
    low = joints[:, PELVIS, 1] - joints[:, ANKLES, 1].mean(axis=1) < 0.8 * pose_channels.leg_length(joints)
    return joints[max(true_intervals(low), key=lambda run: run.stop - run.start)]


@pytest.mark.parametrize("skeleton", ["anatomical", "cmu", "h36m"])
@pytest.mark.parametrize("action", ["jumping_jack", "squat"])
def test_arms_are_lifted_as_far_on_each_skeleton(skeleton: str, action: str) -> None:
    expected, found = channels_of(clip_on("smpl", action)), channels_of(clip_on(skeleton, action))
    for angle in ("shoulder_flexion", "shoulder_abduction", "elbow_flexion"):
        apart = np.abs(found[f"left_{angle}"] - expected[f"left_{angle}"])
        assert np.median(apart) < SAME, angle


@pytest.mark.parametrize("skeleton", ["smpl", "cmu"])
def test_joints_of_a_clip_are_where_its_skeleton_has_them(skeleton: str) -> None:
    joints = clip_on(skeleton, "squat")
    standing = pose_channels.standing_angles(joints)
    assert standing is not None
    # The stature of a clip is that of a body with such legs.
    legs = [JOINTS.index("left_knee"), JOINTS.index("left_ankle")]
    found, given = (
        rest / np.abs(rest[legs, 1]).sum() for rest in (pose_channels.rest_of_clip(joints, standing), SKELETONS[skeleton])
    )
    apart = 0.81 * (found - given)
    # Arms that are held ahead protract the shoulders.
    assert np.sqrt((apart**2).sum(-1)).max() < 0.03
    other = SKELETONS["smpl" if skeleton == "cmu" else "cmu"]
    unlike = 0.81 * (other / np.abs(other[legs, 1]).sum() - given)
    assert np.sqrt((apart**2).sum(-1).mean()) < 0.5 * np.sqrt((unlike**2).sum(-1).mean())


def test_rotations_of_the_spine_are_those_of_its_angles() -> None:
    names = [f"{part}_{angle}" for part in ("trunk", "neck") for angle in ("rotation", "flexion", "lateral")]
    straight = {name: np.zeros(1) for name in names}
    pelvis = {"pelvis_rotation": np.array([30.0]), "pelvis_tilt": np.array([10.0]), "pelvis_obliquity": np.array([5.0])}
    spine = spine_rotations(straight | pelvis)
    np.testing.assert_allclose(spine.head, spine.pelvis, atol=1e-12)
    # Turned to the left by 30 degrees, and tilted down by 10.
    s, c, down, level = np.sin(np.pi / 6), np.cos(np.pi / 6), np.sin(np.pi / 18), np.cos(np.pi / 18)
    np.testing.assert_allclose(spine.pelvis[0, :, 2], [s * level, -down, c * level], atol=1e-12)
    bent = spine_rotations(straight | pelvis | {"trunk_flexion": np.array([60.0])})
    expected = spine_rotations(straight | pelvis | {"pelvis_tilt": np.array([70.0]), "pelvis_obliquity": np.zeros(1)})
    level_pelvis = spine_rotations(straight | pelvis | {"trunk_flexion": np.array([60.0]), "pelvis_obliquity": np.zeros(1)})
    np.testing.assert_allclose(level_pelvis.chest, expected.pelvis, atol=1e-12)
    np.testing.assert_allclose(bent.pelvis, spine.pelvis, atol=1e-12)


def test_clips_in_which_nobody_stands_are_read_by_the_most_similar_skeletons() -> None:
    whole = clip_on("cmu", "squat")
    low = crouched(whole)
    assert pose_channels.standing_angles(low) is None
    assert pose_channels.standing_skeleton(low) is None
    own, other = pose_channels.standing_skeleton(whole), pose_channels.standing_skeleton(clip_on("smpl", "squat"))
    assert own is not None
    assert other is not None
    few = [other, *[own] * 5, *[pose_channels.Skeleton(other.bones, dict.fromkeys(other.standing, 90.0))] * 9]
    assert pose_channels.usual_standing(low, few) == own.standing
    assert abs(own.standing["neck_flexion"]) > 40
    assert pose_channels.usual_standing(low, []) == {}


def test_a_head_that_lies_elsewhere_is_no_bent_neck() -> None:
    whole = clip_on("cmu", "squat")
    standing = pose_channels.standing_angles(whole)
    pose = clip_action(crouched(whole), FPS, "squat", standing).entry["pose"]
    assert abs(pose.get("neck_flexion", 0.0)) < 20
