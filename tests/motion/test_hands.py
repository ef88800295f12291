"""Hand targets: inverse kinematics against an oracle, and properties of every arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.foundations.trigonometry import ease_towards
from posegen.motion.arms import EASY, Arm, pull_wrist, solve_elbow
from tests import naive
from tests.naive import about_x, about_y, about_z

SEEDS = st.integers(0, 2**32 - 1)
FRAMES = 6
NEAR = 2e-5  # metres: float32 a few metres from the origin


class PosedArm(NamedTuple):
    """One arm over frames by forward kinematics, and the target of its hand."""

    upper: float
    fore: float
    sign: float
    chest: Array  # [9, frames]
    origin: Array
    hand: Array
    shoulder: Array
    elbow: Array
    wrist: Array

    def solve(self, goal: Array, elbow: Array, wrist: Array) -> None:
        """Write elbow and wrist for a goal of the wrist."""
        solve_elbow(Arm(self.upper, self.fore, self.sign, self.chest, self.shoulder, elbow, wrist), goal, 0, FRAMES)


def directions(generator: np.random.Generator, count: int) -> Array:
    vectors = generator.normal(size=(3, count))
    return np.asarray(vectors / np.sqrt((vectors**2).sum(0)))


def arm(seed: int, reach: float, bend: tuple[float, float] = (20, 140)) -> PosedArm:
    """A random arm with an elbow flexion in this range of degrees, and a hand target within its reach."""
    generator = np.random.default_rng(seed)
    upper, fore = generator.uniform(0.2, 0.4), generator.uniform(0.2, 0.35)
    turned = [about_y(a) @ about_x(b) @ about_z(c) for a, b, c in generator.uniform(-0.5, 0.5, (FRAMES, 3))]
    chest = np.stack([r.reshape(9) for r in turned], -1)
    shoulder, ahead = generator.uniform(-2, 2, (3, FRAMES)), directions(generator, FRAMES)
    elbow = shoulder + upper * ahead
    square = np.cross(ahead, directions(generator, FRAMES), axis=0)
    square /= np.sqrt((square**2).sum(0))
    angle = np.radians(generator.uniform(*bend, FRAMES))
    wrist = elbow + fore * (np.cos(angle) * ahead + np.sin(angle) * square)
    # A target without easing: the arm is neither stretched nor folded.
    place = shoulder + generator.uniform(0.5, EASY - 0.01, FRAMES) * (upper + fore) * directions(generator, FRAMES)
    origin = generator.uniform(-2, 2, (3, FRAMES))
    sign = generator.choice([1.0, -1.0])
    apart = np.stack([r.T @ d for r, d in zip(turned, (place - origin).T, strict=True)], -1) / (upper + fore)
    hand = np.concatenate([apart * np.array([sign, 1, 1])[:, None], np.full((1, FRAMES), reach)])
    return PosedArm(upper, fore, sign, *(a.astype(np.float32) for a in (chest, origin, hand, shoulder, elbow, wrist)))


def place_of(one: PosedArm) -> Array:
    rotations = one.chest.astype(np.float64).T.reshape(-1, 3, 3)
    local = one.hand[:3].astype(np.float64) * np.array([one.sign, 1, 1])[:, None] * (one.upper + one.fore)
    return one.origin + np.stack([r @ p for r, p in zip(rotations, local.T, strict=True)], -1)


def solved(one: PosedArm, weight: float = 1.0) -> tuple[Array, Array]:
    """Elbow and wrist after the kernels."""
    goal, elbow, wrist = one.wrist.copy(), one.elbow.copy(), one.wrist.copy()
    weights = np.full(FRAMES, weight, np.float32)
    posed = Arm(one.upper, one.fore, one.sign, one.chest, one.shoulder, elbow, wrist)
    pull_wrist(posed, one.hand, one.chest, one.origin, weights, 0, FRAMES, goal)
    solve_elbow(posed, goal, 0, FRAMES)
    return elbow.astype(np.float64), wrist.astype(np.float64)


def lengths(one: Array, other: Array) -> Array:
    return np.asarray(np.sqrt(((one - other) ** 2).sum(0)))


@given(SEEDS)
def test_wrist_and_elbow_equal_the_oracle(seed: int) -> None:
    one = arm(seed, reach=1.0)
    goal = place_of(one)
    elbow, wrist = solved(one)
    expected_elbow = naive.solve_elbow(one.upper, one.fore, one.shoulder, one.elbow, one.wrist, goal)
    np.testing.assert_allclose(wrist, goal, atol=NEAR)
    # The shortest rotation to the opposite direction is undefined.
    before, after = one.wrist - one.shoulder, goal - one.shoulder
    cosine = (before * after).sum(0) / (lengths(one.wrist, one.shoulder) * lengths(goal, one.shoulder))
    clear = cosine > -0.95
    np.testing.assert_allclose(elbow[:, clear], expected_elbow[:, clear], atol=2e-4)


@given(SEEDS)
def test_the_elbow_does_not_change_its_side_when_the_hand_passes_behind_it(seed: int) -> None:
    one = arm(seed, reach=1.0)
    still = one._replace(
        **{name: np.tile(getattr(one, name)[:, :1], FRAMES) for name in ("shoulder", "elbow", "wrist", "chest")}
    )
    # The line to the goal comes within .2 degrees of the old elbow, which would be on any side of that line.
    ahead = (one.elbow - one.shoulder)[:, 0] / one.upper
    across = np.cross(ahead, (one.wrist - one.shoulder)[:, 0])
    across /= np.sqrt((across**2).sum())
    away = np.radians(np.linspace(-1, 1, FRAMES))
    line = ahead[:, None] + away * np.cross(across, ahead)[:, None] + np.radians(0.2) * across[:, None]
    goal = (still.shoulder + 0.8 * (one.upper + one.fore) * line / np.sqrt((line**2).sum(0))).astype(np.float32)
    elbow, wrist = still.elbow.copy(), still.wrist.copy()
    still.solve(goal, elbow, wrist)
    moved, followed = (lengths(v[:, 1:].astype(np.float64), v[:, :-1]) for v in (wrist, elbow))
    assert (followed < 3 * moved + 1e-4).all()


@given(SEEDS, st.floats(0, 1), st.floats(0, 1), st.floats(0.2, 3))
def test_bones_keep_their_length_and_elbows_their_range(seed: int, reach: float, weight: float, further: float) -> None:
    one = arm(seed, reach)
    one.hand[:3] *= np.float32(further)  # out of reach, or folded up
    elbow, wrist = solved(one, weight)
    np.testing.assert_allclose(lengths(elbow, one.shoulder), one.upper, atol=NEAR)
    np.testing.assert_allclose(lengths(elbow, wrist), one.fore, atol=NEAR)
    bent = one.upper**2 + one.fore**2 - lengths(wrist, one.shoulder) ** 2
    flexion = 180 - np.degrees(np.arccos(np.clip(bent / (2 * one.upper * one.fore), -1, 1)))
    assert flexion.max() < 150.1


@given(SEEDS, st.floats(1, 2))
def test_a_reach_beyond_its_bounds_is_the_bound(seed: int, reach: float) -> None:
    for beyond, bound in ((reach, 1.0), (-reach, 0.0)):
        for found, expected in zip(solved(arm(seed, beyond)), solved(arm(seed, bound)), strict=True):
            np.testing.assert_array_equal(found, expected)


@given(st.floats(0, 10), st.floats(0.1, 2), st.floats(0.01, 1))
def test_easing_keeps_small_values_and_never_reaches_the_limit(distance: float, easy: float, room: float) -> None:
    soft = ease_towards(distance, easy, easy + room)
    if distance <= easy:
        assert soft == distance
    else:
        assert easy < soft < min(distance, easy + room) + 1e-9
    assert ease_towards(distance + 0.1, easy, easy + room) > soft


def test_a_straight_arm_bends_downwards_and_outwards() -> None:
    upper, fore = 0.3, 0.25
    along = np.array([0.0, 0.0, 1.0], np.float32)[:, None] * np.ones((1, FRAMES), np.float32)
    still = np.zeros((3, FRAMES), np.float32)
    upright = np.tile(np.eye(3, dtype=np.float32).reshape(9, 1), FRAMES)
    for sign in (1.0, -1.0):
        elbow, wrist = np.float32(upper) * along, np.float32(upper + fore) * along
        solve_elbow(Arm(upper, fore, sign, upright, still, elbow, wrist), np.float32(0.4) * along, 0, FRAMES)
        assert (sign * elbow[0] > 0.02).all()
        assert (elbow[1] < -0.05).all()
        np.testing.assert_allclose(wrist[2], 0.4, atol=1e-6)


def test_an_arm_without_a_defined_side_stays_finite() -> None:
    # Straight along the direction in which straight arms bend: 1 down and .5 outwards.
    ahead = np.array([0.5, -1.0, 0.0])[:, None] / np.sqrt(1.25) * np.ones((1, FRAMES))
    elbow, wrist = (0.3 * ahead).astype(np.float32), (0.55 * ahead).astype(np.float32)
    upright = np.tile(np.eye(3, dtype=np.float32).reshape(9, 1), FRAMES)
    still, goal = np.zeros((3, FRAMES), np.float32), (0.4 * ahead).astype(np.float32)
    solve_elbow(Arm(0.3, 0.25, 1.0, upright, still, elbow, wrist), goal, 0, FRAMES)
    assert np.isfinite(elbow).all()
    np.testing.assert_allclose(wrist, goal, atol=1e-6)


def test_a_target_in_the_shoulder_is_moved_ahead() -> None:
    one = arm(3, reach=1.0)
    elbow, wrist = one.elbow.copy(), one.wrist.copy()
    one.solve(one.shoulder.copy(), elbow, wrist)
    ahead = wrist - one.shoulder
    assert lengths(wrist, one.shoulder) == pytest.approx(lengths(wrist, one.shoulder)[0])
    assert ((ahead * one.chest[[2, 5, 8]]).sum(0) > 0.05).all()
