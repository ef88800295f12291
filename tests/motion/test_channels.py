"""Channels: waves, published gait curves, harmonics, key poses, layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.library.channels import CHANNELS
from posegen.library.load import Library
from posegen.library.schema import Action
from posegen.motion import rows
from posegen.motion.channels import add_harmonics, add_layer, add_series, add_track, fill_waves, gait_series, shift_weight
from posegen.motion.gait.curves import HARMONICS, WALK_SPEEDS, curve_warp, warp_phase
from posegen.motion.gait.steps import RUN, STEP, WALK
from posegen.motion.key_poses import stage_bounds
from posegen.motion.library_tables import library_tables
from posegen.motion.trigonometry import smooth_step
from posegen.motion.workspace import Clock, Workspace, empty_workspace
from tests import naive
from tests.motion.acted import role
from tests.motion.scripted import LIBRARY, SegmentSpec, person, scripted, segment, segment_of_kind

Array = NDArray[Any]

ACTIONS = library_tables(LIBRARY)
LEG = 0.85
SEEDS = st.integers(0, 2**32 - 1)
DEGREE = 1 / 360
# Schwartz et al. 2008 at free speed: constant, cosines, sines, degrees.
FREE = {
    "hip_flexion": (18.45, [20.87, -3.14, -0.10, -0.10, -0.27], [-3.19, -1.54, 1.62, -0.09, 0.27]),
    "knee_flexion": (22.87, [-1.91, -13.63, -0.70, -0.87, -0.54], [-18.75, 7.00, 4.31, 0.63, 0.73]),
    "ankle_dorsiflexion": (
        0.75,
        [-2.05, 0.82, -4.60, 2.20, -0.52, 0.26, 0.53, -0.08],
        [7.09, -7.22, 0.86, 0.24, -1.38, 0.55, -0.49, -0.04],
    ),
}
FREE_KNOT = 3
HANDS = np.array(["hand" in name for name in CHANNELS])
"""Channels of the hands; see test_hands."""


def series_of(channel: str, gait: int = WALK, dimensionless: float = WALK_SPEEDS[FREE_KNOT]) -> Array:
    series = np.zeros(1 + 2 * HARMONICS, np.float32)
    gait_series(gait, dimensionless * float(np.sqrt(9.81 * LEG)), LEG, ACTIONS.gaits, CHANNELS.index(channel), series)
    return series


def degrees(series: Array, phase: float) -> float:
    return naive.gait_angle(series, phase) / DEGREE


@given(st.lists(st.floats(0, 500, width=32), min_size=1, max_size=9))
def test_waves_are_cosines_and_sines_of_multiples(phases: list[float]) -> None:
    phase = np.array(phases, np.float32)
    waves = np.zeros((2 * HARMONICS, len(phase)), np.float32)
    fill_waves(phase, np.zeros_like(phase), waves)
    last_place = 2 * np.pi * HARMONICS * np.spacing(phase + np.float32(0.25))
    assert (np.abs(waves - naive.fill_waves(phase, HARMONICS)) < 1e-5 + last_place).all()


@pytest.mark.parametrize("channel", FREE)
def test_gait_at_free_speed_is_the_published_table(channel: str) -> None:
    constant, cosines, sines = FREE[channel]
    for side, sign in (("left", 1), ("right", -1)):
        series = series_of(f"{side}_{channel}") / DEGREE
        # The other leg runs half a cycle later: its odd harmonics change their sign.
        turned = np.array([sign if k % 2 else 1 for k in range(1, HARMONICS + 1)])
        expected = np.zeros(1 + 2 * HARMONICS)
        expected[0] = constant
        expected[1 : 1 + len(cosines)], expected[1 + HARMONICS : 1 + HARMONICS + len(sines)] = cosines, sines
        expected[1 : 1 + HARMONICS] *= turned
        expected[1 + HARMONICS :] *= turned
        np.testing.assert_allclose(series, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("channel", "phase", "published"),
    [
        ("hip_flexion", 0.90, 36.7),
        ("hip_flexion", 0.52, -5.8),
        ("knee_flexion", 0.12, 19.3),
        ("knee_flexion", 0.40, 6.2),
        ("knee_flexion", 0.72, 59.1),
        ("ankle_dorsiflexion", 0.46, 11.8),
        ("ankle_dorsiflexion", 0.64, -19.8),
    ],
)
def test_gait_passes_through_the_published_peaks(channel: str, phase: float, published: float) -> None:
    assert degrees(series_of(f"left_{channel}"), phase) == pytest.approx(published, abs=0.25)
    assert degrees(series_of(f"right_{channel}"), phase + 0.5) == pytest.approx(published, abs=0.25)


@given(st.floats(0, 1), st.sampled_from(["left_knee_flexion", "right_hip_flexion", "pelvis_rotation"]))
def test_gait_is_linear_between_published_speeds(share: float, channel: str) -> None:
    slower, faster = WALK_SPEEDS[2], WALK_SPEEDS[3]
    between = series_of(channel, dimensionless=slower + share * (faster - slower))
    ends = series_of(channel, dimensionless=slower), series_of(channel, dimensionless=faster)
    np.testing.assert_allclose(between, ends[0] + share * (ends[1] - ends[0]), atol=2e-6)


def test_gait_is_constant_beyond_the_published_speeds() -> None:
    fastest = series_of("left_knee_flexion", dimensionless=WALK_SPEEDS[-1])
    np.testing.assert_array_equal(series_of("left_knee_flexion", dimensionless=2 * WALK_SPEEDS[-1]), fastest)
    np.testing.assert_array_equal(series_of("left_knee_flexion", STEP), series_of("left_knee_flexion", dimensionless=0.0))


def test_running_bends_the_knee_as_published() -> None:
    series = series_of("left_knee_flexion", RUN, 2.5 / float(np.sqrt(9.81 * LEG)))
    assert series[0] / DEGREE == pytest.approx(42.4)
    assert series[1:3] / DEGREE == pytest.approx([-10.9, -17.0])


def test_fast_runs_raise_the_thigh_but_reach_back_hardly_further() -> None:
    phases = np.arange(100) / 100
    slow, fast = (
        np.array([degrees(series_of("left_hip_flexion", RUN, v / float(np.sqrt(9.81 * LEG))), p) for p in phases])
        for v in (2.5, 6.0)
    )
    assert fast.max() - slow.max() > 15
    assert -8 < fast.min() - slow.min() < 4


@given(st.floats(0.2, 0.4))
def test_the_warp_puts_toe_off_where_the_contact_ends(duty: float) -> None:
    warp = float(curve_warp(duty))
    phase = np.linspace(0, 1, 201)
    at = np.array([float(warp_phase(p, warp)) for p in phase])
    np.testing.assert_allclose(at, naive.warp_phase(phase, warp), atol=1e-5)
    assert (np.diff(at) > 0).all()
    if warp < 0.14:
        assert float(warp_phase(duty, warp)) == pytest.approx(0.39, abs=1e-4)


@given(SEEDS)
def test_waves_use_the_warped_phase(seed: int) -> None:
    generator = np.random.default_rng(seed)
    phase, warp = generator.uniform(0, 3, (2, 9)).astype(np.float32) * np.array([[1], [0.04]], np.float32)
    waves, expected = np.zeros((2, 2 * HARMONICS, 9), np.float32)
    fill_waves(phase, warp, waves)
    fill_waves(
        np.array([warp_phase(p, w) for p, w in zip(phase, warp, strict=True)], np.float32), np.zeros(9, np.float32), expected
    )
    np.testing.assert_allclose(waves, expected, atol=2e-5)


@given(SEEDS)
def test_series_pull_a_channel_by_their_weight(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frames, neutral = 7, 0.03
    phase = generator.uniform(0, 3, frames).astype(np.float32)
    waves = np.zeros((2 * HARMONICS, frames), np.float32)
    fill_waves(phase, np.zeros_like(phase), waves)
    weight = generator.random(frames).astype(np.float32)
    row = np.full(frames, neutral, np.float32)
    series = series_of("left_knee_flexion")
    add_series(row, weight, waves, series, neutral, 1, 6, np.zeros(frames, np.float32))
    expected = np.array([neutral + w * (degrees(series, p) * DEGREE - neutral) for w, p in zip(weight, phase, strict=True)])
    np.testing.assert_allclose(row[1:6], expected[1:6], atol=1e-5)
    np.testing.assert_array_equal(row[[0, 6]], np.float32(neutral))


FRAMES, CLOCK = 200, Clock(0.0, 0.04)
SECONDS = CLOCK.step * np.arange(FRAMES)


@given(SEEDS, st.sampled_from(["wave", "clap"]), st.integers(1, 6))
def test_harmonics(seed: int, name: str, repetitions: int) -> None:
    generator = np.random.default_rng(seed)
    start, amplitude, wander = generator.uniform(0, 1), generator.uniform(0.7, 1.3), generator.random()
    own, late = generator.uniform(0.7, 1.3), generator.uniform(-0.1, 0.1)
    doing = segment(name, start, start + generator.uniform(2, 5), amplitude=amplitude, repetitions=repetitions)
    enter_end, exit_begin = stage_bounds(doing)
    cosines, sines = generator.uniform(-0.1, 0.1, (2, 4))
    cosines[1] = sines[1] = 0
    row = np.full(FRAMES, 0.5, np.float32)
    add_harmonics(row, cosines, sines, doing, own, late, wander, CLOCK, np.zeros_like(row))
    times, cycle = (doing.start, enter_end, exit_begin, doing.end), (exit_begin - enter_end) / repetitions
    expected = naive.add_harmonics(SECONDS, cosines, sines, own * amplitude, late, times, cycle, wander)
    # Errors of single precision grow with the size.
    np.testing.assert_allclose(row - 0.5, expected, atol=2e-6 * max(own * amplitude, 1.0))


@given(SEEDS)
def test_who_stands_or_sits_down_has_the_weight_on_the_foot_behind(seed: int) -> None:
    generator = np.random.default_rng(seed)
    someone = person(1.5 + 0.4 * generator.random(), seed)
    someone.widths[3] = generator.uniform(-0.1, 0.1)
    sitting = scripted(SegmentSpec("sit", 1.0, 7.0, repetitions=1), frames=FRAMES)
    work, doing = empty_workspace(FRAMES, 1), role(sitting, LIBRARY, (0.0, 0.0))
    work.root[rows.GAIT_WEIGHT] = np.linspace(0, 0.5, FRAMES)
    shift_weight(work, doing, someone, CLOCK)
    seat = doing.segments.view(np.recarray)[0]
    (begin, end), (enter_end, exit_begin) = (seat.start, seat.end), stage_bounds(seat)
    rises, falls = (SECONDS - begin) / (enter_end - begin), (end - SECONDS) / (end - exit_begin)
    seated = naive.smooth_step(rises) * naive.smooth_step(falls)
    standing = (1 - np.linspace(0, 0.5, FRAMES)) * (1 - seated)
    expected = naive.shift_weight(SECONDS, standing, someone.widths[3] / someone.stature, someone.draws[7])
    np.testing.assert_allclose(work.channels[CHANNELS.index("root_lateral")], expected, atol=1e-6)
    # The pelvis drops on the side of the free leg, and the trunk stays upright.
    for name in ("pelvis_obliquity", "trunk_lateral"):
        np.testing.assert_allclose(work.channels[CHANNELS.index(name)], -0.22 * expected, atol=1e-6)


def layered(below: Array, name: str) -> Array:
    work = empty_workspace(FRAMES, 1)
    work.channels[:] = below
    add_layer(work, segment(name, 1.0, 5.0, repetitions=4), ACTIONS, person(), CLOCK)
    return work.channels


def test_a_layer_changes_only_its_own_channels() -> None:
    below = np.random.default_rng(5).uniform(-0.1, 0.1, (len(CHANNELS), FRAMES)).astype(np.float32)
    after = layered(below, "wave")
    changed = {CHANNELS[c] for c in np.flatnonzero((after != below).any(1))}
    arm = {c for c in CHANNELS if c.startswith("left_") and ("shoulder" in c or "collar" in c or "elbow" in c)}
    body = {"trunk_lateral", "trunk_rotation", "root_height", "root_lateral"}
    assert changed == arm | {"neck_rotation"} | body
    outside = (SECONDS < 1) | (SECONDS >= 5)
    np.testing.assert_array_equal(after[:, outside], below[:, outside])


def test_a_layer_adds_its_harmonics_to_the_rest_of_the_body() -> None:
    below = np.random.default_rng(8).uniform(-0.1, 0.1, (len(CHANNELS), FRAMES)).astype(np.float32)
    still = np.zeros_like(below)
    # The pelvis of a wave moves by .0055 leg lengths, in a repetition of a larger size by up to a fifth more (here .0060).
    for channel, most in (("trunk_lateral", 2.0 / 360), ("trunk_rotation", 2.0 / 360), ("root_height", 0.0066)):
        c = CHANNELS.index(channel)
        added = layered(still, "wave")[c]
        assert most / 4 < abs(added).max() < most
        np.testing.assert_allclose(layered(below, "wave")[c] - below[c], added, atol=1e-7)


def test_a_layer_replaces_the_values_below_it() -> None:
    calm = np.zeros((len(CHANNELS), FRAMES), np.float32)
    wild = np.random.default_rng(6).uniform(-0.1, 0.1, calm.shape).astype(np.float32)
    owned = ACTIONS.owned[2 * LIBRARY.index("wave")] & ~HANDS
    enter_end, exit_begin = stage_bounds(segment("wave", 1.0, 5.0, repetitions=4))
    on = (enter_end <= SECONDS) & (exit_begin >= SECONDS)
    assert on.sum() > 50
    np.testing.assert_allclose(layered(calm, "wave")[owned][:, on], layered(wild, "wave")[owned][:, on], atol=1e-6)


@pytest.mark.parametrize("amplitude", [0.8, 1.2])
def test_a_layer_without_keys_holds_its_pose(amplitude: float) -> None:
    below = np.random.default_rng(7).uniform(-0.1, 0.1, (len(CHANNELS), FRAMES)).astype(np.float32)
    work = empty_workspace(FRAMES, 1)
    work.channels[:] = below
    pointing = segment("point", 1.0, 5.0, amplitude=amplitude)
    add_layer(work, pointing, ACTIONS, person(), CLOCK)
    a, times = pointing.kind, (pointing.start, *stage_bounds(pointing), pointing.end)
    pose = person().neutral + ACTIONS.pose[a] * (1 + 0.4 * (amplitude - 1))
    expected = naive.add_layer(below, SECONDS, pose, ACTIONS.owned[a], times)
    expected[HANDS] = below[HANDS]
    np.testing.assert_allclose(work.channels, expected, atol=2e-6)


NOD = {
    "parts": ["near_arm", "head"],
    "layered": True,
    "enter": 1.0,
    "exit": 1.0,
    "cycle": 1.0,
    "repetitions": [1, 3],
    "pose": {"neck_flexion": 9, "near_elbow_flexion": 36},
    "enter_keys": [{"at": 0.5, "pose": {"neck_flexion": -18}}],
    "cycle_keys": [{"at": 0.5, "pose": {"neck_flexion": 27}}],
    "exit_keys": [{"at": 0.5, "pose": {"neck_flexion": -9}}],
    "harmonics": {"near_elbow_flexion": {"sin": [18]}},
}


def test_a_layer_with_keys_follows_them_while_it_fades_in_and_out() -> None:
    made = library_tables(Library(entries={"nod": Action.model_validate(NOD)}, families={}, themes={}, words={}))
    doing = segment_of_kind(made, 0, 1.0, 5.0, repetitions=2)
    work = empty_workspace(FRAMES, 1)
    work.channels[:] = 0.25
    add_layer(work, doing, made, person(), CLOCK)
    neutral = person().neutral
    neck, elbow = (CHANNELS.index(name) for name in ("neck_flexion", "left_elbow_flexion"))
    at = {t: work.channels[neck, round(t / 0.04)] - 0.25 for t in (1.0, 1.2, 1.52, 2.0, 3.0, 4.0, 4.52, 4.96)}
    half = float(smooth_step(0.52))
    # The layer fades in to its first key, not to the pose, so that it does not reverse.
    early = float(smooth_step(0.2)) * (neutral[neck] - 18 * DEGREE - 0.25)
    assert at[1.2] == pytest.approx(early, abs=1e-6)
    assert at[1.52] == pytest.approx(half * (neutral[neck] - 18 * DEGREE - 0.25), abs=1e-4)
    assert at[2.0] == at[4.0] == pytest.approx(neutral[neck] + 9 * DEGREE - 0.25, abs=1e-6)
    assert at[3.0] == pytest.approx(neutral[neck] + 9 * DEGREE - 0.25, abs=5 * DEGREE)  # near the boundary of two cycles
    assert at[4.52] == pytest.approx((1 - half) * (neutral[neck] - 9 * DEGREE - 0.25), abs=1e-4)
    nods = work.channels[neck, 50:101]
    assert nods.max() == pytest.approx(neutral[neck] + 27 * DEGREE, abs=2.2 * DEGREE)  # repetitions differ
    swing = work.channels[elbow, 50:101] - neutral[elbow] - 36 * DEGREE
    assert swing.max() == pytest.approx(18 * DEGREE, rel=0.13)
    assert swing.min() == pytest.approx(-18 * DEGREE, rel=0.13)


def tracked(name: str, amplitude: float, repetitions: int) -> Array:
    work: Workspace = empty_workspace(FRAMES, 1)
    doing = segment(name, 1.0, 6.0, amplitude=amplitude, repetitions=repetitions)
    add_track(work, doing, ACTIONS, person(stature=1.7), 1.0, CLOCK)
    return work.channels


@pytest.mark.parametrize("name", [name for name in LIBRARY.actions if LIBRARY.action(name).support != "gait"])
def test_key_poses_start_from_and_return_to_standing(name: str) -> None:
    channels = tracked(name, 1.0, 2 if LIBRARY.action(name).repetitions else 0)
    assert (channels[:, (SECONDS < 1) | (SECONDS >= 6)] == 0).all()
    assert np.abs(channels[:, np.argmax(SECONDS >= 5.95)]).max() < 2 * DEGREE
    moved = np.abs(channels).max(1) > 0
    used = ACTIONS.used[2 * LIBRARY.index(name)]
    assert not (moved & ~used).any()


def test_amplitude_scales_the_movement() -> None:
    small, large = (tracked("squat", amplitude, 2)[CHANNELS.index("root_height")].min() for amplitude in (0.8, 1.2))
    # Root and feet are scaled by half of the amplitude, because legs have a fixed length: at the full amplitude the deepest
    # squat would fold the knees beyond their range (pelvis and ankle nearer than .2 leg lengths).
    assert large / small == pytest.approx(1.1 / 0.9, abs=0.02)
    deep, largest = max(-key.pose.get("root_height", 0) for key in LIBRARY.action("squat").cycle_keys), 1.2 * 1.07
    most = LIBRARY.action("squat").ranges["knee_flexion"].max
    full, half = (2 * np.degrees(np.arccos(1 - deep * size)) for size in (largest, 1 + 0.5 * (largest - 1)))
    assert half < most < full
