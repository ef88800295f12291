"""Measures over joints: known values of constructed motion, naive implementations, and invariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.checks.capsules import PAIRS
from posegen.evaluation import body as measures
from posegen.evaluation.plausibility import CUT_OFF, balance_margin, body_overlap, flight_errors, flights, foot_skate, low_pass
from posegen.evaluation.realism import geometric_features, kinetic_features
from posegen.fields.keypoints import stature
from posegen.foundations.skeleton import CAPSULES, JOINTS, PARTS
from posegen.library.load import load_library
from posegen.library.schema import Range
from tests import naive
from tests.evaluation.figures import FPS, posed, standing, turn, wandering

Array = NDArray[Any]
SEEDS = st.integers(0, 1000)


def test_the_centre_of_mass_of_a_standing_body_has_its_published_height() -> None:
    pose = standing(1)[0]
    assert 0.53 < measures.centre_of_mass(pose)[1] / (pose[15, 1] / 0.92) < 0.60  # .56 of stature
    moved = pose.copy()
    moved[JOINTS.index("head")] += [1, 0, 0]
    assert measures.centre_of_mass(moved) - measures.centre_of_mass(pose) == pytest.approx([0.081, 0, 0])


def test_the_longest_present_interval_is_returned() -> None:
    joints = standing(12)
    joints[3] = np.nan
    joints[9, 4, 2] = np.nan
    assert measures.longest_present(joints) == slice(4, 9)
    assert measures.longest_present(joints * np.nan) == slice(0, 0)


def test_the_filter_halves_the_power_at_its_frequency_and_keeps_low_frequencies() -> None:
    times = np.arange(500) / FPS
    gain = [np.sqrt(2) * low_pass(np.sin(2 * np.pi * f * times), FPS)[:450].std() for f in (0.5, CUT_OFF)]
    assert gain == pytest.approx([1, np.sqrt(0.5)], abs=0.01)
    assert low_pass(3 * times, FPS) == pytest.approx(3 * times[4:-4])


def test_skate_counts_what_slides() -> None:
    joints = standing(11)
    assert (foot_skate(joints, FPS)["skate, GMD"], foot_skate(joints, FPS)["skate, strict"]) == (0, 0)
    joints[5:, 10, 0] += 0.03  # one step of the left toe at .75 m/s, among ten steps of two toes
    skate = foot_skate(joints, FPS)
    assert list(skate.values()) == pytest.approx([1 / 10, 1 / 20, 0.75 / 20])
    joints[..., 1] += 1
    assert (foot_skate(joints, FPS)["skate, GMD"], np.isnan(foot_skate(joints, FPS)["skate, strict"])) == (0, True)


@pytest.mark.parametrize(
    ("joint", "axis", "degrees", "angle", "expected"),
    [
        ("left_knee", "x", 60, "left_knee_flexion", 60),
        ("left_knee", "x", -15, "left_knee_flexion", -15),
        ("right_elbow", "x", -90, "right_elbow_flexion", 90),
        ("left_hip", "x", -50, "left_hip_flexion", 50),
        ("left_hip", "z", 30, "left_hip_abduction", 30),
        ("right_hip", "z", -30, "right_hip_abduction", 30),
        ("left_shoulder", "x", -100, "left_shoulder_flexion", 100),
        ("right_shoulder", "x", 70, "right_shoulder_flexion", -70),
        ("spine2", "x", 40, "trunk_flexion", 40),
        ("spine1", "y", 25, "trunk_rotation", 25),
        ("spine2", "z", -20, "trunk_lateral", 20),
        ("neck", "x", 30, "neck_flexion", 30),
    ],
)
def test_angles_are_recovered_from_positions(joint: str, axis: str, degrees: float, angle: str, expected: float) -> None:
    angles = measures.joint_angles(posed({joint: turn(axis, degrees)}))
    assert angles[angle] == pytest.approx(expected, abs=2)


def test_excess_is_the_distance_from_the_range() -> None:
    assert max(float(values.max()) for values in measures.range_excess(measures.joint_angles(standing())).values()) == 0
    bent = measures.range_excess(measures.joint_angles(posed({"left_knee": turn("x", -15), "left_elbow": turn("x", -158)})))
    assert bent["left_knee_flexion"] == pytest.approx(15)
    assert bent["left_elbow_flexion"] == pytest.approx(8, abs=0.1)
    assert bent["right_knee_flexion"] == pytest.approx(0)


def test_an_action_widens_a_range_for_its_frames_and_half_a_second_around() -> None:
    library = load_library()
    wide = library.action("squat").model_copy(
        update={"ranges": {"knee_flexion": Range(max=160, source="A"), "trunk_flexion": Range(min=-50, source="B")}}
    )
    library = replace(library, entries={"stand": library.action("stand"), "squat": wide})
    labels = np.zeros((100, len(PARTS)), np.uint16)
    labels[40:50, PARTS.index("legs")] = 1
    labels[90:] = 65535
    ranges = measures.frame_ranges(library, ["stand", "squat"], labels, 25)
    assert set(ranges) == {"left_knee_flexion", "right_knee_flexion"}  # the trunk has another action
    low, high = ranges["left_knee_flexion"]
    assert (low == 0).all()
    assert high.tolist() == [160 if 28 <= frame < 62 else 150 for frame in range(100)]
    angles = {"left_knee_flexion": np.full(100, 158.0), "left_elbow_flexion": np.full(100, 151.0)}
    beyond = measures.range_excess(angles, ranges)
    assert beyond["left_knee_flexion"].tolist() == [0 if 28 <= frame < 62 else 8 for frame in range(100)]
    assert beyond["left_elbow_flexion"].tolist() == [1] * 100
    labels[0, PARTS.index("trunk")] = 1
    assert measures.frame_ranges(library, ["stand", "squat"], labels, 25)["trunk_flexion"][:, 12:14].tolist() == [
        [-50, -30],
        [90, 90],
    ]


def test_a_dataset_is_measured_by_the_ranges_of_its_own_actions(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    bow = "parts: [trunk], duration: [1, 2], ranges: {trunk_flexion: {max: 120, source: mine}}"
    (mine / "own.yaml").write_text(f"family: mine\nactions: {{bow: {{{bow}}}}}", encoding="utf-8")
    assert measures.library_of_config({"story": {"library": str(mine)}}).action("bow").ranges["trunk_flexion"].max == 120
    for config in ({}, {"story": {"library": None}}, {"story": {"library": str(tmp_path / "gone")}}):
        assert measures.library_of_config(config).action("bow").ranges == {}


@given(SEEDS)
@settings(max_examples=30)
def test_distance_of_segments_is_that_of_their_nearest_points(seed: int) -> None:
    draws = np.random.default_rng(seed)
    a, b, c, d = draws.normal(size=(4, 3))
    if seed % 3 == 0:
        b = a
    along = np.linspace(0, 1, 201)[:, None]
    gaps = (a + along * (b - a))[:, None] - (c + along * (d - c))[None]
    assert naive.segment_distance(a, b, c, d) == pytest.approx(np.sqrt((gaps**2).sum(-1)).min(), abs=2e-2)
    assert naive.segment_distance(a, b, c, d) <= np.sqrt((gaps**2).sum(-1)).min() + 1e-12


def contorted(seed: int) -> Array:
    """Return a body whose joints are displaced far enough that limbs overlap and bend in all directions."""
    joints = wandering(seed)
    return np.asarray(joints + np.random.default_rng(seed).normal(0, 0.15, joints.shape))


@given(seed=SEEDS)
@settings(max_examples=10)
def test_overlap_is_that_of_the_nearest_points(seed: int) -> None:
    joints = contorted(seed)
    at = {name: joints[:, number] for number, name in enumerate(JOINTS)}
    pairs = [(*CAPSULES[one], *CAPSULES[other]) for one, other in PAIRS]
    depths = [
        (radius + other) * stature(joints) - naive.segment_distance(at[a], at[b], at[c], at[d])
        for a, b, radius, c, d, other in pairs
    ]
    assert body_overlap(joints) == pytest.approx(np.maximum(np.max(depths, axis=0), 0), abs=1e-9)
    joints[3] = np.nan
    assert np.flatnonzero(np.isnan(body_overlap(joints))).tolist() == [3]


def test_the_error_of_a_flight_is_that_of_its_acceleration() -> None:
    times = np.arange(10) / FPS
    for gravity, error in ((9.81, 0), (4.905, 0.5)):
        joints = standing(20)
        joints[5:15, :, 1] += (0.2 + gravity / 2 * times * (times[-1] - times))[:, None]
        body = measures.frames_last(joints)
        soles = measures.soles_of_body(body)
        assert flights(body, soles) == [slice(5, 15)]
        assert flight_errors(body, soles, FPS) == pytest.approx([error], abs=1e-9)
        assert [len(flights(body, soles, longest=frames)) for frames in (9, 10)] == [0, 1]
        assert flights(body[..., :15], soles[..., :15], longest=10) == []  # cut: its length is unknown
        touching = np.zeros((20, 9), bool)
        touching[:, 4] = True  # hanging by a hand
        assert flights(body, soles, touching) == []


def test_leaning_is_out_of_balance() -> None:
    margin = margin_of(standing(30))
    assert len(margin) == 22
    assert (margin < 0).all()
    leaning = standing(30)
    leaning[:, 12:, 2] += 1.0
    assert (margin_of(leaning) > 0.1).all()


def margin_of(joints: Array) -> Array:
    return balance_margin(measures.frames_last(low_pass(joints, FPS)), FPS)


def test_kinetic_features_are_energies() -> None:
    joints = standing(20) + np.arange(20)[:, None, None] / FPS * [3.0, 0.5, 4.0]
    assert kinetic_features(joints, FPS).reshape(22, 3) == pytest.approx(np.tile([25, 0.25, 0], (22, 1)), abs=1e-9)
    still = standing(20) + 0.5 * 2 * (np.arange(20)[:, None, None] / FPS) ** 2 * [0, 1.0, 0]
    assert kinetic_features(still, FPS).reshape(22, 3)[:, 2] == pytest.approx(2)


def test_relations_of_known_poses() -> None:
    at_rest = geometric_features(standing(), FPS)
    assert np.flatnonzero(at_rest).tolist() == [14]  # an ankle behind the plane of the other foot; AIST++ tests one side
    elbow = geometric_features(posed({"right_elbow": turn("x", -100), "left_knee": turn("x", 100)}), FPS)
    assert (elbow[6], elbow[7], elbow[19], elbow[20]) == (1, 0, 0, 1)
    running = standing() + np.arange(10)[:, None, None] / FPS * [0, 0, 3.0]
    assert np.flatnonzero(geometric_features(running, FPS)).tolist() == [12, 13, 14, 21, 22, 31]


@pytest.mark.parametrize(
    "measure",
    [
        lambda joints: kinetic_features(joints, FPS),
        lambda joints: geometric_features(joints, FPS),
        lambda joints: np.concatenate(list(measures.joint_angles(joints).values())),
        body_overlap,
        lambda joints: np.nan_to_num([foot_skate(joints, FPS)["skate, GMD"], foot_skate(joints, FPS)["speed of low toes"]]),
        lambda joints: balance_margin(measures.frames_last(low_pass(joints, FPS)), FPS),
    ],
)
@given(seed=SEEDS, heading=st.sampled_from([5, 90, 215]), x=st.floats(-50, 50), z=st.floats(-50, 50))
@settings(max_examples=5)
def test_measures_do_not_depend_on_position_and_heading(
    measure: Callable[[Array], Array], seed: int, heading: float, x: float, z: float
) -> None:
    joints = wandering(seed)
    moved = joints @ turn("y", heading).T + [x, 0, z]
    assert measure(moved) == pytest.approx(measure(joints), abs=2e-3, nan_ok=True)


def test_mocap_fulfils_the_published_relations(reference: list[Any]) -> None:
    """Real walking is within the ranges and hardly overlaps or slides; otherwise a measure is wrong.

    The systems of this mocap put the head above the neck, as the anatomical skeleton does; SMPL's lies ahead of it.
    """
    walks = [clip.joints for clip in reference if clip.label == "walk" and len(clip.joints) > 50]
    beyond = [
        np.mean([(v > 5).mean() for v in measures.range_excess(measures.joint_angles(joints, "anatomical")).values()])
        for joints in walks
    ]
    assert np.median(beyond) < 0.05
    assert np.median([foot_skate(joints, FPS)["skate, GMD"] for joints in walks]) < 0.2
    assert np.median([(body_overlap(joints) > 0.02).mean() for joints in walks]) < 0.05
