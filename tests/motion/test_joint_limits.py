"""Joint ranges, overlap of limbs and floor: new samples, and each action with several bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from posegen.checks.ranges import TOLERANCE
from posegen.config.load import load_config
from posegen.config.schema import CONTENT_VERSION
from posegen.evaluation.body import frame_ranges, frames_last, joint_angles, range_excess
from posegen.evaluation.plausibility import body_overlap, depth_of
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets
from posegen.foundations.constants import GRID
from posegen.foundations.scene import LEFT, RIGHT
from posegen.foundations.skeleton import JOINT_LIMITS, JOINTS, PARTS, sole_points
from posegen.library.channels import CHANNELS
from posegen.motion.channels import BEYOND, SOFT, ease_range
from posegen.motion.engine import animate
from posegen.motion.library_tables import LIMITED, library_tables
from posegen.synthesis.synthesize import synthesize
from posegen.viewing.gallery import demonstration
from tests.motion.scripted import LIBRARY, set_shape

FPS = 25
DEEP, SUNK = 0.02, 0.005
FRESH, AT_ONCE, FRESH_SEED = 120, 40, 1000 + CONTENT_VERSION
BODIES = {
    "a child": (1.1, 0.94, 1.05, 1.03, 0.9),
    "long arms": (1.65, 0.95, 1.05, 1.08, 1.15),
    "long legs": (1.95, 1.05, 0.96, 0.95, 1.1),
}
"""Stature in metres, factors on legs, arms and hips, and the amplitude of the action."""


def wrongs(joints: Array, labels: Array) -> Iterator[str]:
    """Faults of a clip [frame, 22, 3] with the action labels [frame, part]."""
    return beyond(joint_angles(joints), body_overlap(joints), joints, labels)


def beyond(angles: dict[str, Array], overlap: Array, joints: Array, labels: Array) -> Iterator[str]:
    """Faults of a clip with given angles and overlap."""
    doing = [LIBRARY.actions[number] for number in labels[:, PARTS.index("legs")]]
    for name, values in range_excess(angles, frame_ranges(LIBRARY, LIBRARY.actions, labels, FPS)).items():
        excess = np.nan_to_num(values)
        if excess.max() > TOLERANCE:
            yield f"{name} {excess.max():.0f} degrees beyond its range in {doing[int(excess.argmax())]}"
    if overlap.max() > DEEP:
        yield f"limbs {100 * overlap.max():.1f} cm in one another in {doing[int(overlap.argmax())]}"
    depth = max(depth_of(frames_last(joints)), depth_of(frames_last(sole_points(joints))))
    if depth > SUNK:
        yield f"{100 * depth:.1f} cm under the floor in {', '.join(dict.fromkeys(doing))}"


def test_channels_are_eased_into_their_ranges() -> None:
    low, high = -0.1, 0.2
    before = np.linspace(-0.4, 0.5, 500, dtype=np.float32)
    row = before.copy()
    ease_range(row, low, high)
    free = (before > SOFT * low) & (before < SOFT * high)
    np.testing.assert_array_equal(row[free], before[free])
    assert low - BEYOND < row.min() < low
    assert high < row.max() < high + BEYOND
    steps = np.diff(row)
    assert (steps > 0).all()
    assert np.abs(np.diff(steps)).max() < 0.2 * steps.max()  # without a corner where it begins to give way


def test_channels_are_limited_by_their_joints() -> None:
    names = [CHANNELS[c].removeprefix("left_").removeprefix("right_") for c in LIMITED]
    usual = np.array([JOINT_LIMITS[name] for name in names]) / 360
    limits = library_tables(LIBRARY).limits
    # Actions of the library widen ranges of ankles alone.
    np.testing.assert_array_equal(limits, np.broadcast_to(usual, limits.shape))


def test_the_pelvis_gives_way_to_hips_that_flex_too_far() -> None:
    scenes = demonstration(LIBRARY, "sit_on_floor")
    # Short thighs over long shanks: without the pelvis, the hips would flex by 146 degrees.
    set_shape(scenes.persons, thigh=0.95, shank=1.05)
    joints = animate(scenes, LIBRARY, int(scenes.length[0]), FPS).joints[0, 0].astype(np.float64)
    angles = joint_angles(joints)
    assert 130 < max(angles[f"{side}_hip_flexion"].max() for side in ("left", "right")) < 136.5
    offsets = body_offsets(scenes.persons)[0, 0].astype(np.float64)
    for name in ("left_hip", "right_hip", "spine1"):
        bones = np.sqrt(((joints[:, JOINTS.index(name)] - joints[:, 0]) ** 2).sum(-1))
        np.testing.assert_allclose(bones, np.sqrt((offsets[JOINTS.index(name)] ** 2).sum()), atol=2 * GRID)


def test_new_samples_stay_within_limits() -> None:
    # Each content version has new samples, for which nothing was tuned.
    config = load_config("default", [f"seed={FRESH_SEED}", "variants={position: null, mirror: false}"])
    found: dict[int, list[str]] = {}
    for first in range(0, FRESH, AT_ONCE):
        batch = synthesize(config, range(first, first + AT_ONCE))
        assert batch.joints.shape[:2] == (AT_ONCE, 3)
        joints = batch.joints.astype(np.float64)
        angles, overlaps = joint_angles(joints), body_overlap(joints)
        for clip in np.ndindex(joints.shape[:3]):
            there = ~np.isnan(joints[clip][:, 0, 0])
            if there.any():
                seen = {name: values[clip][there] for name, values in angles.items()}
                wrong = list(beyond(seen, overlaps[clip][there], joints[clip][there], batch.action[clip][there]))
                if wrong:
                    found.setdefault(first + clip[0], []).extend(wrong)
    assert not found, found


@pytest.mark.parametrize("body", list(BODIES))
def test_each_action_stays_within_limits(body: str) -> None:
    found = []
    for name in LIBRARY.actions:
        scenes = demonstration(LIBRARY, name)
        people = scenes.persons
        people.stature[:], legs, arms, hips, scenes.amplitude[:] = BODIES[body]
        set_shape(people, legs=legs, arms=arms, hips=hips)
        # Short legs are slower, as in planned scenes.
        scenes.speed[:] *= np.sqrt(BODIES[body][0] * BODIES[body][1] / 1.7)
        scenes.side[scenes.side == RIGHT] = LEFT if body == "long arms" else RIGHT
        motion = animate(replace(scenes, persons=people), LIBRARY, int(scenes.length[0]), FPS)
        found += [f"{name}: {wrong}" for wrong in wrongs(motion.joints[0, 0].astype(np.float64), motion.action[0, 0])]
    assert not found, "\n".join(found)


def test_faults_are_detected() -> None:
    scenes = demonstration(LIBRARY, "stand")
    motion = animate(scenes, LIBRARY, int(scenes.length[0]), FPS)
    joints, labels = motion.joints[0, 0].astype(np.float64), motion.action[0, 0]
    assert list(wrongs(joints, labels)) == []
    pelvis, thigh = (joints[:, JOINTS.index(name)] for name in ("pelvis", "left_knee"))
    inside = joints.copy()
    inside[:, JOINTS.index("left_elbow")] = pelvis + np.array([0.2, 0.1, 0.0])
    inside[:, JOINTS.index("left_wrist")] = 0.5 * (pelvis + thigh) + np.array([0.04, 0.0, 0.0])
    assert any("in one another in stand" in wrong for wrong in wrongs(inside, labels))
    folded = joints.copy()
    folded[5, JOINTS.index("left_wrist")] = folded[5, JOINTS.index("left_shoulder")]
    assert any("left_elbow_flexion" in wrong for wrong in wrongs(folded, labels))
    assert any("3.0 cm under the floor" in wrong for wrong in wrongs(joints - np.array([0, 0.03, 0]), labels))
