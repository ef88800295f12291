"""Violated limits are found wherever the measures of evaluation find them, and hardly anywhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posegen.checks.capsules import BLOCK, DEEPEST, PAIR_RADII, PAIRS, PASSING, VECTOR, fill_columns, stature_of_legs
from posegen.checks.limits import CROSSES, LEAVES, check_limits
from posegen.checks.ranges import ANGLES, REST, STRICTER, TOLERANCE, fill_angles
from posegen.evaluation.body import frame_ranges, joint_angles, range_excess
from posegen.evaluation.plausibility import body_overlap
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRID
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import DEFAULT_SKELETON, JOINTS, PARTS
from posegen.library.load import Library, load_library
from posegen.library.schema import Range
from tests.evaluation.figures import posed, standing, turn

FPS = 25
CLIPS, SHORT = 400, 3
BENDS = ("left_hip", "right_hip", "spine1", "spine2", "left_knee", "right_knee", "left_ankle", "right_ankle", "neck")
ARMS = ("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_collar", "right_collar")
WIDE = {
    "squat": {"knee_flexion": Range(max=170, source="A"), "ankle_dorsiflexion": Range(max=40, source="B")},
    "wave": {"shoulder_flexion": Range(min=-80, source="C"), "elbow_flexion": Range(max=175, source="D")},
    "bow": {"trunk_flexion": Range(min=-60, source="E"), "neck_lateral": Range(min=-70, max=70, source="F")},
}


@pytest.fixture(scope="module")
def library() -> Library:
    """Actions of which some widen ranges at either end."""
    usual = load_library()
    own = {name: usual.action(name).model_copy(update={"ranges": ranges}) for name, ranges in WIDE.items()}
    return replace(usual, entries={"stand": usual.action("stand"), **own})


@pytest.fixture(scope="module")
def contorted() -> Array:
    """Bodies bent at random, most of them a little, some beyond any limit: float32 [clip, frame, joint, axis]."""
    draws, clips = np.random.default_rng(3), []
    for _ in range(CLIPS):
        far = draws.choice([4.0, 12.0, 25.0, 60.0])
        turns = {
            joint: turn("x", draws.normal(0, far)) @ turn("z", draws.normal(0, far)) @ turn("y", draws.normal(0, far))
            for joint in ("pelvis", *draws.choice(BENDS, 4), *draws.choice(ARMS, 4))
        }
        clips.append(posed(turns, SHORT) * draws.uniform(0.6, 1.2) + draws.uniform(-9, 9, 3))
    return on_grid(np.array(clips))


def on_grid(joints: Array) -> Array:
    """Joints as they are stored."""
    return (np.rint(joints / GRID) * GRID).astype(np.float32)


def labelled(draws: np.random.Generator, actions: int) -> Array:
    return draws.integers(0, actions, (CLIPS, 1, 1, SHORT, len(PARTS))).astype(np.uint16)


def violated(joints: Array, labels: Array, library: Library, length: int | None = None) -> Array:
    """Violated limits in clips [n, frame, joint, axis] with labels [n, frame, part]."""
    n, frames = joints.shape[:2]
    scenes = replace(empty_scenes(n, 1, 0), length=np.full(n, frames if length is None else length))
    return check_limits(joints[:, None, None], labels[:, None, None], 0, scenes, library, FPS).bodies[:, 0]


def excess(joints: Array, labels: Array, library: Library) -> Array:
    """Largest excess of a range in each clip, in degrees, by the measures of evaluation."""
    angles, found = joint_angles(joints), []
    for i, shown in enumerate(labels):
        ranges = frame_ranges(library, library.actions, shown, FPS)
        beyond = range_excess({name: values[i] for name, values in angles.items()}, ranges)
        found.append(max(np.nan_to_num(values).max() for values in beyond.values()))
    return np.array(found)


def test_directions_are_those_of_the_angles(contorted: Array) -> None:
    joints = np.ascontiguousarray(contorted[:, 0])
    columns, pelvis, chest = (np.empty(shape, np.float32) for shape in ((len(JOINTS), VECTOR), 3 * VECTOR, 3 * VECTOR))
    wanted, checked = joint_angles(joints), 0
    for first in range(0, CLIPS, BLOCK):
        out = np.empty(len(ANGLES) * VECTOR, np.float32)
        fill_columns(joints, first, CLIPS, columns)
        fill_angles(columns, pelvis, chest, out)
        x, y, r = out.reshape(len(ANGLES), 3, BLOCK).astype(np.float64).transpose(1, 0, 2)[..., : CLIPS - first]
        assert np.hypot(x, y) == pytest.approx(r, rel=1e-4)
        for i, name in enumerate(ANGLES):
            rest = REST[DEFAULT_SKELETON].get(name.removeprefix("left_").removeprefix("right_"), 0.0)
            seen, real = np.degrees(np.arctan2(y[i], x[i])) - rest, wanted[name][first : first + BLOCK]
            # An ankle far beyond its range may be measured as bent further; an almost straight knee, in either direction.
            open_ = (real > 65) if name.endswith("dorsiflexion") else (np.abs(real) < 2) & name.endswith("knee_flexion")
            there = np.isfinite(real) & ~open_
            apart = np.abs((seen - real + 180) % 360 - 180)[there]
            assert apart.max(initial=0) < 0.05, name
            checked += int(there.sum())
    assert checked > 0.8 * CLIPS * len(ANGLES)


def test_joints_out_of_range_are_found(contorted: Array, library: Library) -> None:
    draws = np.random.default_rng(4)
    labels = labelled(draws, len(library.actions))[:, 0, 0]
    found, beyond = violated(contorted, labels, library) & LEAVES > 0, excess(contorted, labels, library)
    assert found[beyond > TOLERANCE].all()
    assert not found[beyond < TOLERANCE - STRICTER - 0.01].any()
    assert CLIPS / 4 < found.sum() < 3 * CLIPS / 4
    # Wider ranges matter: without them, more is found.
    stands = np.zeros_like(labels)
    assert (violated(contorted, stands, library) & LEAVES > 0).sum() > found.sum() + 3


def test_overlapping_limbs_are_found(contorted: Array, library: Library) -> None:
    labels = np.zeros((CLIPS, SHORT, len(PARTS)), np.uint16)
    found, depth = violated(contorted, labels, library) & CROSSES > 0, body_overlap(contorted).max(axis=1)
    assert found[depth > DEEPEST].all()
    assert not found[depth < DEEPEST - 0.0012].any()
    assert CLIPS / 20 < found.sum() < 3 * CLIPS / 4


def test_distance_of_parallel_limbs(library: Library) -> None:
    # Parallel rods have no unique nearest points.
    joints = np.repeat(standing(1), 200, axis=0)
    apart = np.linspace(0.0, 0.2, 200)
    for joint, height in (("knee", 0.5), ("ankle", 0.1)):
        for side, sign in (("left", 0.5), ("right", -0.5)):
            place = joints[:, JOINTS.index(f"{side}_{joint}")]
            place[:, 0], place[:, 1], place[:, 2] = sign * apart, height + 0.05 * sign, 0.0
    clips = on_grid(joints)[:, None]
    found = violated(clips, np.zeros((200, 1, len(PARTS)), np.uint16), library) & CROSSES > 0
    depth = body_overlap(clips)[:, 0]
    assert found[depth > DEEPEST].all()
    assert not found[depth < DEEPEST - 0.0012].any()
    assert 20 < found.sum() < 180


@pytest.mark.parametrize("frame", [0, BLOCK - 1, BLOCK, 2 * BLOCK - 1, 149])
def test_one_visible_frame_is_enough(frame: int, library: Library) -> None:
    folded, crossed = standing(150), standing(150)
    folded[frame] = posed({"left_elbow": turn("x", -158)}, 1)[0]
    crossed[frame, JOINTS.index("right_wrist")] = crossed[frame, JOINTS.index("spine2")]
    joints = np.stack([standing(150), folded, crossed]).astype(np.float32)
    labels = np.zeros((3, 150, len(PARTS)), np.uint16)
    found = violated(joints, labels, library)
    assert found[0] == 0
    assert found[1] & LEAVES
    assert found[2] & CROSSES
    if frame > 0:
        assert not violated(joints, labels, library, length=frame).any()


@pytest.mark.parametrize(("frames_off", "excused"), [(12, True), (13, False)])
@pytest.mark.parametrize("frame", [30, BLOCK - 5, BLOCK + 5])
def test_an_action_widens_a_range_half_a_second_around(frame: int, frames_off: int, excused: bool, library: Library) -> None:
    joints = standing(150)
    joints[frame] = posed({"left_elbow": turn("x", -160)}, 1)[0]
    for before in (True, False):
        labels = np.zeros((1, 150, len(PARTS)), np.uint16)
        shown = (
            slice(frame - frames_off - 4, frame - frames_off + 1)
            if before
            else slice(frame + frames_off, frame + frames_off + 4)
        )
        labels[0, shown, PARTS.index("left_arm")] = library.index("wave")
        assert (violated(joints[None].astype(np.float32), labels, library)[0] & LEAVES == 0) == excused
        # The action of another body part does not widen the range.
        labels = np.roll(labels, 1, axis=-1)
        assert violated(joints[None].astype(np.float32), labels, library)[0] & LEAVES


@pytest.mark.parametrize("frame", [1, BLOCK - 2, BLOCK - 1, BLOCK, 149])
@pytest.mark.parametrize(("more", "found"), [(0.01, True), (float(PASSING) + 0.01, False)])
def test_a_forearm_that_is_on_the_other_side_of_a_thigh_a_frame_later_went_through_it(
    frame: int, more: float, found: bool, library: Library
) -> None:
    joints = standing(150)
    hip, knee = joints[:, JOINTS.index("left_hip")], joints[:, JOINTS.index("left_knee")]
    apart = float(PAIR_RADII[PAIRS.index(("left_forearm", "left_thigh"))]) * stature_of_legs(joints) + more
    for joint, aside in (("left_elbow", 0.14), ("left_wrist", -0.10)):
        place = joints[:, JOINTS.index(joint)]
        place[:] = (hip + knee) / 2
        place[:, 0] += aside
        place[:frame, 2] += apart
        place[frame:, 2] -= apart
    labels = np.zeros((1, 150, len(PARTS)), np.uint16)
    assert bool(violated(on_grid(joints)[None], labels, library)[0] & CROSSES) == found
    assert not violated(on_grid(joints)[None], labels, library, length=frame)[0] & CROSSES
