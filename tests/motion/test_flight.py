"""Jumps: take-off with extended knees, free fall in gaits and jumps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from posegen.evaluation.body import centre_of_mass, joint_angles
from posegen.foundations.constants import GRAVITY
from posegen.foundations.skeleton import sole_points
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, between_standing, scripted


@pytest.mark.parametrize("action", ["jump", "shooting"])
def test_jumps_take_off_with_extended_knees(action: str) -> None:
    fps, one = 100, LIBRARY.action(action)
    end = 1 + one.enter + one.cycle + one.exit
    scenes = scripted(*between_standing(SegmentSpec(action, 1, end, repetitions=1)), frames=500)
    motion = animated(scenes, 500, fps)
    touching = (motion.contact[0, 0, :, :4] == 1).any(-1)
    last = np.flatnonzero(touching[:-1] & ~touching[1:])[0]
    angles = joint_angles(motion.joints[0, 0].astype(np.float64))
    knees = [angles[f"{side}_knee_flexion"][last] for side in ("left", "right")]
    assert min(knees) < 14
    assert max(knees) < 26  # where one foot stands ahead, its leg need not be straight
    assert angles["left_knee_flexion"][:last].max() > 60


@pytest.mark.parametrize(("action", "speed"), [("run", 3.2), ("sprint", 6.0), ("skip", 1.6)])
def test_flights_of_gaits_fall_freely(action: str, speed: float) -> None:
    fps = 200
    motion = animated(scripted(SegmentSpec(action, -3, 8, speed=speed), frames=2 * fps), 2 * fps, fps)
    joints = motion.joints[0, 0].astype(np.float64)
    free = (motion.contact[0, 0, :, :4] == 0).all(-1)
    edges = np.flatnonzero(np.diff(free.astype(int))) + 1
    flights = [(a, b) for a, b in pairwise(edges) if free[a] and b - a > 12]
    assert len(flights) > 2
    assert sole_points(joints)[..., 1].min() > -0.006
    height = centre_of_mass(joints)[:, 1]
    for first, last in flights:
        inside = np.arange(first + 2, last - 2)
        fit = np.polyfit(inside / fps, height[inside], 2)
        assert 2 * fit[0] == pytest.approx(-GRAVITY, rel=0.15)
