"""What every strategy of an action shows, performed by many persons of the default population."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.scene import BOTH, LEFT, Scenes
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import Library
from posegen.motion import scene_arrays
from posegen.motion.library_tables import strategy_tables
from posegen.planning.population import persons
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, between_standing, scripted

FPS, BEFORE, AFTER, PERSONS = 25, 0.5, 1.0, 24


class Performance(NamedTuple):
    """Joints of the persons, float64 [persons, frames, 22, 3], from the begin to the end of an action; its first cycle."""

    joints: Array
    cycle: slice

    def joint(self, name: str) -> Array:
        return np.asarray(self.joints[:, :, JOINTS.index(name)])


def strategies(*names: str) -> list[tuple[str, int]]:
    return [(name, which) for name in names for which in range(len(LIBRARY.action(name).performances))]


@cache
def performed(name: str, which: int) -> Performance:
    """Return a performance of an action by each person: as written for 0, else by the strategy of that number."""
    action, kind = LIBRARY.action(name), LIBRARY.index(name)
    fewest = action.repetitions[0] if action.repetitions else 0
    longest = action.duration[0] if action.duration else action.enter + fewest * action.cycle + action.exit
    end = BEFORE + longest
    speed = action.speed[0] if action.speed else 0.0
    own = SegmentSpec(name, BEFORE, end, speed, 0.0, LEFT if action.sided else BOTH, fewest)
    segments = between_standing(own._replace(layered=action.layered))
    frames = round((end + AFTER) * FPS)
    scenes = scripted(*segments, frames=frames).select(np.zeros(PERSONS, int))
    scenes = replace(scenes, persons=persons(Config(), LIBRARY, np.arange(PERSONS)[:, None]))
    scenes.key[:] = np.random.default_rng(3).integers(1, 2**63, scenes.key.shape)
    row = int(strategy_tables(LIBRARY).first[kind]) + 2 * (which - 1) if which else 2 * kind
    usual = scene_arrays.performance_rows

    def chosen(scenes: Scenes, library: Library) -> Array:
        return np.where(scenes.action == kind, row, usual(scenes, library))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scene_arrays, "performance_rows", chosen)
        motion = animated(scenes, frames, FPS)
    begin = round(BEFORE * FPS)
    joints = motion.joints[:, 0, begin : round(end * FPS)].astype(np.float64)
    cycle = slice(round(action.enter * FPS), round((action.enter + max(action.cycle, 0.1)) * FPS))
    return Performance(joints, cycle)


def distance(one: Array, other: Array) -> Array:
    return np.asarray(np.sqrt(((one - other) ** 2).sum(-1)))


def heading_range(left: Array, right: Array) -> Array:
    """Return by how many degrees the direction from one joint to another turns, for each person."""
    across = left - right
    angles = np.unwrap(np.arctan2(across[..., 2], across[..., 0]), axis=1)
    return np.asarray(np.degrees(np.ptp(angles, axis=1)))


ON_THE_FLOOR = [name for name in LIBRARY.actions if LIBRARY.action(name).support == "floor"]


@pytest.mark.parametrize(("name", "which"), strategies(*ON_THE_FLOOR))
def test_no_joint_is_under_the_floor(name: str, which: int) -> None:
    heights = performed(name, which).joints[..., 1].min(axis=(0, 1))
    low = {joint: round(float(height), 3) for joint, height in zip(JOINTS, heights, strict=True) if height < -0.01}
    assert not low


@pytest.mark.parametrize(("name", "which"), strategies("looking_around"))
def test_hips_do_not_turn_as_people_look_around(name: str, which: int) -> None:
    made = performed(name, which)
    hips = heading_range(made.joint("left_hip"), made.joint("right_hip"))
    shoulders = heading_range(made.joint("left_shoulder"), made.joint("right_shoulder"))
    assert np.median(hips) < 10
    assert np.median(shoulders) > np.median(hips) + 8


@pytest.mark.parametrize(("name", "which"), strategies("arm_circles"))
def test_arms_circle_once_a_repetition_and_nearly_straight(name: str, which: int) -> None:
    made = performed(name, which)
    across = made.joint("left_shoulder") - made.joint("right_shoulder")
    across /= np.sqrt((across**2).sum(-1, keepdims=True))
    up = np.zeros_like(across)
    up[..., 1] = 1.0
    up -= (up * across).sum(-1, keepdims=True) * across
    ahead = np.cross(across, up)
    for side in ("left", "right"):
        arm = made.joint(f"{side}_elbow") - made.joint(f"{side}_shoulder")
        angle = np.unwrap(np.arctan2((arm * up).sum(-1), (arm * ahead).sum(-1)), axis=1)[:, made.cycle]
        turns = np.abs(angle[:, -1] - angle[:, 0]) / (2 * np.pi)
        assert 0.75 < np.median(turns) < 1.25
        reach = distance(made.joint(f"{side}_wrist"), made.joint(f"{side}_shoulder"))[:, made.cycle]
        length = distance(made.joint(f"{side}_elbow"), made.joint(f"{side}_shoulder"))[:, made.cycle]
        length += distance(made.joint(f"{side}_wrist"), made.joint(f"{side}_elbow"))[:, made.cycle]
        # Two equal bones that bend by 41 degrees reach cos(20.5 degrees) of their length.
        assert np.median(np.percentile(reach / length, 5, axis=1)) > 0.937


@pytest.mark.parametrize(("name", "which"), strategies("elbow_to_knee"))
def test_elbows_come_to_the_knees_across(name: str, which: int) -> None:
    made = performed(name, which)
    pairs = (("left", "right"), ("right", "left"))
    gaps = [distance(made.joint(f"{one}_elbow"), made.joint(f"{other}_knee")).min(axis=1) for one, other in pairs]
    assert np.median(gaps) < 0.19


@pytest.mark.parametrize(("name", "which"), strategies("squat"))
def test_knees_open_in_a_squat(name: str, which: int) -> None:
    made = performed(name, which)
    hips = distance(made.joint("left_hip"), made.joint("right_hip"))
    knees = distance(made.joint("left_knee"), made.joint("right_knee"))
    assert np.median((knees / hips).max(axis=1)) > 3


def test_high_kicks_are_higher_than_the_hips_and_twist_the_trunk() -> None:
    made = performed("kick", 1 + list(LIBRARY.action("kick").strategies).index("high"))
    leg = distance(made.joint("left_hip"), made.joint("left_knee"))[:, 0]
    leg += distance(made.joint("left_knee"), made.joint("left_ankle"))[:, 0]
    height = made.joint("left_foot")[..., 1].max(axis=1) / leg
    assert np.median(height) > 1.3
    hips = made.joint("left_hip") - made.joint("right_hip")
    shoulders = made.joint("left_shoulder") - made.joint("right_shoulder")
    twist = np.arctan2(hips[..., 2], hips[..., 0]) - np.arctan2(shoulders[..., 2], shoulders[..., 0])
    assert np.median(np.degrees(np.ptp(twist, axis=1))) > 27
    assert np.median(np.ptp(made.joint("pelvis")[..., 1], axis=1)) > 0.07


FEELINGS = ("talk", "clap", "celebrate", "laugh", "cry", "shout", "sing", "stretch", "wave")


@pytest.mark.parametrize(("name", "which"), strategies(*FEELINGS))
def test_legs_live_under_arm_actions(name: str, which: int) -> None:
    made = performed(name, which)
    window = 2 * FPS
    heights = made.joint("pelvis")[..., 1]
    starts = range(0, max(heights.shape[1] - window, 1), 5)
    ranges = [np.ptp(heights[:, start : start + window], axis=1) for start in starts]
    assert np.median(ranges) > 0.0028  # on legs of .46 of stature


@pytest.mark.parametrize("name", ["stretch", "shooting", "put_down"])
def test_in_a_stance_the_foot_is_where_the_stance_places_it(name: str) -> None:
    action = LIBRARY.action(name)
    first = next(iter(action.stances.values()))
    made = [performed(name, which) for which in (0, 1 + len(action.strategies))]
    middle = (made[0].cycle.start + made[0].cycle.stop) // 2
    leg = distance(made[0].joint("left_hip"), made[0].joint("left_ankle"))[:, 0]
    gaps = [(one.joint("left_ankle") - one.joint("right_ankle"))[:, middle, 2] for one in made]
    assert first.out.foot == "near"  # which is the left one here
    assert np.median((gaps[1] - gaps[0]) / leg) == pytest.approx(first.forward, abs=0.03)
    begin, end = ((one.joint("left_ankle") - one.joint("right_ankle"))[:, [0, -1], 2] for one in made)
    assert np.median(np.abs(begin - end)) < 0.03  # and it returns


def test_repetitions_of_one_segment_may_be_performed_by_two_strategies() -> None:
    kicks = SegmentSpec("kick", 0.5, 0.5 + 0.5 + 2 * 1.5 + 0.5, side=LEFT, repetitions=2)
    scenes = scripted(kicks, frames=120).select(np.zeros(400, int))
    scenes = replace(scenes, persons=persons(Config(), LIBRARY, np.arange(400)[:, None]))
    scenes.key[:] = np.random.default_rng(5).integers(1, 2**63, scenes.key.shape)
    records = scene_arrays.segment_records(scenes, LIBRARY)[:, 0, 0]
    other = records["second"] != records["kind"]
    assert 0.2 < other.mean() < 1 - LIBRARY.action("kick").habit_share
    joints = animated(scenes, 120, FPS).joints[:, 0].astype(np.float64)
    first, second = (joints[:, start : start + 37] - joints[:, start : start + 37, :1] for start in (25, 62))
    apart = distance(first, second).mean(axis=(1, 2))
    assert np.median(apart[other]) > 2 * np.median(apart[~other])
