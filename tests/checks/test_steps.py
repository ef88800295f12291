"""Steps, the foot of the first one, and ways back, in joints whose steps are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.checks.statements import check_statement, observe_actors
from posegen.checks.steps import measured_steps, return_of
from posegen.config.load import load_config
from posegen.foundations.constants import RETURNS
from posegen.foundations.scene import BOTH, LEFT, RIGHT
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.synthesis.synthesize import synthesize

Array = NDArray[Any]
FPS = 25
PELVIS, FEET = JOINTS.index("pelvis"), (JOINTS.index("left_ankle"), JOINTS.index("right_ankle"))
SWING = 10
"""Frames of a step."""


def stepping(steps: int, first: int, length: float = 0.5, *, rest: int = 5) -> Array:
    """Ankles that step in turn, `first` first, each `length` metres ahead of the other; between the steps both stand."""
    joints, place, side = np.zeros((rest, len(JOINTS), 3), np.float32), [0.0, 0.0], first
    for _ in range(steps):
        start, end = place[side], max(place) + length
        part = np.zeros((SWING, len(JOINTS), 3), np.float32)
        part[:, FEET[1 - side], 2] = place[1 - side]
        part[:, FEET[side], 2] = np.linspace(start, end, SWING + 1)[1:]
        place[side], side = end, 1 - side
        joints = np.concatenate([joints, part])
    return np.concatenate([joints, np.repeat(joints[-1:], rest, axis=0)])


@pytest.mark.parametrize("first", [LEFT, RIGHT])
@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_steps_are_counted(steps: int, first: int) -> None:
    assert measured_steps(stepping(steps, first), 1 / FPS) == (steps, first)


def test_a_number_of_steps_that_is_cut_is_not_stated() -> None:
    joints = stepping(4, LEFT)
    assert measured_steps(joints[8:], 1 / FPS) == (0, BOTH)  # the first foot is on its way
    assert measured_steps(joints[:-9], 1 / FPS) == (0, LEFT)
    assert measured_steps(stepping(0, LEFT), 1 / FPS) == (0, BOTH)
    assert measured_steps(stepping(3, LEFT, 0.05), 1 / FPS) == (0, BOTH)  # shuffling


@pytest.mark.parametrize(
    ("way", "found"), [([0, 3], ""), ([0, 3, 0], "there"), ([0, 3, 1], ""), ([0, 0.8, 0], ""), ([0, 3, 2.2], "")]
)
def test_a_way_back_ends_where_it_began(way: list[float], found: str) -> None:
    joints = np.zeros((60, len(JOINTS), 3), np.float32)
    joints[:, PELVIS, 0] = np.interp(np.arange(60), np.linspace(0, 59, len(way)), way)
    assert RETURNS[return_of(joints, 0, 60)] == found


def test_a_way_towards_the_beginning_leads_back() -> None:
    joints = np.zeros((60, len(JOINTS), 3), np.float32)
    joints[:, PELVIS, 0] = np.interp(np.arange(60), [0, 30, 59], [0, 4, 1])
    assert [RETURNS[return_of(joints, *frames)] for frames in ((0, 30), (30, 60), (30, 36))] == ["", "back", ""]


def test_segments_state_what_is_measured_and_nothing_else_is_true() -> None:
    config, library = load_config("default", ["variants={speed: null, position: null, scale: null}"]), load_library()
    batch = synthesize(config, range(20))
    flat = batch.joints.reshape(-1, *batch.joints.shape[2:])
    stated = 0
    for row, actors in zip(batch.rows, observe_actors(flat, [row["actors"] for row in batch.rows], library, FPS), strict=True):
        for statement in (each for caption in row["captions"] for each in caption["statements"]):
            if statement["kind"] in ("steps", "return") or (statement["kind"] == "side" and statement["action"] == "walk"):
                stated += 1
                assert check_statement(statement, actors, library)
                other = {"left": "right", "right": "left", "back": "there", "there": "back"}
                value = other.get(statement["value"]) or str(int(statement["value"]) + 1)
                assert not check_statement(statement | {"value": value}, actors, library)
    assert stated >= 5
