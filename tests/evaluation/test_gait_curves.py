"""Published curves and laws, cycles cut out of gait, and what comes of the gait of many clips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posegen.evaluation.gait import (
    PHASES,
    GaitTally,
    angle_cycles,
    mass_excursions,
    measure_run,
    measure_walk,
    steady_stretches,
    straight_heading,
    touch_downs,
)
from posegen.evaluation.published_gait import ANGLES, mass_rise, mass_sway, published_curve, speed_bin, stance_share, walk_ratio
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
    curve = published_curve(angle, speed, [percent / 100])
    assert curve is not None
    assert curve[0] == pytest.approx(degrees, abs=0.8)


def test_laws() -> None:
    assert published_curve("ankle_dorsiflexion", "slow", PHASES) is None
    assert [speed_bin(v, 0.9) for v in (0.5, 0.9, 1.3, 1.8, 2.1)] == ["very slow", "slow", "free", "fast", "very fast"]
    assert stance_share(1.2) == pytest.approx(60)
    assert walk_ratio(0.9) == pytest.approx(0.0065)
    assert mass_rise(1.6) == pytest.approx((0.048, 0.009))
    assert mass_sway(1.15)[0] == pytest.approx((0.070 + 0.039) / 2)


def test_a_walk_is_measured_by_its_labels() -> None:
    walk = measure_walk(walker())
    assert walk is not None
    assert walk.labelled_stance == pytest.approx(60, abs=2)  # 16 or 17 of 27 frames
    assert walk.double_support == pytest.approx(20, abs=4)
    assert (walk.rise, walk.sway) == pytest.approx((0.02, 0.06), abs=0.003)
    assert measure_walk(replace(walker(), joints=standing(50), contact=None)) is None


def test_a_run_is_in_the_air_between_steps() -> None:
    run = measure_run(walker(speed=3.0, stride=0.8, stance=0.4, flight=0.05))
    assert run is not None
    assert run.speed == pytest.approx(3.0, abs=0.05)
    assert run.cadence == pytest.approx(150, rel=0.02)
    assert (run.contact, run.flight) == pytest.approx((0.28, 0.12), abs=0.02)
    assert measure_run(walker()) is None  # always on the ground


def test_labels_and_positions_find_the_same_touch_downs() -> None:
    stretch = walker()
    way = straight_heading(stretch.joints, FPS)
    assert way is not None
    assert way.left == pytest.approx([1, 0], abs=0.05)
    by_label, by_place = (touch_downs(stretch.joints, labels, way) for labels in (stretch.contact, None))
    for one, other in zip(by_label, by_place, strict=True):
        assert len(one) >= 4
        assert np.abs(one[:, None] - other).min(0).max() <= 1  # the last may be too near the end
    assert np.isnan(mass_excursions(stretch.joints, (np.zeros(0), np.zeros(0)), way)[0])


def test_curves_are_those_of_the_joints_over_each_cycle() -> None:
    swing = np.radians(20) * np.cos(2 * np.pi * np.arange(100) / 27)
    joints = standing(100)
    hip = joints[:, 1].copy()
    for joint in (4, 7, 10):  # the whole left leg swings about the hip
        down = joints[:, joint] - hip
        joints[:, joint, 1] = hip[:, 1] + down[:, 1] * np.cos(swing) + down[:, 2] * np.sin(swing)
        joints[:, joint, 2] = hip[:, 2] + down[:, 2] * np.cos(swing) - down[:, 1] * np.sin(swing)
    cycles = angle_cycles(joints, (np.arange(4) * 27.0, np.zeros(0)))
    assert cycles.shape == (3, len(ANGLES), 50)
    hips = cycles[:, 0] - cycles[:, 0].mean()
    np.testing.assert_allclose(hips, np.tile(20 * np.cos(2 * np.pi * PHASES), (3, 1)), atol=1.0)
    np.testing.assert_allclose(cycles[:, 1:], 0, atol=1e-4)


def test_a_tally_keeps_means_and_not_more_walks_than_it_may() -> None:
    tally = GaitTally(most=2)
    for _ in range(3):
        tally.add(walker())
    assert len(tally.walks) == 2
    assert [len(list(steady_stretches(walker(), names))) for names in (("walk",), ("run",))] == [1, 0]
    curves = {(curve.angle, curve.speed): curve for curve in tally.curves()}
    knee = curves["knee_flexion", "free"]
    assert knee.cycles % 3 == 0
    # The middle of each cycle's angles is far from the published swing of the knee, and so is said.
    assert knee.farthest is not None
    assert knee.farthest > 1
    published = published_curve("knee_flexion", "free", PHASES)
    assert published is not None
    assert knee.farthest == pytest.approx(np.abs(np.array(knee.mean) - published).max() / 6.3, abs=0.01)
