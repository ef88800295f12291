"""Ground reactions: Newton's law, standing, double support and what others carry, against naive loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.forces import measures, sequences_of, stances
from posegen.fields.contact_force import HAND_HEIGHT, LEAST_SHARE, LONGEST, double_support_shares
from posegen.fields.field import Sequences, minimum_jerk
from posegen.foundations.skeleton import CONTACTS, JOINTS, sole_points
from tests.fields.conftest import computed

GRAVITY = np.array([0.0, 9.81, 0.0])
SEAT = CONTACTS.index("seat")


def elsewhere(joints: np.ndarray, contact: np.ndarray) -> bool:
    """Return whether something else than feet carries the body in a frame."""
    hands = [
        contact[CONTACTS.index(f"{s}_hand")] == 1 and joints[JOINTS.index(f"{s}_wrist"), 1] < HAND_HEIGHT
        for s in ("left", "right")
    ]
    return bool((contact[6:] == 1).any() or any(hands))


def naive_share(down: np.ndarray, lever: np.ndarray, fps: float) -> np.ndarray:
    """Return the share of the right foot, frame by frame; nobody is absent."""
    shares = np.zeros(len(down))
    for frame, (left, right) in enumerate(down):
        if not (left and right):
            shares[frame] = right
            continue
        first = last = frame
        while first > 0 and down[first - 1].all():
            first -= 1
        while last < len(down) - 1 and down[last + 1].all():
            last += 1
        seconds = min((last - first + 1) / fps, LONGEST)
        loads = np.array([1 - lever[frame], lever[frame]])
        for foot in (0, 1):
            if first > 0 and not down[first - 1, foot]:
                loads[foot] *= minimum_jerk(np.array((frame - first + 0.5) / fps / seconds))
            if last < len(down) - 1 and not down[last + 1, foot]:
                loads[foot] *= minimum_jerk(np.array((last - frame + 0.5) / fps / seconds))
        shares[frame] = loads[1] / loads.sum()
    return shares


def test_shares_equal_those_of_a_loop_over_frames() -> None:
    rng = np.random.default_rng(4)
    for fps in (20.0, 30.0):
        down = np.repeat(rng.random((60, 2)) < 0.75, rng.integers(1, 13, 60), axis=0)
        lever = rng.uniform(LEAST_SHARE, 1 - LEAST_SHARE, len(down))
        np.testing.assert_allclose(double_support_shares(down, ~down, lever, fps), naive_share(down, lever, fps), atol=1e-12)
    walk = np.array([[1, 0]] * 8 + [[1, 1]] * 4 + [[0, 1]] * 8, bool)
    shares = double_support_shares(walk, ~walk, np.full(20, 0.5), 25.0)
    np.testing.assert_allclose(shares + shares[::-1], 1.0, atol=1e-12)
    assert (np.diff(shares[7:13]) > 0).all()


def test_the_feet_carry_mass_times_acceleration_minus_gravity(sequences: Sequences) -> None:
    contact = np.where((np.arange(sequences.shape[3]) // 10 % 4 == 1)[:, None], 0, sequences.contact)
    contact[..., SEAT] |= np.arange(sequences.shape[3]) // 10 % 4 == 3
    sequences = replace(sequences, contact=np.where(sequences.contact == 255, 255, contact).astype(np.uint8))
    arrays, centre = computed("contact_force", sequences), computed("momentum", sequences)["mass_centre"]
    found = {True: 0, False: 0}
    for index in np.ndindex(sequences.shape[:3]):
        here = sequences.present[index]
        if here.any():
            c, contact, joints = (
                centre[index][here].astype(float),
                sequences.contact[index][here],
                sequences.joints[index][here],
            )
            total = (c[2:] - 2 * c[1:-1] + c[:-2]) * sequences.config.fps**2 + GRAVITY
            force, residual = (arrays[name][index][here][1:-1] for name in ("contact_force", "residual_force"))
            feet = (contact[1:-1, :4] == 1).reshape(-1, 2, 2).any(-1)
            carried = feet.any(-1) & ~np.array([elsewhere(*each) for each in zip(joints, contact, strict=True)])[1:-1]
            # The centre of mass is stored in float32: 2^-22 m, differentiated twice at 25 Hz.
            np.testing.assert_allclose(force[carried].sum(1), total[carried], atol=2e-3)
            np.testing.assert_array_equal(residual[carried], 0)
            np.testing.assert_array_equal(force[~carried], 0)
            np.testing.assert_allclose(residual[~carried], total[~carried], atol=2e-3)
            np.testing.assert_array_equal(force[~feet], 0)
            for value in (True, False):
                found[value] += int((carried == value).sum())
    assert min(found.values()) > 0


def test_the_centre_of_pressure_is_between_the_feet(sequences: Sequences) -> None:
    points = computed("contact_force", sequences)["pressure_centre"][sequences.present].astype(float)
    joints, contact = (getattr(sequences, name)[sequences.present] for name in ("joints", "contact"))
    soles = sole_points(joints).reshape(-1, 2, 2, 3)
    touching = (contact[:, :4] == 1).reshape(-1, 2, 2)
    for foot in (0, 1):
        known = ~np.isnan(points[:, foot, 0])
        low, high = (np.minimum(soles[:, foot, 0], soles[:, foot, 1]), np.maximum(soles[:, foot, 0], soles[:, foot, 1]))
        assert ((points[:, foot] >= low - 1e-5) & (points[:, foot] <= high + 1e-5))[known].all()
        heel_only = known & touching[:, foot, 0] & ~touching[:, foot, 1]
        np.testing.assert_allclose(points[heel_only, foot], soles[heel_only, foot, 0], atol=1e-5)
    both = ~np.isnan(points[:, :2, 0]).any(1)
    assert both.sum() > 100
    way, way_common = points[both, 1] - points[both, 0], points[both, 2] - points[both, 0]
    share = (way * way_common).sum(-1) / (way * way).sum(-1)
    assert ((share > -1e-4) & (share < 1 + 1e-4)).all()
    np.testing.assert_allclose(way_common, share[:, None] * way, atol=1e-4)


@pytest.fixture
def still(sequences: Sequences) -> Sequences:
    """Return a sequence that stands still with both feet on the floor."""
    stands = (sequences.contact[..., :4] == 1).all(-1) & (sequences.contact[..., 4:] == 0).all(-1)
    sample, *at = np.argwhere(stands)[0]
    held = sequences.slice(sample, sample + 1)
    joints = np.where(np.isnan(held.joints), np.nan, held.joints[(0, *at)])
    contact = np.where(held.contact == 255, 255, held.contact[(0, *at)]).astype(np.uint8)
    return replace(held, joints=joints, contact=contact)


def test_standing_still_shares_the_body_weight(still: Sequences) -> None:
    arrays, here = computed("contact_force", still), still.present
    force, points = arrays["contact_force"][here], arrays["pressure_centre"][here]
    np.testing.assert_allclose(force.sum(1), np.tile(GRAVITY, (len(force), 1)), atol=1e-5)
    assert (force[..., 1] > 0.02 * 9.81).all()
    # The lever: the projection of the centre of mass on the line between the feet is their common centre of pressure.
    centre = computed("momentum", still)["mass_centre"][here][:, ::2]
    left, right, common = np.moveaxis(points[..., ::2], 1, 0)
    share = ((centre - left) * (right - left)).sum(-1) / ((right - left) ** 2).sum(-1)
    np.testing.assert_allclose(force[:, 1, 1] / 9.81, share, atol=1e-4)
    np.testing.assert_allclose(common, left + share[:, None] * (right - left), atol=1e-4)


def test_what_a_seat_carries_and_a_fall_are_not_forces_of_the_feet(still: Sequences) -> None:
    seated, falling = still.contact.copy(), still.joints.astype(np.float64)
    seated[..., SEAT] = np.where(seated[..., SEAT] == 255, 255, 1)
    arrays, here = computed("contact_force", replace(still, contact=seated)), still.present
    assert (arrays["contact_force"][here] == 0).all()
    np.testing.assert_allclose(arrays["residual_force"][here], np.tile(GRAVITY, (here.sum(), 1)), atol=1e-5)
    assert np.isnan(arrays["pressure_centre"][here]).all()
    times = np.arange(still.shape[3]) / still.config.fps
    falling[..., 1] -= (9.81 / 2 * times * times)[:, None]
    air = np.where(still.contact == 255, 255, 0).astype(np.uint8)
    arrays = computed("contact_force", replace(still, joints=falling, contact=air))
    np.testing.assert_allclose(arrays["residual_force"][here], 0, atol=1e-6)


def test_a_walk_loads_each_foot_with_half_the_weight_and_has_two_peaks() -> None:
    found = {name: value for name, (value, _) in measures([*stances(sequences_of(20, 25))]).items()}
    assert found["impulse / half the stride (BW)"] == pytest.approx(1, abs=0.03)
    assert found["valley (BW)"] < 0.9 < found["second peak (BW)"] < found["first peak (BW)"]
    assert found["braking peak (BW)"] < -0.1 < 0.1 < found["propelling peak (BW)"]
