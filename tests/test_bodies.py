"""Joint placement of people: published lengths, variation between people, and what it does not change."""

from __future__ import annotations

import numpy as np
import pytest

import posegen
from posegen.config.load import load_config
from posegen.config.schema import Config, Population
from posegen.evaluation.body import joint_angles
from posegen.fields.field import Sequences
from posegen.fields.rotation import bone_offsets
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets, hip_height, leg_height
from posegen.foundations.skeleton import AVERAGE_STATURE, JOINTS, MIRROR_JOINTS, PARENTS, SKELETONS, T_POSE, rest_offsets
from posegen.library.load import load_library
from posegen.planning.population import persons
from posegen.planning.scenes import plan_scenes

PEOPLE = np.arange(2000)
LIBRARY = load_library()


def lengths(offsets: Array) -> Array:
    return np.asarray(np.sqrt((offsets.astype(np.float64) ** 2).sum(-1)))


def standing(rest: Array) -> Array:
    joints = np.zeros((len(JOINTS), 3))
    for joint, parent in enumerate(PARENTS[1:], 1):
        joints[joint] = joints[parent] + rest[joint]
    return joints


def test_an_average_body_has_the_bones_of_smpl() -> None:
    people = persons(Config(), LIBRARY, PEOPLE)
    bones = lengths(body_offsets(people)) / people.stature[:, None]
    feet = [JOINTS.index(f"{side}_foot") for side in ("left", "right")]
    wanted = np.delete(lengths(rest_offsets(T_POSE)) / AVERAGE_STATURE, feet)
    np.testing.assert_allclose(np.delete(bones.mean(0), feet)[1:], wanted[1:], rtol=0.01)
    # The ratio is .33 in SMPL and .38 in anthropometry.
    arm, leg = (
        sum(bones.mean(0)[JOINTS.index(name)] for name in names) for names in (["left_elbow"], ["left_knee", "left_ankle"])
    )
    assert abs(arm / leg - 0.334) < 0.005
    joints = standing(body_offsets(people).astype(np.float64).mean(0) / people.stature.mean() * AVERAGE_STATURE)
    assert abs(joints[JOINTS.index("left_shoulder"), 1] - 0.444) < 0.008


@pytest.mark.parametrize("skeleton", SKELETONS)
def test_no_angle_of_the_rest_pose_differs_from_0(skeleton: str) -> None:
    angles = joint_angles(standing(SKELETONS[skeleton]), skeleton)
    # The chest of the anatomical skeleton leans back by half a degree more than its pelvis.
    assert abs(float(angles.pop("trunk_flexion"))) < 0.55
    assert max(abs(float(angle)) for angle in angles.values()) < 0.025


@pytest.mark.parametrize("skeleton", SKELETONS)
def test_joint_placement_varies_between_people_as_asked(skeleton: str) -> None:
    config = Config(skeleton=skeleton, population=Population(skeleton_spread=0.03))
    rest = persons(config, LIBRARY, PEOPLE).rest
    apart = AVERAGE_STATURE * (rest - SKELETONS[skeleton])
    # Draws end at 2.5 standard deviations.
    shoulder = apart[:, JOINTS.index("left_shoulder")]
    assert np.all(np.abs(shoulder.std(0) - 0.03) < 0.006)
    assert abs(np.sqrt((apart[:, JOINTS.index("left_knee")] ** 2).sum(-1).mean()) - 0.03) < 0.003
    assert np.array_equal(rest[:, MIRROR_JOINTS, :] * [-1, 1, 1], rest)
    usual = joint_angles(standing(SKELETONS[skeleton]), skeleton)
    for person in range(50):
        for name, angle in joint_angles(standing(rest[person]), skeleton).items():
            assert abs(float(angle) - float(usual[name])) < 0.01, name
    assert np.array_equal(persons(config, LIBRARY, 7).rest, rest[7])


def test_without_spread_nothing_changes() -> None:
    plain = Config()
    assert plain.skeleton == "smpl"
    assert np.array_equal(persons(plain, LIBRARY, PEOPLE).rest[17], SKELETONS["smpl"])
    varied = Config(population=Population(skeleton_spread=0.03))
    assert plain.identity(LIBRARY) != varied.identity(LIBRARY) != Config(skeleton="h36m").identity(LIBRARY)


def test_legs_are_measured_on_the_skeleton() -> None:
    for skeleton in SKELETONS:
        people = persons(Config(skeleton=skeleton), LIBRARY, PEOPLE)
        offsets = body_offsets(people)
        hanging = -(offsets[:, [JOINTS.index(name) for name in ("left_knee", "left_ankle")], 1].sum(1))
        np.testing.assert_allclose(hip_height(people), hanging + 0.039 * people.stature, rtol=1e-5)


def test_the_same_people_are_as_large_on_all_skeletons() -> None:
    heights = [leg_height(persons(Config(skeleton=skeleton), LIBRARY, PEOPLE)) for skeleton in SKELETONS]
    assert all(np.array_equal(heights[0], height) for height in heights)
    # Scenes are planned by size, so that they are equal: who walks how far, and how fast.
    plans = [plan_scenes(Config(skeleton=skeleton), LIBRARY, np.arange(50)) for skeleton in SKELETONS]
    assert all(np.array_equal(plans[0].speed, plan.speed) for plan in plans)


def test_samples_have_the_bones_of_their_people() -> None:
    config = load_config("default", ["population.skeleton_spread=.03", "population.persons=9", "frames=50"])
    batch = posegen.synthesize(config, range(4))
    sequences = Sequences(config, LIBRARY, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
    joints = batch.joints[..., :22, :].astype(np.float64)
    bones = np.sqrt(((joints - joints[..., np.maximum(PARENTS, 0), :]) ** 2).sum(-1))
    wanted = lengths(bone_offsets(sequences))[..., None, :]
    assert np.abs(bones - wanted).max() < 4e-4  # positions are multiples of 2 ** -13 metres
