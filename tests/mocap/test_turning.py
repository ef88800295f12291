"""Clips whose bodies turn on their feet, or move their hips far to the side."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen import load_config, synthesize
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.mocap.actions import clip_action
from posegen.mocap.library import import_clips
from posegen.mocap.pose_channels import Ground
from posegen.mocap.steps import BALL, STANCE_HALF_WIDTH, FootTrack, flat_ankle_height, foot_track, foot_yaw
from posegen.mocap.travel import Course, fit_rates, follow, rate_keys
from posegen.mocap.trial import find_failure
from tests.mocap.test_import import FPS, clips_of

Clip = NDArray[np.float64]
FRAMES = 60
LEFT_HIP, ANKLE, BALL_JOINT = (JOINTS.index(f"left_{part}") for part in ("hip", "ankle", "foot"))


def turned(joints: Clip, degrees: Clip, about: Clip) -> Clip:
    """Return joints turned to the left about a vertical axis, by degrees in each frame."""
    x, y, z = np.moveaxis(joints - about, -1, 0)
    s, c = np.sin(np.radians(degrees))[:, None], np.cos(np.radians(degrees))[:, None]
    return about + np.stack([c * x + s * z, y, c * z - s * x], axis=-1)


@pytest.fixture(scope="module")
def standing() -> Clip:
    (joints,) = clips_of("squat")
    return joints[:1].repeat(FRAMES, 0)


def left_foot(joints: Clip, heading: Clip) -> FootTrack:
    ground = Ground(np.zeros(3), 0.0, 1.0, float(joints[0, ANKLE, 1]))
    always = np.ones(len(joints), np.bool_)
    return foot_track(joints, ground, "left", always, ~always, heading)


def test_a_foot_pivots_on_its_ball_as_in_the_clip(standing: Clip) -> None:
    degrees = np.linspace(0, 80, FRAMES)
    ball = standing[0, BALL_JOINT] * (1, 0, 1)
    foot = left_foot(turned(standing, degrees, ball), np.radians(degrees))
    assert foot.pitch[-1] < -15
    assert foot.pitch[0] == 0
    assert np.ptp(foot.forward) == np.ptp(foot.aside) == 0
    # It points 7 degrees out as it lands, and its ball is where it is in the clip.
    out = np.radians(7.0)
    place = np.array([foot.aside[0] + STANCE_HALF_WIDTH + BALL * np.sin(out), foot.forward[0] + BALL * np.cos(out)])
    assert place == pytest.approx(ball[[0, 2]], abs=0.02)
    follows = np.degrees(foot_yaw(foot, np.radians(degrees))) + degrees
    assert np.abs(follows - degrees).max() < 15


def test_a_foot_that_stays_while_the_body_turns_is_flat(standing: Clip) -> None:
    degrees = np.linspace(0, 80, FRAMES)
    foot = left_foot(standing, np.radians(degrees))
    assert np.abs(foot.pitch).max() == 0
    assert np.degrees(foot_yaw(foot, np.radians(degrees)))[-1] == pytest.approx(-80)


@pytest.mark.parametrize("degrees", [5.0, 50.0])
def test_a_foot_steps_where_it_turns_in_the_air(standing: Clip, degrees: float) -> None:
    air = slice(20, 30)
    turns = np.repeat([0.0, degrees], [25, FRAMES - 25])
    joints = turned(standing, turns, standing[0, ANKLE] * (1, 0, 1))
    joints[air, ANKLE:, 1] += 0.03
    ground = Ground(np.zeros(3), 0.0, 1.0, float(standing[0, ANKLE, 1]))
    contact = np.ones(FRAMES, np.bool_)
    contact[air] = False
    foot = foot_track(joints, ground, "left", contact, np.zeros(FRAMES, np.bool_), np.radians(turns))
    assert foot.contact.all() == (degrees < 20)


def test_a_body_in_one_place_does_not_turn_on_behind_the_clip(standing: Clip) -> None:
    joints = turned(standing, np.linspace(0, 150, FRAMES), standing[0, 0] * (1, 0, 1))
    turns = [key["turn"] for key in clip_action(joints, FPS, "spin").entry["travel"]]
    assert turns[0] == turns[-1] == 0
    assert 50 < max(abs(turn) for turn in turns) < 80


def leg_raise(degrees: float) -> Clip:
    """Return a clip in which the left leg is raised to the side, straight."""
    (joints,) = clips_of("squat")
    made = joints[:1].repeat(FRAMES, 0)
    angle = np.radians(degrees) * np.hanning(FRAMES)
    leg = [JOINTS.index(f"left_{part}") for part in ("knee", "ankle", "foot")]
    x, y, z = np.moveaxis(made[:, leg] - made[:, [LEFT_HIP]], -1, 0)
    s, c = np.sin(angle)[:, None], np.cos(angle)[:, None]
    made[:, leg] = made[:, [LEFT_HIP]] + np.stack([c * x - s * y, c * y + s * x, z], axis=-1)
    return made


@pytest.mark.parametrize(
    ("degrees", "reason"),
    [
        (85.0, r"hip abduction of other bodies leaves its range by \d+ degrees, \d\.\d s after they begin"),
        (
            -30.0,
            r"limbs of other bodies pass through each other: [a-z]+ \w+ and [a-z ]+, \d+ cm deep, \d\.\d s after they begin",
        ),
    ],
)
def test_a_trial_says_what_fails_and_when(degrees: float, reason: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "raise.npz", joints=leg_raise(degrees), fps=FPS)
    import_clips([tmp_path], tmp_path / "own")
    assert re.fullmatch(reason, find_failure(load_library(tmp_path / "own"), "own_raise") or "")


def test_generation_does_not_resample_for_limbs_that_cross_in_the_clip(tmp_path: Path) -> None:
    joints = leg_raise(-30.0)
    path = np.linspace(0, 0.8, len(joints))[:, None, None] * np.array([0.0, 0.0, 1.0])
    np.savez(tmp_path / "step.npz", joints=joints + path, fps=FPS)
    found = import_clips([tmp_path / "step.npz"], tmp_path / "own")
    assert "limbs of other bodies pass through each other" in found.sources[0]["note"]
    assert load_library(tmp_path / "own").action("own_step").limbs_cross
    shutil.copytree(tmp_path / "own", tmp_path / "without")
    file = tmp_path / "without" / "own_step.yaml"
    file.write_text(file.read_text().replace("limbs_cross: true", "limbs_cross: false"))
    rows = {}
    for name in ("own", "without"):
        batch = synthesize(load_config(tmp_path / name / "config.yaml", samples=4), range(4))
        rows[name] = [(row["attempt"], {entry["kind"] for entry in row["dropped"]}) for row in batch.rows]
    assert any("flaw" in kinds for _, kinds in rows["own"])
    assert not any("overlap" in kinds for _, kinds in rows["own"])
    assert sum(attempt for attempt, _ in rows["own"]) < sum(attempt for attempt, _ in rows["without"])


def test_a_trial_reports_refuses_or_is_off(tmp_path: Path) -> None:
    joints = leg_raise(85.0)
    path = np.linspace(0, 1.5, len(joints))[:, None, None] * np.array([0.0, 0.0, 1.0])
    np.savez(tmp_path / "raise.npz", joints=joints + path, fps=FPS)
    flaw = "of other bodies leaves its range by"
    reported = import_clips([tmp_path / "raise.npz"], tmp_path / "reported")
    assert flaw in reported.sources[0]["note"]
    assert reported.refused == []
    assert import_clips([tmp_path / "raise.npz"], tmp_path / "off", trial="off").sources[0]["note"] == ""
    with pytest.raises(UsageError, match=flaw):
        import_clips([tmp_path / "raise.npz"], tmp_path / "refused", trial="refuse")


def test_few_rates_lead_along_the_whole_course() -> None:
    seconds = np.arange(181) / 30
    turn = 60 * np.sin(2.1 * seconds) + 30 * np.sin(5.3 * seconds)
    rates = np.stack([1.2 + 0.5 * np.sin(3.7 * seconds), 0.3 * np.cos(2.9 * seconds), turn], axis=-1)
    chosen = rate_keys(rates, 20)
    keys = np.column_stack([chosen / 180, rates[chosen]])
    start, stages = Course(np.zeros(1), np.zeros(1), 1.0), (1.0, 6.0, 1.0)
    every = follow(np.column_stack([np.arange(181) / 180, rates]), stages, start, 30.0)[1]

    def beside(keys: Clip) -> tuple[float, float]:
        course = follow(keys, stages, start, 30.0)[1]
        return float(np.abs(course.place - every.place).max()), float(np.degrees(np.abs(course.heading - every.heading)).max())

    few, fitted = beside(keys), beside(fit_rates(keys, rates, stages, start, 30.0))
    assert len(chosen) <= 20
    assert 3 * fitted[0] < few[0]
    assert fitted[0] < 0.08
    assert fitted[1] < few[1]


def test_feet_are_flat_as_who_lies_stood(standing: Clip) -> None:
    lying = standing.copy()
    lying[:, :, 1] -= standing[:, :, 1] - 0.1
    lying[:, ANKLE, 1], lying[:, BALL_JOINT, 1] = 0.03, 0.18  # on a heel, with toes that point up
    joints = np.concatenate([standing, lying])
    lies = np.repeat([False, True], FRAMES)
    contact = np.ones((2, 2 * FRAMES), np.bool_)
    assert flat_ankle_height(joints, contact, lies) == pytest.approx(standing[0, ANKLE, 1], abs=0.005)
    ground = Ground(np.zeros(3), 0.0, 1.0, 0.03)  # at the height of the ankle on its heel
    foot = foot_track(joints, ground, "left", contact[0], lies)
    assert abs(foot.pitch[0]) < 5 < 30 < foot.pitch[-1]
    assert foot_track(joints, ground, "left", contact[0], ~lies & lies).pitch[0] < -30
