"""Actions with hand targets: the wrist is at the target for every anchor and every action below."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT
from posegen.foundations.skeleton import ANATOMICAL, AVERAGE, JOINTS
from posegen.library.channels import CHANNELS
from posegen.library.load import Library
from posegen.library.schema import Action
from posegen.motion.trunk import place_upper_body
from posegen.motion.workspace import Workspace
from tests.motion.acted import MARGIN, acted, rotations_of, shown
from tests.motion.scripted import ARM, LIBRARY, SegmentSpec, person, scripted
from tests.naive import about_y

PLACES = {"chest": (0.2, -0.3, 0.6), "head": (0.15, -0.3, 0.5), "floor": (0.5, 1.9, 0.5)}
BEND = {"near_shoulder_flexion": 40.0, "near_elbow_flexion": 80.0}
FRAMES, MIDDLE = 150, 75


def place(word: str, at: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip((f"{word}_hand_aside", f"{word}_hand_up", f"{word}_hand_forward"), at, strict=True)) | {
        f"{word}_hand_reach": 1.0
    }


def library() -> Library:
    timing = {"enter": 0.8, "exit": 0.8, "sided": True, "duration": [2, 6]}
    entries = {"walk": LIBRARY.action("walk"), "stand": LIBRARY.action("stand"), "wave": LIBRARY.action("wave")}
    for anchor, at in PLACES.items():
        pose = BEND | place("near", at) | {"trunk_flexion": 12.0, "neck_flexion": 15.0, "neck_rotation": 20.0}
        shape = {**timing, "pose": pose, "anchors": {"near": anchor}}
        entries[f"hold_{anchor}"] = Action.model_validate({**shape, "parts": ["legs", "near_arm", "trunk", "head"]})
        entries[f"over_{anchor}"] = Action.model_validate({**shape, "parts": ["near_arm", "trunk", "head"], "layered": True})
    both = {**timing, "parts": ["legs"], "pose": place("both", PLACES["chest"])}
    entries["hold_both"] = Action.model_validate(both)
    held = {"gait_style": {"fixed_parts": ["near_arm"]}}
    steps = {"support": "gait", "gait": "walk", "speed": [1, 2], "duration": [2, 6], **held}
    carry = {**steps, "parts": ["legs"], "sided": True, "pose": BEND | place("near", PLACES["chest"])}
    entries["carry"] = Action.model_validate(carry)
    names = sorted(entries)
    return Library(entries={n: entries[n] for n in names}, families={"a": tuple(names)}, themes={}, words={})


MADE = library()
SIDES = ((LEFT, "left", 1), (RIGHT, "right", -1))


def act(*segments: SegmentSpec, stature: float = 1.7) -> Workspace:
    return acted(scripted(*segments, frames=FRAMES, stature=stature, library=MADE), MADE, person(stature))


def expected(work: Workspace, anchor: str, sign: int, stature: float) -> Array:
    """Target of the wrist in the middle frame."""
    turned = rotations_of(work, MIDDLE)
    apart = np.array(PLACES[anchor]) * [sign, 1, 1] * ARM * stature
    if anchor == "floor":
        return np.asarray([0.3, 0, -0.2] + about_y(0.1) @ apart)
    joint = {"chest": "spine3", "head": "head"}[anchor]
    # Anchors are where the anatomical skeleton has these joints, relative to the shoulders.
    ours, theirs = (below_shoulders(offsets) for offsets in (AVERAGE, ANATOMICAL))
    apart += stature * (theirs - ours)[0 if anchor == "chest" else 1] * ([0, 1, 1] if anchor == "chest" else [0, 1, 0])
    return np.asarray(shown(work, joint)[MIDDLE] + turned[anchor] @ apart)


def below_shoulders(offsets: Array) -> Array:
    """Spine3 and head relative to the left shoulder of a body that stands straight."""
    shoulder = offsets[JOINTS.index("left_collar")] + offsets[JOINTS.index("left_shoulder")]
    return np.stack([-shoulder, offsets[JOINTS.index("neck")] + offsets[JOINTS.index("head")] - shoulder])


@pytest.mark.parametrize("anchor", PLACES)
@pytest.mark.parametrize("side", SIDES, ids=["left", "right"])
@pytest.mark.parametrize("stature", [1.5, 1.9])
def test_the_wrist_is_at_its_target(anchor: str, side: tuple[int, str, int], stature: float) -> None:
    number, name, sign = side
    base = act(SegmentSpec(f"hold_{anchor}", 0.5, 5.5, side=number), stature=stature)
    standing = SegmentSpec("stand", -2, 9)
    over = act(standing, SegmentSpec(f"over_{anchor}", 0.5, 5.5, side=number, layered=True), stature=stature)
    for work in (base, over):
        there = shown(work, f"{name}_wrist")[MIDDLE]
        np.testing.assert_allclose(there, expected(work, anchor, sign, stature), atol=1e-3)


@pytest.mark.parametrize("anchor", ["chest", "head"])
def test_in_walking_the_hand_stays_with_the_body(anchor: str) -> None:
    work = act(SegmentSpec("walk", -3, 9, speed=1.2), SegmentSpec(f"over_{anchor}", 0.5, 5.5, side=LEFT, layered=True))
    there = shown(work, "left_wrist")[MIDDLE]
    np.testing.assert_allclose(there, expected(work, anchor, 1, 1.7), atol=1e-3)


def test_a_gait_holds_its_hand_and_fades_to_the_target() -> None:
    segments = (SegmentSpec("stand", -2, 1), SegmentSpec("carry", 1, 5, speed=1.2, side=LEFT), SegmentSpec("stand", 5, 9))
    work = act(*segments)
    np.testing.assert_allclose(shown(work, "left_wrist")[MIDDLE], expected(work, "chest", 1, 1.7), atol=1e-3)
    free = act(SegmentSpec("stand", -2, 9))
    for frame in (10, 140):
        np.testing.assert_allclose(shown(work, "left_wrist")[frame, 1], shown(free, "left_wrist")[frame, 1], atol=0.02)
    relative = shown(work, "left_wrist") - shown(work, "spine3")
    assert np.sqrt((np.diff(relative, 2, axis=0) ** 2).sum(-1)).max() * 25**2 < 40


def test_nothing_moves_without_a_hand_target() -> None:
    work = act(SegmentSpec("walk", -3, 9, speed=1.2), SegmentSpec("wave", 1, 5, repetitions=4, layered=True, side=RIGHT))
    before = work.joints.copy()
    place_upper_body(work, person().offsets)
    # A swinging arm gives way to the thigh by some millimetres.
    np.testing.assert_allclose(work.joints, before, atol=4e-3)


def test_a_layer_without_a_target_replaces_the_target_below() -> None:
    holding, wave = SegmentSpec("hold_both", 0.2, 5.8), SegmentSpec("wave", 1.5, 4.5, repetitions=3, layered=True, side=LEFT)
    still, waving = act(holding), act(holding, wave)
    free = act(SegmentSpec("stand", -2, 9), wave)
    # Relative to the chest, since an idle posture turns it.
    one, other = (
        rotations_of(work, MIDDLE)["chest"].T @ (shown(work, "left_wrist") - shown(work, "spine3"))[MIDDLE]
        for work in (waving, free)
    )
    np.testing.assert_allclose(one, other, atol=2e-3)
    # The trunk leans away from the waving arm, and the other hand moves with it.
    for frame in range(0, FRAMES, 10):
        one, other = (
            rotations_of(work, frame)["chest"].T @ (shown(work, "right_wrist") - shown(work, "spine3"))[frame]
            for work in (waving, still)
        )
        np.testing.assert_allclose(one, other, atol=1e-5)
    for frame in (30, 120):
        np.testing.assert_array_equal(shown(waving, "left_wrist")[frame], shown(still, "left_wrist")[frame])


@pytest.mark.parametrize("below", ["stand", "hold_both", "walk"])
def test_hands_reach_and_leave_targets_without_a_jump(below: str) -> None:
    segments = (SegmentSpec(below, -0.3 if below == "hold_both" else -3, 6.3, speed=1.2 * (below == "walk")),)
    work = act(*segments, SegmentSpec("over_head", 0.6, 5.4, side=LEFT, layered=True))
    for joint in ("left_wrist", "left_elbow"):
        relative = shown(work, joint) - shown(work, "spine3")
        jolt = np.sqrt((np.diff(relative, 2, axis=0) ** 2).sum(-1)).max() * 25**2
        assert jolt < 40  # m/s2; a jump of 5 cm within a frame would be 31 and more on top of the movement


def test_the_target_is_constant_while_the_reach_rises() -> None:
    first, segments = CHANNELS.index("left_hand_aside"), (SegmentSpec("hold_chest", 0.5, 5.5, side=LEFT),)
    rows = act(*segments).channels[first : first + 4, MARGIN : MARGIN + FRAMES]
    on = (np.arange(FRAMES) / 25 >= 0.5) & (np.arange(FRAMES) / 25 < 5.5)
    for row, value in zip(rows[:3], PLACES["chest"], strict=True):
        np.testing.assert_allclose(row[on], value, atol=1e-6)
    assert rows[3, on][0] < 0.01
    assert rows[3, MIDDLE] == 1
    assert rows[3, on][-1] < 0.01
    assert (np.diff(rows[3, 13:33]) >= 0).all()
    layer = act(SegmentSpec("stand", -2, 9), SegmentSpec("over_chest", 0.5, 5.5, side=LEFT, layered=True))
    np.testing.assert_allclose(layer.channels[first + 3, MARGIN : MARGIN + FRAMES][on], 1.0, atol=1e-6)


def test_left_and_right_mirror() -> None:
    left, right = (act(SegmentSpec("hold_chest", 0.5, 5.5, side=side)) for side, _, _ in SIDES)
    heading = about_y(-0.1)
    seen = [
        (shown(work, f"{name}_{joint}") - shown(work, "pelvis")) @ heading.T * [sign, 1, 1]
        for work, (_, name, sign) in zip((left, right), SIDES, strict=True)
        for joint in ("elbow", "wrist")
    ]
    # Sway has different draws on the two sides.
    assert np.abs(seen[0] - seen[2]).max() < 0.06
    assert np.abs(seen[1] - seen[3]).max() < 0.04


def test_elbows_and_wrists_are_joints_of_the_arm() -> None:
    work = act(SegmentSpec("hold_floor", 0.5, 5.5, side=LEFT), stature=1.8)
    for name, parent in (("left_elbow", "left_shoulder"), ("left_wrist", "left_elbow")):
        bones = np.sqrt(((shown(work, name) - shown(work, parent)) ** 2).sum(-1))
        np.testing.assert_allclose(bones, -AVERAGE[JOINTS.index(name), 1] * 1.8, atol=1e-5)
    assert JOINTS.index("left_wrist") == 20  # as in the kernel
