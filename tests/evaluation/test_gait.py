"""Gait: published curves and relations, cycles, walks and runs, and the comparison of windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.motion.walking import mass_excursion
from posegen.evaluation import gait
from posegen.evaluation.realism import split_by_person
from posegen.evaluation.recording import Recording
from tests.evaluation.figures import FPS, standing
from tests.evaluation.walker import walker


@pytest.mark.parametrize(
    ("angle", "speed", "percent", "degrees"),
    [
        ("hip_flexion", "free", 90, 36.7),
        ("hip_flexion", "free", 52, -5.8),
        ("ankle_dorsiflexion", "free", 46, 11.8),
        ("ankle_dorsiflexion", "free", 64, -19.8),
        ("knee_flexion", "free", 12, 19.3),
        ("knee_flexion", "free", 40, 6.2),
        ("knee_flexion", "free", 72, 59.1),
        ("knee_flexion", "very slow", 12, 7.9),
        ("knee_flexion", "slow", 12, 12.7),
        ("knee_flexion", "fast", 12, 23.7),
    ],
)
def test_curves_pass_through_the_published_points(angle: str, speed: str, percent: float, degrees: float) -> None:
    curve = gait.published_curve(angle, speed, [percent / 100])
    assert curve is not None
    assert curve[0] == pytest.approx(degrees, abs=0.8)


def test_published_relations() -> None:
    assert gait.published_curve("ankle_dorsiflexion", "slow", gait.PHASES) is None
    assert [gait.speed_bin(v, 0.9) for v in (0.5, 0.9, 1.3, 1.8, 2.1)] == ["very slow", "slow", "free", "fast", "very fast"]
    walk = gait.Walk(speed=1.2, cadence=100, step=1.1 * 0.65, leg=0.9, labelled_stance=61)
    assert (walk.ratio_error, walk.stance_error) == pytest.approx((0.1, 1))
    assert mass_excursion("rise", 1.6) == pytest.approx((0.048, 0.009))
    assert mass_excursion("sway", 1.15)[0] == pytest.approx((0.070 + 0.039) / 2)


def test_a_walk_is_measured_by_its_labels() -> None:
    walk = gait.measure_walk(walker())
    assert walk is not None
    assert walk.labelled_stance == pytest.approx(60, abs=2)  # 16 or 17 of 27 frames
    assert walk.double_support == pytest.approx(20, abs=4)
    assert (walk.rise, walk.sway) == pytest.approx((0.02, 0.06), abs=0.003)
    assert gait.measure_walk(replace(walker(), joints=standing(50), contact=None)) is None


def test_a_run_is_in_the_air_between_steps() -> None:
    run = gait.measure_run(walker(speed=3.0, stride=0.8, stance=0.4, flight=0.05))
    assert run is not None
    assert run.speed == pytest.approx(3.0, abs=0.05)
    assert run.cadence == pytest.approx(150, rel=0.02)
    assert (run.contact, run.flight) == pytest.approx((0.28, 0.12), abs=0.02)
    assert gait.measure_run(walker()) is None  # always on the ground


def test_labels_and_positions_find_the_same_touch_downs() -> None:
    stretch = walker()
    heading = gait.straight_heading(stretch.joints, FPS)
    assert heading is not None
    assert heading.left == pytest.approx([1, 0], abs=0.05)
    by_label, by_position = (gait.touch_downs(stretch.joints, labels, heading) for labels in (stretch.contact, None))
    for one, other in zip(by_label, by_position, strict=True):
        assert len(one) >= 4
        assert np.abs(one[:, None] - other).min(0).max() <= 1  # the last may be too near the end
    assert np.isnan(gait.mass_excursions(stretch.joints, (np.zeros(0), np.zeros(0)), heading)[0])


def test_maxima_are_found_between_frames() -> None:
    assert gait.local_maxima(-((np.arange(9) - 4.3) ** 2)) == pytest.approx([4.3])


def test_curves_are_the_joint_angles_over_each_cycle() -> None:
    swing = np.radians(20) * np.cos(2 * np.pi * np.arange(100) / 27)
    joints = standing(100)
    hip = joints[:, 1].copy()
    for joint in (4, 7, 10):  # the whole left leg swings about the hip
        down = joints[:, joint] - hip
        joints[:, joint, 1] = hip[:, 1] + down[:, 1] * np.cos(swing) + down[:, 2] * np.sin(swing)
        joints[:, joint, 2] = hip[:, 2] + down[:, 2] * np.cos(swing) - down[:, 1] * np.sin(swing)
    cycles = gait.angle_cycles(joints, (np.arange(4) * 27.0, np.zeros(0)))
    assert cycles.shape == (3, len(gait.ANGLES), 50)
    hips = cycles[:, 0] - cycles[:, 0].mean()
    np.testing.assert_allclose(hips, np.tile(20 * np.cos(2 * np.pi * gait.PHASES), (3, 1)), atol=1.0)
    np.testing.assert_allclose(cycles[:, 1:], 0, atol=1e-4)


def test_a_tally_keeps_means_and_a_bounded_number_of_walks() -> None:
    tally = gait.GaitTally(most=2)
    for _ in range(3):
        tally.add(walker())
    assert len(tally.walks) == 2
    assert [len(list(gait.steady_stretches(walker(), names))) for names in (("walk",), ("run",))] == [1, 0]
    curves = {(curve.angle, curve.speed): curve for curve in tally.curves()}
    knee = curves["knee_flexion", "free"]
    assert knee.cycles % 3 == 0
    # The mean angles are far from the published knee flexion in swing, and this is reported.
    assert knee.farthest is not None
    assert knee.farthest > 1
    published = gait.published_curve("knee_flexion", "free", gait.PHASES)
    assert published is not None
    assert knee.farthest == pytest.approx(np.abs(np.array(knee.mean) - published).max() / 6.3, abs=0.01)


def test_walking_is_measured_from_positions() -> None:
    speed, stride = 1.3, 1.08
    walk = gait.measure_walk(Recording("clip", "1", walker(speed, stride, rise=0.0).joints, FPS))
    assert walk is not None
    assert walk.speed == pytest.approx(speed, abs=0.01)
    assert walk.cadence == pytest.approx(120 / stride, rel=0.01)
    assert walk.step == pytest.approx(speed * stride / 2, rel=0.01)
    assert walk.stance_error is None
    assert gait.measure_walk(Recording("clip", "1", standing(50), FPS)) is None


def test_stance_by_labels_is_counted_over_whole_cycles() -> None:
    contact = np.zeros((50, 9), np.uint8)
    for start in (3, 23):  # touch-down to touch-down is 20 frames; the foot is down for 12 of them
        contact[start : start + 8, 0] = contact[start + 4 : start + 12, 1] = 1
    contact[43:, 0] = 1
    assert gait.labelled_stance(contact) == pytest.approx(60)
    assert gait.labelled_stance(np.zeros((50, 9), np.uint8)) is None


def test_halves_share_no_person_and_have_similar_size() -> None:
    persons = np.array(list("aaaabbbccd"))
    first = split_by_person(persons)
    assert first.sum() == 5
    assert not set(persons[first]) & set(persons[~first])
