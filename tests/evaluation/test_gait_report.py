"""Gait found from positions, of a figure whose feet move by rule."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.evaluation.distances import band, share_inside
from posegen.evaluation.gait import Walk, labelled_stance, measure_walk_positions
from posegen.evaluation.realism import Windows, compare_families, concatenate_windows, describe_windows, split_by_person
from posegen.evaluation.recording import Recording
from tests.evaluation.figures import FPS, standing, wandering


def test_walking_is_measured_from_positions() -> None:
    frames, speed, stride, stance = 150, 1.3, 1.08, 0.6
    joints = standing(frames)
    times = np.arange(frames) / FPS
    for side, foot in ((0, (7, 10)), (1, (8, 11))):
        phase = (times / stride + side / 2) % 1
        # The foot stays behind evenly in stance and catches up evenly in swing.
        ahead = np.where(phase < stance, 0.5 - phase / stance, (phase - stance) / (1 - stance) - 0.5) * speed * stride * stance
        joints[:, foot, 2] += ahead[:, None]
    joints[..., 2] += speed * times[:, None]
    walk = measure_walk_positions(joints, FPS)
    assert walk is not None
    assert walk.speed == pytest.approx(speed, abs=0.01)
    assert walk.cadence == pytest.approx(120 / stride, rel=0.01)
    assert walk.step == pytest.approx(speed * stride / 2, rel=0.01)
    assert walk.stance == pytest.approx(100 * stance, abs=2)
    assert walk.stance_error is None
    assert measure_walk_positions(standing(50), FPS) is None


def test_laws_are_those_of_the_literature() -> None:
    walk = Walk(speed=1.2, cadence=100, step=0.65, stance=64, leg=0.9, labelled_stance=61)
    assert walk.ratio_error == pytest.approx(0)
    assert walk.stance_error == pytest.approx(1)


def test_stance_by_labels_is_counted_over_whole_cycles() -> None:
    contact = np.zeros((50, 9), np.uint8)
    for start in (3, 23):  # touch-down to touch-down is 20 frames; the foot is down for 12 of them
        contact[start : start + 8, 0] = contact[start + 4 : start + 12, 1] = 1
    contact[43:, 0] = 1
    assert labelled_stance(contact) == pytest.approx(60)
    assert labelled_stance(np.zeros((50, 9), np.uint8)) is None


def test_halves_share_nobody_and_are_alike_in_size() -> None:
    persons = np.array(list("aaaabbbccd"))
    first = split_by_person(persons)
    assert first.sum() == 5
    assert not set(persons[first]) & set(persons[~first])


def test_families_are_compared_by_name() -> None:
    def windows(names: str) -> Windows:
        clips = (Recording(f"clip {n}", name, wandering(n, 80), FPS, family=name) for n, name in enumerate(names))
        found = concatenate_windows(window for clip in clips for window in describe_windows(clip))
        assert found is not None
        return found

    reference = windows("aaabbbc")
    found = compare_families(reference, windows("aaabcccd"))
    assert set(found) == {"a"}  # of b there are 2 windows on the one side, of c on the other
    assert (found["a"].windows, found["a"].others) == (6, 6)
    within = share_inside(reference[:6].statistics, band(reference[:6].statistics))
    assert list(found["a"].inside.values()) == pytest.approx(within.tolist(), nan_ok=True)
