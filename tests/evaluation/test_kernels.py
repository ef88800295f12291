"""Kernels of the measures against naive implementations, on random bodies and with gaps."""

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
from posegen.evaluation.kernels.bodies import fill_jerk, fill_lengths, fill_present
from posegen.evaluation.kernels.feet import (
    fill_contact_speeds,
    fill_in_air,
    fill_profiles,
    fill_speeds,
    fill_standing,
    fill_toe_steps,
    lowest,
)
from posegen.evaluation.kernels.spectra import fill_arc_lengths
from posegen.evaluation.plausibility import body_overlap, hull_distance, log_dimensionless_jerk, low_pass, sparc
from posegen.skeleton import CAPSULES, PARENTS, sole_points
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
def test_soles_and_lengths_are_those_of_the_joints(seed: int) -> None:
    joints = contorted(seed)
    body = frames_last(joints)
    assert np.array_equal(body, np.moveaxis(joints, 0, -1))
    assert np.moveaxis(soles_of_body(body), -1, 0) == pytest.approx(sole_points(joints))
    children, parents = np.arange(1, 22), np.array(PARENTS)[1:]
    lengths = np.empty((21, len(joints)))
    fill_lengths(body, children, parents, lengths)
    assert pytest.approx(np.linalg.norm(joints[:, children] - joints[:, parents], axis=-1)) == lengths.T


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
    points, positions = draws.normal(size=(3, 4, 5, 2)), draws.normal(size=(3, 4, 2))
    expected = [[naive.hull_distance(*each) for each in zip(*row, strict=True)] for row in zip(points, positions, strict=True)]
    assert hull_distance(points, positions) == pytest.approx(np.array(expected))


@given(seed=SEEDS)
@FEW
def test_arc_lengths_are_those_of_the_oracle(seed: int) -> None:
    spectra, frequencies = np.random.default_rng(seed).random((5, 40)) ** 4, np.arange(30) / 3
    found = np.empty(5)
    fill_arc_lengths(spectra.copy(), frequencies, 0.05, found)
    assert found == pytest.approx([naive.arc_length(spectrum, frequencies, 0.05) for spectrum in spectra])


def lowered(seed: int) -> Array:
    """Return a body whose feet move slowly, partly near the floor, and which is absent at the end."""
    joints = wandering(seed, 60)
    joints[:, :, 1] -= 0.03
    joints[20:40] = joints[20] + 0.05 * (joints[20:40] - joints[20])
    joints[55:] = np.nan
    return np.asarray(joints)


@given(seed=SEEDS)
@FEW
def test_steps_of_toes_and_contacts_are_those_of_the_oracles(seed: int) -> None:
    joints = lowered(seed)
    toes, body = [10, 11], frames_last(joints)
    speeds, counts = np.empty(118), np.empty(2, np.int64)
    number = fill_toe_steps(body[10], body[11], FPS, 0.05, 0.2, speeds, counts)
    steps, low = naive.low_toe_speeds(joints[:, toes], FPS, 0.05)
    assert 0 < number < 118
    assert speeds[:number] == pytest.approx(steps[low])
    assert counts.tolist() == [np.isfinite(steps).any(1).sum(), (low & (steps > 0.2)).any(1).sum()]
    soles, touching = sole_points(joints), np.random.default_rng(seed).random((60, 9)) < 0.7
    found = np.empty(4 * 59)
    number = fill_contact_speeds(frames_last(soles), touching, FPS, found)
    assert found[:number] == pytest.approx(naive.contact_speeds(soles, touching[:, :4], FPS), nan_ok=True)
    for joint in (10, 20):
        own = np.empty(50)
        fill_speeds(body[joint], FPS, own)
        assert own == pytest.approx(np.linalg.norm(np.diff(joints[:51, joint], axis=0), axis=-1) * FPS)


@given(seed=SEEDS)
@FEW
def test_heights_and_presence_are_those_of_numpy(seed: int) -> None:
    joints = lowered(seed)
    body, soles = frames_last(joints), soles_of_body(frames_last(joints))
    assert lowest(body) == np.nanmin(joints[..., 1])
    assert np.isnan(lowest(np.full((2, 3, 4), np.nan)))
    present, air = np.empty(60, bool), np.empty(60, bool)
    assert not fill_present(joints, present)
    assert np.array_equal(present, np.isfinite(joints).all((1, 2)))
    assert fill_present(joints[:55], np.empty(55, bool))
    touching = np.random.default_rng(seed).random((60, 9)) < 0.02
    heights = np.concatenate([joints[..., 1], soles[:, 1].T], axis=1)
    for clearance in (-0.1, 0.0, 9.0):
        expected = naive.in_air(heights, touching, clearance)
        assert fill_in_air(body, soles, touching, clearance, air) == expected.any()
        assert np.array_equal(air, expected)


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


def test_profiles_are_finite_and_move() -> None:
    found = np.empty(4, bool)
    fill_profiles(np.array([[0.0, 1, 0], [0, 0, 0], [1, np.nan, 1], [np.inf, 1, 0]]), found)
    assert found.tolist() == [True, False, False, False]


def test_a_profile_that_does_not_move_or_is_too_short_has_no_smoothness() -> None:
    for profile in ([0.0, 0, 0, 0], [1.0, np.nan, 1, 1], [1.0]):
        assert np.isnan([sparc(profile, FPS), log_dimensionless_jerk(profile, FPS)]).all()
