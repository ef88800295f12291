"""Mirror and shift of motion as it is stored."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.constants import ABSENT_ACTION, ABSENT_CONTACT, GRID
from posegen.foundations.skeleton import CONTACTS, JOINTS, MIRROR_CONTACTS, MIRROR_JOINTS, MIRROR_PARTS, PARTS
from posegen.motion.engine import Motion
from tests.variants.copied import mirrored, translated

SEEDS = st.integers(0, 2**32 - 1)


def some_motion(seed: int) -> Motion:
    """Any motion on the grid, its last frames absent."""
    generator = np.random.default_rng(seed)
    shape = (2, 3, 9)
    cells = generator.integers(-40_000, 40_000, (*shape, len(JOINTS), 3))
    joints = (cells * GRID).astype(np.float32)
    action = generator.integers(0, 12, (*shape, len(PARTS))).astype(np.uint16)
    contact = generator.integers(0, 2, (*shape, len(CONTACTS))).astype(np.uint8)
    joints[:, :, 7:], action[:, :, 7:], contact[:, :, 7:] = np.nan, ABSENT_ACTION, ABSENT_CONTACT
    joints[0, 0, 0, :, 0] = 0
    return Motion(joints, action, contact)


def assert_same(one: Motion, other: Motion) -> None:
    for name in ("joints", "action", "contact"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.joints.tobytes() == other.joints.tobytes()  # 0 is not -0


@given(SEEDS)
def test_mirror_twice_is_no_change(seed: int) -> None:
    motion = some_motion(seed)
    assert_same(mirrored(mirrored(motion)), motion)


@given(SEEDS)
def test_the_mirror_exchanges_sides(seed: int) -> None:
    motion = some_motion(seed)
    mirror = mirrored(motion)
    for j, other in enumerate(MIRROR_JOINTS):
        np.testing.assert_array_equal(mirror.joints[..., j, :], motion.joints[..., other, :] * [-1, 1, 1])
    np.testing.assert_array_equal(mirror.action, motion.action[..., MIRROR_PARTS])
    np.testing.assert_array_equal(mirror.contact, motion.contact[..., MIRROR_CONTACTS])
    assert not np.signbit(mirror.joints[mirror.joints == 0]).any()


@given(SEEDS)
def test_a_shift_moves_along_the_floor_and_stays_on_the_grid(seed: int) -> None:
    motion = some_motion(seed)
    x, z = (np.random.default_rng(seed + k).integers(-9999, 9999, 2) * np.float32(GRID) for k in range(2))
    moved = translated(motion, x.astype(np.float32), z.astype(np.float32))
    for i in range(2):
        np.testing.assert_array_equal(moved.joints[i], motion.joints[i] + np.array([x[i], 0, z[i]]))
    np.testing.assert_array_equal(moved.action, motion.action)
    np.testing.assert_array_equal(moved.contact, motion.contact)
    back = translated(moved, -x.astype(np.float32), -z.astype(np.float32))
    assert_same(back, motion)
