"""Forearms are kept out of thighs, trunk, head and each other."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.checks.capsules import DEEPEST, STRICTER
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets
from posegen.foundations.skeleton import CAPSULES, JOINTS
from posegen.motion.clearance import EASE, HARD, WRIST_EASE, clear_body, clear_forearms, clear_thighs
from posegen.motion.rows import CHEST, HEADING_COS, HIP_X, KNEE_X
from posegen.motion.workspace import Clock, Person, Workspace, empty_workspace
from tests.motion.scripted import SegmentSpec, scripted
from tests.naive import segment_distance

FRAMES = 80
OFFSETS = body_offsets(scripted(SegmentSpec("stand", 0, 1), frames=1).persons)[0, 0]
LEG = -float(OFFSETS[4, 1] + OFFSETS[7, 1])


def letting_down(steep: float) -> tuple[Workspace, Person]:
    """A seated actor lowers the left forearm to a slope of `steep` downwards per metre forward."""
    work, offsets = empty_workspace(FRAMES, 1), OFFSETS.copy()
    work.root[HEADING_COS] = 1
    for side, sign in enumerate((1.0, -1.0)):
        work.legs[side, HIP_X], work.legs[side, KNEE_X] = 0.08 * sign, 0.1 * sign
        work.legs[side, KNEE_X + 2] = 0.5 * LEG
        shoulder, elbow, wrist = (work.joints[j + side] for j in (16, 18, 20))
        shoulder[:] = np.array([[0.19 * sign], [0.45], [0.0]])
        elbow[:] = np.array([[0.2 * sign], [0.16], [0.08]])
        slope = np.linspace(0.3, -steep, FRAMES) if side == 0 else np.full(FRAMES, 0.3)
        ahead = np.stack([np.full(FRAMES, -0.3 * sign), slope, np.ones(FRAMES)])
        wrist[:] = elbow - offsets[20 + side, 1] * ahead / np.sqrt((ahead * ahead).sum(0))
        offsets[18 + side, 1] = -np.sqrt(((elbow - shoulder)[:, 0] ** 2).sum())
    none = np.zeros(0)
    blank = dict.fromkeys(Person._fields, none)
    return work, Person(**blank | {"offsets": offsets, "stature": 1.7, "energy": 0.0})


def depth(work: Workspace) -> Array:
    """Overlap of the left forearm and thigh in metres."""
    ends = (work.joints[18], work.joints[20], work.legs[0, HIP_X : HIP_X + 3], work.legs[0, KNEE_X : KNEE_X + 3])
    return np.asarray(0.052 / 0.491 * LEG - segment_distance(*(points.T.astype(np.float64) for points in ends)))


@pytest.mark.parametrize("steep", [0.9, 1.2])
def test_a_hand_lowered_into_a_thigh_rests_on_it(steep: float) -> None:
    work, person = letting_down(steep)
    before = work.joints.copy()
    assert depth(work).max() > 0.025
    deep = depth(work)
    clear_thighs(work, person, Clock(0.0, 0.04, 0, FRAMES))
    assert 0 < depth(work).max() < 0.015
    free = deep < -WRIST_EASE
    np.testing.assert_array_equal(work.joints[:, :, free], before[:, :, free])
    np.testing.assert_array_equal(work.joints[21], before[21])  # the other wrist is unchanged
    # It stops smoothly within the soft range.
    speed = np.abs(np.diff(before[20], axis=1)).max()
    assert np.abs(np.diff(work.joints[20], 2)).max() < 0.25 * speed


def folding(height: float, sign: float = 1.0) -> tuple[Workspace, Person]:
    """An arm of the left (`sign` 1) or right side moves its forearm from the front into trunk or head, `height` metres up."""
    work, offsets = empty_workspace(FRAMES, 1), OFFSETS.copy()
    side = 0 if sign > 0 else 1
    work.turns[CHEST, [0, 4, 8]] = 1
    for joint, y in ((3, 1.0), (9, 1.2), (15, 1.5)):
        work.joints[joint, 1] = y
    offsets[[18, 19, 20, 21], 1] = [-0.3, -0.3, -0.25, -0.25]
    # The other arm is far away.
    work.joints[16:22, 0] = -sign
    work.joints[18 + 1 - side, 1], work.joints[20 + 1 - side, 1] = -0.3, -0.55
    forward = np.linspace(0.4, 0.03, FRAMES)
    shoulder, elbow, wrist = (work.joints[j + side] for j in (16, 18, 20))
    elbow[:] = np.stack([np.full(FRAMES, 0.15 * sign), np.full(FRAMES, height), forward])
    shoulder[:] = elbow + np.array([[0.0], [0.3], [0.0]])
    wrist[:] = elbow - np.array([[0.25 * sign], [0.0], [0.0]])
    return work, Person(**dict.fromkeys(Person._fields, np.zeros(0)) | {"offsets": offsets})


def body_depth(work: Workspace, part: str, side: int) -> Array:
    """Overlap of a forearm with trunk or head in metres."""
    ends = (work.joints[18 + side], work.joints[20 + side], *(work.joints[JOINTS.index(name)] for name in CAPSULES[part][:2]))
    thick = (CAPSULES[part][2] + CAPSULES["left_forearm"][2]) / 0.491 * LEG
    return np.asarray(thick - segment_distance(*(points.T.astype(np.float64) for points in ends)))


@pytest.mark.parametrize(("part", "height"), [("trunk", 1.1), ("head", 1.5)])
def test_a_forearm_stays_out_of_trunk_and_head(part: str, height: float) -> None:
    work, person = folding(height)
    before, deep = work.joints.copy(), body_depth(work, part, 0)
    assert deep.max() > 0.05
    clear_body(work, person, Clock(0.0, 0.04, 0, FRAMES))
    assert 0 < body_depth(work, part, 0).max() < DEEPEST - STRICTER
    free = deep < -EASE
    assert 10 < free.sum() < FRAMES - 10
    np.testing.assert_array_equal(work.joints[:, :, free], before[:, :, free])
    np.testing.assert_array_equal(work.joints[21], before[21])  # the other wrist is unchanged
    for near, far, length in ((16, 18, 0.3), (18, 20, 0.25)):
        np.testing.assert_allclose(np.sqrt(((work.joints[near] - work.joints[far]) ** 2).sum(0)), length, atol=1e-5)
    speed = np.abs(np.diff(before[20], axis=1)).max()
    assert np.abs(np.diff(work.joints[20], 2)).max() < speed


def test_clearing_the_body_commutes_with_the_mirror() -> None:
    sides = []
    for side, sign in enumerate((1.0, -1.0)):
        work, person = folding(1.1, sign)
        clear_body(work, person, Clock(0.0, 0.04, 0, FRAMES))
        sides.append(work.joints[[18 + side, 20 + side]] * np.array([[sign], [1], [1]], np.float32))
    np.testing.assert_array_equal(sides[0], sides[1])


def crossing(stagger: float, sign: float = 1.0) -> tuple[Workspace, Person]:
    """Both forearms turn in before the belly until they cross; mirrored if `sign` is -1."""
    work, offsets = empty_workspace(FRAMES, 1), OFFSETS.copy()
    work.turns[CHEST, [0, 4, 8]] = 1
    offsets[[18, 19, 20, 21], 1] = [-0.3, -0.3, -0.25, -0.25]
    turn = np.linspace(-0.5, 1.2, FRAMES)
    for own, lift, height in ((1.0, 0.3, 0.0), (-1.0, -0.2, 0.01)):
        side = 0 if own * sign > 0 else 1
        shoulder, elbow, wrist = (work.joints[j + side] for j in (16, 18, 20))
        elbow[:] = np.array([[0.16 * own * sign], [height], [0.0]])
        shoulder[:] = elbow + np.array([[0.0], [0.3], [0.0]])
        level = np.sqrt(1 - 0.01 * lift * lift)
        ahead = np.stack([-np.sin(turn) * own * sign * level, np.full(FRAMES, 0.1 * lift), np.cos(turn) * level])
        wrist[:] = elbow + 0.25 * ahead
    widths = np.array([0.0, 0.0, 0.0, stagger * sign])
    return work, Person(**dict.fromkeys(Person._fields, np.zeros(0)) | {"offsets": offsets, "widths": widths})


def forearm_depth(work: Workspace) -> Array:
    """Overlap of both forearms in metres."""
    ends = (work.joints[18], work.joints[20], work.joints[19], work.joints[21])
    return np.asarray(0.036 / 0.491 * LEG - segment_distance(*(points.T.astype(np.float64) for points in ends)))


@pytest.mark.parametrize("stagger", [0.02, -0.02])
def test_forearms_pass_each_other(stagger: float) -> None:
    work, person = crossing(stagger)
    before, deep = work.joints.copy(), forearm_depth(work)
    assert deep.max() > 0.04
    clear_forearms(work, person, Clock(0.0, 0.04, 0, FRAMES))
    assert 0.01 < forearm_depth(work).max() < DEEPEST - STRICTER
    free = deep < 0.016 - HARD - 1e-4
    assert free.sum() > 20
    np.testing.assert_array_equal(work.joints[:, :, free], before[:, :, free])
    speed = np.abs(np.diff(before[20], axis=1)).max()
    assert np.abs(np.diff(work.joints[20:22], 2)).max() < 2 * speed


def test_forearms_that_pass_each_other_commute_with_the_mirror() -> None:
    sides = []
    for sign in (1.0, -1.0):
        work, person = crossing(0.02, sign)
        clear_forearms(work, person, Clock(0.0, 0.04, 0, FRAMES))
        order = [18, 19, 20, 21] if sign > 0 else [19, 18, 21, 20]
        sides.append(work.joints[order] * np.array([[sign], [1], [1]], np.float32))
    np.testing.assert_array_equal(sides[0], sides[1])
