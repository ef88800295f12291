"""Kernels and other parts of the measures against naive implementations, on random bodies and with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.checks.capsules import PAIRS
from posegen.checks.ranges import REST
from posegen.evaluation.body import body_excess, frames_last, joint_angles, range_excess, soles_of_body
from posegen.evaluation.kernels.balance import fill_hull_distances, fill_standing
from posegen.evaluation.kernels.bodies import fill_jerk
from posegen.evaluation.plausibility import body_overlap, depth_of, log_dimensionless_jerk, low_pass, sparc
from posegen.foundations.skeleton import CAPSULES, sole_points
from tests import naive
from tests.evaluation.figures import FPS, wandering

Array = NDArray[Any]
SEEDS = st.integers(0, 1000)
FEW = settings(max_examples=10)


def contorted(seed: int) -> Array:
    """Return a body whose joints are displaced far enough that limbs overlap and bend in all directions."""
    joints = wandering(seed)
    return np.asarray(joints + np.random.default_rng(seed).normal(0, 0.15, joints.shape))


@given(seed=SEEDS)
@FEW
def test_soles_are_those_of_the_joints(seed: int) -> None:
    joints = contorted(seed)
    body = frames_last(joints)
    assert np.array_equal(body, np.moveaxis(joints, 0, -1))
    assert np.moveaxis(soles_of_body(body), -1, 0) == pytest.approx(sole_points(joints))


@given(seed=SEEDS, skeleton=st.sampled_from(list(REST)))
@FEW
def test_angles_are_those_of_the_oracle(seed: int, skeleton: str) -> None:
    joints = contorted(seed)
    found, expected = joint_angles(joints, skeleton), naive.body_angles(joints)
    assert found.keys() == expected.keys()
    for name, angle in expected.items():
        rest = REST[skeleton].get(name.removeprefix("left_").removeprefix("right_"), 0.0)
        difference = (found[name] + rest - angle + 180) % 360 - 180  # an arm behind the head is flexed far
        assert np.nan_to_num(difference) == pytest.approx(0, abs=1e-5)
        assert np.array_equal(np.isnan(found[name]), np.isnan(angle))


@given(seed=SEEDS)
@FEW
def test_the_excess_of_a_body_is_the_largest_of_its_angles(seed: int) -> None:
    joints = contorted(seed)
    angles = joint_angles(joints)
    wider = {name: np.stack([np.full(len(joints), -20.0), np.linspace(90, 200, len(joints))]) for name in list(angles)[::4]}
    for ranges in ({}, wider):
        expected = np.nan_to_num(list(range_excess(angles, ranges).values())).max(0)
        assert np.array_equal(body_excess(np.array(list(angles.values())), ranges), expected)


@given(seed=SEEDS)
@FEW
def test_overlap_is_that_of_the_oracle(seed: int) -> None:
    joints = contorted(seed)
    expected = naive.body_overlap(joints, [(CAPSULES[one], CAPSULES[other]) for one, other in PAIRS])
    assert expected.any()
    assert body_overlap(joints) == pytest.approx(expected, abs=1e-9)
    joints[3] = np.nan
    assert np.flatnonzero(np.isnan(body_overlap(joints))).tolist() == [3]


@given(seed=SEEDS)
@FEW
def test_filter_and_jerk_are_those_of_numpy(seed: int) -> None:
    joints = contorted(seed)
    impulse = np.zeros(17)
    impulse[8] = 1
    weights = low_pass(impulse, FPS)
    assert weights.sum() == pytest.approx(1)
    series = joints.reshape(len(joints), -1)
    expected = np.stack([np.convolve(row, weights, "valid") for row in series.T], axis=1)
    assert low_pass(joints, FPS).reshape(len(expected), -1) == pytest.approx(expected)
    jerk = np.empty((22, len(joints) - 3))
    fill_jerk(frames_last(joints), jerk)
    assert pytest.approx((np.diff(joints, 3, axis=0) ** 2).sum(-1)) == jerk.T


@given(seed=SEEDS)
@FEW
def test_distances_from_hulls_are_those_of_the_oracle(seed: int) -> None:
    draws = np.random.default_rng(seed)
    points, positions = draws.normal(size=(4, 2, 12)), draws.normal(size=(2, 12))
    turns = np.arange(72) * 2 * np.pi / 72
    found = np.empty(12)
    fill_hull_distances(points, positions, np.stack([np.cos(turns), np.sin(turns)], axis=1), found)
    assert found == pytest.approx([naive.hull_distance(points[..., i], positions[:, i]) for i in range(12)])


@given(seed=SEEDS)
@FEW
def test_arc_lengths_are_those_of_the_oracle(seed: int) -> None:
    draws = np.random.default_rng(seed)
    for frames in (7, 40):
        speed = np.abs(np.cumsum(draws.normal(size=frames)))
        assert sparc(speed[None], FPS) == pytest.approx(naive.arc_length(speed, FPS))


def lowered(seed: int) -> Array:
    """Return a body whose feet move slowly, partly near the floor, and which is absent at the end."""
    joints = wandering(seed, 60)
    joints[:, :, 1] -= 0.03
    joints[20:40] = joints[20] + 0.05 * (joints[20:40] - joints[20])
    joints[55:] = np.nan
    return np.asarray(joints)


@given(seed=SEEDS)
@FEW
def test_depth_ignores_absent_frames(seed: int) -> None:
    joints = lowered(seed)
    assert depth_of(frames_last(joints)) == max(-np.nanmin(joints[..., 1]), 0)
    assert np.isnan(depth_of(np.full((2, 3, 4), np.nan)))


@given(seed=SEEDS)
@FEW
def test_quiet_standing_is_that_of_the_oracle(seed: int) -> None:
    joints = lowered(seed)[:55]
    centre, soles = joints[:, 0], sole_points(joints)
    points, ahead = np.empty((4, 2, 55)), np.empty((2, 55))
    limits = (0.2, float(soles[25:35, :, 1].max() + 0.001), 0.3)
    expected, its_centre = naive.quiet_standing(centre, soles, FPS, limits)
    number = fill_standing(np.ascontiguousarray(centre.T), frames_last(soles), 1 / FPS, 9.81, limits, points, ahead)
    assert 0 < number < 55
    assert np.moveaxis(points[..., :number], -1, 0) == pytest.approx(expected)
    assert pytest.approx(its_centre) == ahead[:, :number].T


def test_a_profile_that_does_not_move_or_is_too_short_has_no_smoothness() -> None:
    for profile in ([0.0, 0, 0, 0], [1.0, np.nan, 1, 1], [np.inf, 1, 0, 0], [1.0]):
        assert np.isnan([measure(np.array([profile]), FPS) for measure in (sparc, log_dimensionless_jerk)]).all()
