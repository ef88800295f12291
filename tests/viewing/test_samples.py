"""Seats and treads of a sample."""

from __future__ import annotations

import numpy as np
import pytest

import posegen
from posegen.foundations.skeleton import CONTACTS, JOINTS
from posegen.viewing.clip import clip_of_sequence, seats_of, treads_of


def test_a_seat_stands_under_the_pelvis_for_each_stretch_of_sitting() -> None:
    joints = np.zeros((1, 8, 22, 3))
    joints[0, :, 0, 0], joints[0, :, 0, 1] = np.arange(8), 0.55
    contact = np.zeros((1, 8, len(CONTACTS)), np.uint8)
    contact[0, [0, 1, 5, 6, 7], CONTACTS.index("seat")] = 1
    seats = seats_of(joints, contact, [0.45])
    assert [seat.top for seat in seats] == [pytest.approx((0.0, 0.45, 0.0)), pytest.approx((5.0, 0.45, 0.0))]
    # Who lies touches the floor with the seat.
    joints[0, :, 0, 1] = 0.1
    assert seats_of(joints, contact, [0.45]) == []


def test_who_does_not_sit_has_no_seat() -> None:
    assert seats_of(np.zeros((2, 4, 22, 3)), np.zeros((2, 4, len(CONTACTS)), np.uint8), [0.0, 0.0]) == []


def test_a_tread_lies_under_each_foot_that_is_set_down_above_the_floor() -> None:
    joints, contact = np.zeros((1, 9, 22, 3)), np.zeros((1, 9, len(CONTACTS)), np.uint8)
    left, right = JOINTS.index("left_foot"), JOINTS.index("right_foot")
    joints[0, :, left, 1], joints[0, :, right, 1] = 0.02, 0.19
    joints[0, :, right, 2] = np.arange(9)
    contact[0, [0, 1, 4, 5], CONTACTS.index("right_toe")] = 1
    contact[0, :, CONTACTS.index("left_toe")] = 1  # on the floor
    treads = treads_of(joints, contact)
    assert [tread.top for tread in treads] == [pytest.approx((0.0, 0.17, 0.0)), pytest.approx((0.0, 0.17, 4.0))]
    assert all(tread.thickness is not None for tread in treads)


def test_limits_that_a_sample_exceeds_are_described() -> None:
    batch = posegen.synthesize(posegen.load_config("smoke"), [0])
    row, failed = batch.rows[0], {"actor": 0, "segment": -1, "action": "", "value": ""}
    assert clip_of_sequence(batch.joints[0, 0], row, 25.0).exceeded == ()
    left = [failed | {"kind": kind} for kind in ("range", "range", "speed", "overlap")]
    found = clip_of_sequence(batch.joints[0, 0], row | {"dropped": left}, 25.0).exceeded
    assert found == ("a joint leaves its range", "a limb passes through the trunk, another limb or a person")
