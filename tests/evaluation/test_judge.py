"""Measures of the motion benchmark: known slides, falls and depths, and invariances of its classifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.motion.clips import Captured, fit, lacking
from benchmarks.motion.families import liveliness
from benchmarks.motion.features import SETS, mirrored, pieces
from benchmarks.motion.plausible import Found, take_down
from benchmarks.motion.running import early_falls
from benchmarks.motion.walking import flat_foot_slides
from posegen.evaluation.recording import Recording
from tests.evaluation.figures import FPS, standing, turn, wandering
from tests.evaluation.walker import walker


def standing_recording() -> Recording:
    contact = np.zeros((30, 9), np.uint8)
    contact[:, :4] = 1
    return Recording("sample 0 base", "0", standing(30), FPS, contact)


def test_the_slide_of_a_flat_foot_is_its_distance() -> None:
    recording = standing_recording()
    assert flat_foot_slides(recording) == pytest.approx([0, 0])
    recording.joints[10:20, [4, 7, 10], 0] += 0.02
    assert flat_foot_slides(recording) == pytest.approx([0.02, 0])
    assert recording.contact is not None
    recording.contact[10:20, 0] = 0  # it is not flat while the heel is up
    assert flat_foot_slides(recording) == pytest.approx([0, 0, 0])


def test_the_fall_after_touch_down_ends_at_the_lowest_point_of_the_stance() -> None:
    recording = walker(stance=0.4, frames=120)
    assert recording.contact is not None
    joints = standing(120)
    down = (recording.contact[:, :4] == 1).any(-1)
    since = np.zeros(120)
    for frame in range(1, 120):
        since[frame] = since[frame - 1] + 1 if down[frame] and down[frame - 1] else 0
    joints[..., 1] -= 0.01 * np.minimum(since, 4)[:, None]
    falls = list(early_falls(replace(recording, joints=joints)))
    assert len(falls) >= 6
    assert falls == pytest.approx([0.04] * len(falls))


def test_faults_of_a_clip_are_recorded() -> None:
    found = Found()
    take_down(standing_recording(), found)
    assert (found.contacts, found.sliding, found.flights, found.violations) == (29 * 4, 0, 0, {})
    bad = standing_recording()
    bad.joints[15:] += [0.02, -0.03, 0]  # at .5 m/s in one step, 3 cm down
    bad.joints[20:, 20] = bad.joints[20:, 16] + [0, 0.05, 0]  # a forearm folded into the shoulder
    take_down(replace(bad, name="sample 1 base"), found)
    assert (found.contacts, found.sliding) == (2 * 29 * 4, 4)
    assert set(found.violations) == {"elbow_flexion in "}
    worst = {name: spread.worst_clips[0] for name, spread in found.spread.spreads().items() if spread.clips}
    assert worst["depth, mm"] == ("sample 1 base", pytest.approx(30))
    assert worst["skate of contacts"] == ("sample 1 base", pytest.approx(1 / 29))


def test_swimming_is_not_flight() -> None:
    air = standing_recording()
    air.joints[..., 1] += 1.0
    air = replace(air, contact=np.zeros((30, 9), np.uint8), labels=np.zeros((30, 5), int), actions={"swimming": 0})
    flying, swimming = Found(), Found()
    take_down(air, flying)
    take_down(air, swimming, frozenset({"swimming"}))
    assert (flying.flights, swimming.flights) == (1, 0)
    assert flying.spread.spreads()["fall, relative"].median == pytest.approx(1)


@pytest.mark.parametrize("name", list(SETS))
def test_features_do_not_depend_on_position_heading_or_size(name: str) -> None:
    joints = wandering(3, 30)
    figures = SETS[name](joints, FPS)
    moved = 1.3 * (joints @ turn("y", 130).T) + [3, 0.5, -2]
    assert SETS[name](moved, FPS) == pytest.approx(figures, abs=1e-6)
    assert SETS[name](mirrored(mirrored(joints)), FPS) == pytest.approx(figures)
    assert not np.allclose(SETS[name](wandering(4, 30), FPS), figures, atol=1e-3)


def test_pieces_have_one_length_and_short_clips_have_none() -> None:
    assert [len(piece) for piece in pieces(standing(120), FPS, 2.0)] == [40, 40, 40]
    assert pieces(standing(11), FPS, 2.0) == []
    assert liveliness(standing(11), FPS) is None
    assert liveliness(standing(20), FPS) == pytest.approx((0, 0))


def test_families_need_clips_persons_and_a_counterpart() -> None:
    def clips(family: str, count: int, persons: int) -> list[Captured]:
        return [Captured(f"{n}", family, f"{family}{n % persons}", standing(1), FPS) for n in range(count)]

    several = [*clips("walk", 10, 3), *clips("run", 9, 3), *clips("kick", 30, 2), *clips("wash", 30, 5), *clips("sneak", 11, 4)]
    families = fit(several)
    assert {name: len(of_it) for name, of_it in families.items()} == {"sneak": 11, "walk": 10}
    assert lacking(families, ("walk", "run")) == ["sneak"]
