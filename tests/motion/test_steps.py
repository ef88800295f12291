"""Steps in scripted scenes: speed and heading of the body, contacts, footprints and swings."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.evaluation.body import joint_angles
from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT
from posegen.foundations.skeleton import JOINTS, sole_points
from tests.motion.scripted import SegmentSpec, animated, scripted

FPS = 50


def clip(*specs: tuple[str, float, float, float], fps: int = FPS, stature: float = 1.7) -> tuple[Array, Array]:
    """Joints and contacts of heels and toes; each part has an action, seconds, speed, and degrees of a turn."""
    segments, end = [SegmentSpec("stand", -3.0, 1.0)], 1.0
    for action, seconds, speed, turn in specs:
        segments.append(SegmentSpec(action, end, end + seconds, speed=speed, turn=turn, side=LEFT))
        end += seconds
    frames = round((end + 1.5) * fps)
    motion = animated(scripted(*segments, SegmentSpec("stand", end, end + 5), frames=frames, stature=stature), frames, fps)
    return motion.joints[0, 0].astype(np.float64), motion.contact[0, 0, :, :4] == 1


def heading(joints: Array) -> Array:
    """Heading of the hips in degrees, positive to the left."""
    across = joints[:, JOINTS.index("left_hip")] - joints[:, JOINTS.index("right_hip")]
    return np.degrees(np.unwrap(np.arctan2(-across[:, 2], across[:, 0])))


def landings(contact: Array) -> list[int]:
    """Number of landings of the left and of the right foot."""
    feet = contact.reshape(-1, 2, 2).any(-1)
    return [int((feet[1:, side] & ~feet[:-1, side]).sum()) for side in range(2)]


STORIES = [
    [("walk", 2.0, 1.2, 40.0)],
    [("walk", 1.3, 0.7, 0.0), ("run", 2.2, 3.0, -60.0)],
    [("turn", 1.4, 0.0, 150.0), ("walk", 3.1, 1.8, -20.0)],
    [("run", 3.0, 3.4, 0.0), ("walk", 2.4, 1.0, 90.0), ("turn", 2.0, 0.0, -100.0)],
    [("walk", 2.5, 1.1, 0.0), ("walk_backwards", 2.5, 0.6, 30.0)],
    [("side_step", 3.0, 0.45, 0.0), ("walk", 2.5, 1.3, 0.0)],
]


@pytest.mark.parametrize("story", STORIES)
def test_steps_lead_from_standing_to_standing(story: list[tuple[str, float, float, float]]) -> None:
    joints, contact = clip(*story)
    assert contact[0].all()
    assert contact[-1].all()
    assert min(landings(contact)) >= 1  # both feet step
    turned = sum(turn for *_, turn in story)
    assert heading(joints)[-1] - heading(joints)[0] == pytest.approx(turned, abs=4)
    soles = sole_points(joints)
    assert soles[..., 1].min() > -0.006
    slide = np.linalg.norm(np.diff(soles[..., [0, 2]], axis=0), axis=-1) * FPS
    assert (slide[contact[1:] & contact[:-1]] > 0.2).mean() < 0.015
    # No contact of a single frame, and no gap of one or two.
    for feet in contact.reshape(-1, 2, 2).any(-1).T:
        edges = np.flatnonzero(np.diff(feet.astype(int)))
        assert np.diff(edges).min(initial=9) > 2


@pytest.mark.parametrize(("action", "speed", "seconds"), [("walk", 1.3, 2.6), ("run", 3.0, 3.0), ("sprint", 5.0, 4.0)])
def test_starts_and_stops_reach_the_speed_and_accelerate_as_people_do(action: str, speed: float, seconds: float) -> None:
    joints, _ = clip((action, seconds, speed, 0.0))
    window = FPS // 4
    way = np.convolve(joints[:, 0, 2], np.ones(window) / window, "valid")
    rate = np.diff(way) * FPS
    assert rate.max() == pytest.approx(speed, rel=0.1)
    assert np.abs(np.gradient(rate) * FPS).max() < 6


@pytest.mark.parametrize(("speed", "aside"), [(0.7, 0.070), (1.7, 0.039)])
def test_the_body_sways_over_the_stance_foot(speed: float, aside: float) -> None:
    scenes = scripted(SegmentSpec("walk", -3, 23, speed=speed), frames=10 * FPS)
    motion = animated(scenes, 10 * FPS, FPS)
    joints, contact = motion.joints[0, 0].astype(np.float64), motion.contact[0, 0, :, :4] == 1
    feet, place = contact.reshape(-1, 2, 2).any(-1), joints[:, 0, 0]
    assert np.ptp(place) == pytest.approx(aside, abs=0.02)
    assert place[feet[:, 0] & ~feet[:, 1]].mean() > place[feet[:, 1] & ~feet[:, 0]].mean() + 0.02


@pytest.mark.parametrize("turn", [-170.0, 120.0])
def test_feet_turn_around_each_other(turn: float) -> None:
    joints, _ = clip(("turn", 2.2, 0.0, turn))
    left, right = (joints[:, JOINTS.index(f"{side}_ankle")][:, [0, 2]] for side in ("left", "right"))
    assert np.linalg.norm(left - right, axis=-1).min() > 0.07
    # Each foot follows the body within a step.
    ball, ankle = (joints[:, JOINTS.index(f"left_{part}")] for part in ("foot", "ankle"))
    ahead = ball - ankle
    yaw = np.degrees(np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 2])))
    assert np.abs(yaw - heading(joints)).max() < 60


@pytest.mark.parametrize(("action", "speed"), [("walk", 1.9), ("run", 4.0), ("stairs_down", 0.5), ("stairs_up", 0.5)])
def test_heels_rise_before_ankles_bend_too_far(action: str, speed: float) -> None:
    for stature in (1.5, 1.9):
        joints, _ = clip((action, 5.0, speed, 0.0), stature=stature)
        angles = joint_angles(joints)
        for side in ("left", "right"):
            ankle, knee = angles[f"{side}_ankle_dorsiflexion"], angles[f"{side}_knee_flexion"]
            assert ankle.max() < 30
            assert ankle.min() > -62
            assert 3 < knee.min() < knee.max() < 157


def test_the_trunk_leans_into_a_curve() -> None:
    leaning = []
    for turn in (100.0, -100.0):
        joints, _ = clip(("run", 5.0, 3.5, turn))
        middle = slice(2 * FPS, 5 * FPS)
        trunk, to_left = joints[middle, JOINTS.index("neck")] - joints[middle, 0], np.radians(heading(joints)[middle])
        leaning.append(float((trunk[:, 0] * np.cos(to_left) - trunk[:, 2] * np.sin(to_left)).mean()))
    assert leaning[0] - leaning[1] > 0.02
