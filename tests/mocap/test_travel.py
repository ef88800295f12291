"""Clips that travel, turn, leave the ground or lie become actions of any body."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.motion.own_clips import shown_once
from posegen.fields.keypoints import stature
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import Library, load_library
from posegen.mocap.actions import clip_action
from posegen.mocap.clip_entry import ClipAction
from posegen.mocap.library import import_clips
from posegen.mocap.stage_steps import stage_steps
from posegen.mocap.steps import FootTrack
from posegen.mocap.travel import Course
from posegen.planning.repertoire import repertoire
from tests.mocap.test_import import FPS, PELVIS, clips_of

HEAD = JOINTS.index("head")


def clip_of(action: str) -> ClipAction:
    (joints,) = clips_of(action)
    return clip_action(joints, FPS, action)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("clips")
    for action in ("walk", "jump"):
        for number, joints in enumerate(clips_of(action, 2)):
            np.savez(folder / f"{action}_{number}.npz", joints=joints, fps=FPS)
    import_clips([folder], folder / "own")
    return load_library(folder / "own")


def test_a_walk_keeps_its_path_and_its_steps() -> None:
    walk = clip_of("walk")
    speeds = [key["forward"] for key in walk.entry["travel"]]
    assert 0.8 < np.median(speeds) < 2.5  # leg lengths per second
    lifted = [lift for lift in walk.entry["lifts"] if lift.get("stage", "cycle") == "cycle"]
    assert {lift["foot"] for lift in lifted} == {"near", "far"}


def test_feet_move_apart_and_nothing_else() -> None:
    walk = clip_of("walk")
    one, other = walk.entry, walk.with_feet_apart(0.02).entry
    feet = ("near_foot_aside", "far_foot_aside")
    for before, behind in zip(
        (one["pose"], *(key["pose"] for key in one["cycle_keys"])),
        (other["pose"], *(key["pose"] for key in other["cycle_keys"])),
        strict=True,
    ):
        for name in before | behind:
            assert behind.get(name, 0.0) - before.get(name, 0.0) == pytest.approx(0.02 if name in feet else 0.0, abs=1.1e-3)
    assert one["travel"] == other["travel"]


def test_longer_legs_go_further(library: Library) -> None:
    (name,) = (name for name in library.actions if name == "own_walk")
    ways = []
    for height in (1.5, 1.9):
        clips = shown_once(library, name, height, people=3)
        ways.append(np.mean([np.hypot(*(clip.joints[-1, PELVIS] - clip.joints[0, PELVIS])[[0, 2]]) for clip in clips]))
        assert stature(clips[0].joints[0]) == pytest.approx(height, rel=0.1)
    assert ways[1] / ways[0] == pytest.approx(1.9 / 1.5, rel=0.05)


def test_flights_fall_freely_at_the_tempo_of_the_clip(library: Library) -> None:
    assert [lift.foot for lift in library.action("own_jump").lifts].count("body") >= 1
    known = repertoire(library)
    assert known.steady[library.index("own_jump")]
    assert not known.steady[library.index("own_walk")]


@pytest.mark.parametrize(("degrees", "aside"), [(90.0, 0.0), (-90.0, 0.0), (0.0, 0.4), (0.0, -0.4)])
@pytest.mark.parametrize("lifted", [(), (0,), (1,)])
def test_legs_do_not_cross_in_steps_aside(degrees: float, aside: float, lifted: tuple[int, ...]) -> None:
    none, size = np.zeros(1), np.linspace(0, 1, 61)
    course = Course(1j * aside * size, np.radians(degrees) * size, 1.0)
    feet = [FootTrack(np.array([number not in lifted]), none, none, none, none) for number in (0, 1)]
    side, other = ("left", "right") if degrees + aside > 0 else ("right", "left")
    raised = [("left", "right")[number] for number in lifted]
    # A foot that is in the air in the cycle steps last into it, and comes down first behind it.
    expected = {
        True: [side, other, side] if raised == [side] else [side, other],
        False: [other, side, other] if raised == [other] else [side, other],
    }
    for entering, order in expected.items():
        assert [lift["foot"] for lift in stage_steps(feet, ("left", "right"), course, entering).lifts] == order


def test_a_body_lies_down_and_gets_up() -> None:
    (joints,) = clips_of("lie_down")
    lowest = int(joints[:, HEAD, 1].argmin())
    action = clip_action(joints[: lowest + 10], FPS, "lie")
    assert action.entry["support"] == "floor"
    heights = action.joints[:, PELVIS, 1]
    assert heights.min() < 0.3 * heights[0]
    assert heights[-1] == pytest.approx(heights[0], abs=0.1)
