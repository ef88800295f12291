from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posegen import augment
from posegen.foundations.constants import GRID
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARTS

shapes = st.tuples(st.integers(1, 2), st.integers(1, 6)).map(lambda head: (*head, 22, 3))
on_grid = shapes.flatmap(
    lambda shape: arrays(np.int32, shape, elements=st.integers(-(2**16), 2**16)).map(lambda a: (a * GRID).astype(np.float32))
)
factors = st.floats(0.25, 4.0, allow_nan=False)


def same_bits(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def walk(frames=40):
    """Every joint moves along a line of its own, so that linear resampling is exact up to rounding."""
    steps = np.arange(frames, dtype=np.float64)[:, None, None]
    slopes = (np.arange(66).reshape(22, 3) - 20) * 0.001
    return slopes * 7 + steps * slopes


class TestMirror:
    @given(on_grid)
    def test_twice_is_the_clip_to_the_bit(self, joints):
        assert same_bits(augment.mirror(augment.mirror(joints)), joints)

    @given(on_grid)
    def test_swaps_sides_and_negates_x_without_minus_zero(self, joints):
        mirrored = augment.mirror(joints)
        left, right = JOINTS.index("left_wrist"), JOINTS.index("right_wrist")
        np.testing.assert_array_equal(mirrored[..., left, :], joints[..., right, :] * [-1, 1, 1])
        np.testing.assert_array_equal(mirrored[..., 0, :], joints[..., 0, :] * [-1, 1, 1])
        assert not np.signbit(mirrored[mirrored == 0]).any()

    def test_labels_change_sides(self):
        parts = np.arange(len(PARTS), dtype=np.uint16)[None]
        assert [PARTS[i] for i in augment.mirror_parts(parts)[0]] == ["legs", "trunk", "right_arm", "left_arm", "head"]
        contacts = np.zeros((3, len(CONTACTS)), np.uint8)
        contacts[:, CONTACTS.index("left_heel")] = 1
        contacts[:, CONTACTS.index("right_knee")] = 255
        mirrored = augment.mirror_contacts(contacts)
        assert (mirrored[:, CONTACTS.index("right_heel")] == 1).all()
        assert (mirrored[:, CONTACTS.index("left_knee")] == 255).all()
        assert mirrored.sum() == contacts.sum()
        np.testing.assert_array_equal(augment.mirror_contacts(mirrored), contacts)


class TestPosition:
    @given(on_grid, st.tuples(st.floats(-9, 9), st.floats(-9, 9)))
    def test_shift_stays_on_the_grid_and_is_reversible(self, joints, offset):
        moved = augment.position(joints, offset)
        steps = moved.astype(np.float64) / GRID
        np.testing.assert_array_equal(steps, np.rint(steps))
        np.testing.assert_array_equal(augment.position(moved, [-metres for metres in offset]), joints)
        difference = moved.astype(np.float64) - joints
        assert np.abs(difference - [offset[0], 0, offset[1]]).max() <= GRID / 2
        assert (moved[..., 1] == joints[..., 1]).all()


class TestScale:
    @given(on_grid, factors)
    def test_scales_every_distance(self, joints, factor):
        np.testing.assert_allclose(augment.scale(joints, factor), joints.astype(np.float64) * factor, rtol=1e-6)


class TestSpeed:
    @given(st.integers(1, 60), factors)
    def test_shows_moment_i_times_factor(self, frames, factor):
        joints = walk(frames)
        faster = augment.speed(joints, factor)
        moments = np.arange(len(faster)) * factor
        assert moments[-1] <= frames - 1 + 1e-6
        assert moments[-1] + factor > frames - 1 - 1e-6
        slopes = (np.arange(66).reshape(22, 3) - 20) * 0.001
        np.testing.assert_allclose(faster, slopes * 7 + moments[:, None, None] * slopes, atol=1e-7)

    @given(on_grid)
    def test_factor_one_changes_nothing(self, joints):
        assert same_bits(augment.speed(joints, 1.0), joints)

    @given(st.integers(1, 60), factors)
    def test_labels_go_along_and_are_the_nearest(self, frames, factor):
        labels = np.stack([np.arange(frames)] * 5, axis=-1)
        resampled = augment.speed_labels(labels, factor)
        assert len(resampled) == len(augment.speed(walk(frames), factor))
        assert np.abs(resampled[:, 0] - np.arange(len(resampled)) * factor).max() <= 0.5 + 1e-6

    def test_labels_of_several_actors(self):
        labels = np.arange(2 * 10 * 5).reshape(2, 10, 5)
        np.testing.assert_array_equal(augment.speed_labels(labels, 3.0, axis=1), labels[:, [0, 3, 6, 9]])

    def test_absent_frames_spread_only_where_they_are_needed(self):
        joints = walk(9)
        joints[5:] = np.nan
        absent = np.isnan(augment.speed(joints, 0.5)).all((1, 2))
        np.testing.assert_array_equal(absent, [False] * 9 + [True] * 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: augment.scale(np.zeros((22, 3)), 1.0), r"\[\.\.\., frames, joints, 3\]"),
        (lambda: augment.scale(np.zeros((5, 22, 3), int), 1.0), "float32 or float64 in metres, not int64: convert"),
        (lambda: augment.scale(walk(), 0.0), "factor must be a finite number above 0, not 0.0"),
        (lambda: augment.speed(walk(), -1.0), "factor must be"),
        (lambda: augment.speed(walk(), math.nan), "factor must be"),
        (lambda: augment.speed_labels(np.zeros(5), 1.0, axis=1), "have no axis 1"),
        (lambda: augment.position(walk(), (1.0, 2.0, 3.0)), "two finite numbers"),
        (lambda: augment.mirror(np.zeros((5, 24, 3))), r"22 joints can be mirrored.*\[5, 24, 3\]"),
        (lambda: augment.mirror_parts(np.zeros((5, 4))), "5 labels by body part"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
