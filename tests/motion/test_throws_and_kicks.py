"""Throws, swings, kicks and blows: how fast each part of the body gets, and that the nearer part is there first.

The published speeds are those of trained adults. Ordinary people reach some half of them upwards, so each peak of an average
adult who moves neither large nor small must lie between half of the least published figure and the largest one.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from posegen.foundations.arrays import Array
from posegen.foundations.scene import RIGHT
from posegen.foundations.skeleton import JOINTS
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, between_standing, scripted

FPS = 250
BEFORE = 1.0
STATURE = 1.75


class Peak(NamedTuple):
    """The largest value of a course, and when it is reached, in seconds."""

    value: float
    at: float


@cache
def seen(action: str) -> Array:
    """Joints of the action performed once with the right side, from its first frame to the last of its cycle."""
    known = LIBRARY.action(action)
    end = BEFORE + known.enter + known.cycle + known.exit
    segments = between_standing(SegmentSpec(action, BEFORE, end, side=RIGHT, repetitions=1))
    frames = round((end + 0.5) * FPS)
    joints = animated(scripted(*segments, frames=frames, stature=STATURE), frames, FPS).joints[0, 0].astype(np.float64)
    return joints[round((BEFORE + known.enter) * FPS) : round((end - known.exit) * FPS)]


def place(action: str, joint: str) -> Array:
    return seen(action)[:, JOINTS.index(joint)]


def rate(course: Array) -> Array:
    """Change per second of each column over five frames, because positions are on a grid."""
    return np.asarray((course[4:] - course[:-4]) * (FPS / 4))


def peak(course: Array, until: float = np.inf) -> Peak:
    frame = int(course[: None if np.isinf(until) else int(until * FPS)].argmax())
    return Peak(float(course[frame]), (frame + 2) / FPS)


def speed(action: str, joint: str, until: float = np.inf) -> Peak:
    """Peak speed of a joint, m/s."""
    return peak(np.sqrt((rate(place(action, joint)) ** 2).sum(-1)), until)


def turning(action: str, joint: str) -> Peak:
    """Peak rate, degrees a second, at which the line between both joints of a name turns about the vertical."""
    line = place(action, f"left_{joint}") - place(action, f"right_{joint}")
    return peak(np.abs(rate(np.degrees(np.unwrap(np.arctan2(-line[:, 2], line[:, 0]))))))


def bone(action: str, upper: str, lower: str, until: float = np.inf) -> Peak:
    """Peak rate, degrees a second, at which a bone turns in space."""
    line = place(action, lower) - place(action, upper)
    line /= np.sqrt((line**2).sum(-1, keepdims=True))
    return peak(np.degrees(np.sqrt((rate(line) ** 2).sum(-1))), until)


def extension(action: str, upper: str, middle: str, lower: str) -> Peak:
    """Peak rate, degrees a second, at which a limb straightens."""
    above, below = place(action, middle) - place(action, upper), place(action, lower) - place(action, middle)
    cosine = (above * below).sum(-1) / np.sqrt((above**2).sum(-1) * (below**2).sum(-1))
    return peak(-rate(np.degrees(np.arccos(np.clip(cosine, -1, 1)))))


ARM = ("right_shoulder", "right_elbow", "right_wrist")


@pytest.mark.parametrize("action", ["pitching", "throwing"])
def test_a_throw_proceeds_from_the_pelvis_to_the_hand(action: str) -> None:
    pelvis, torso, elbow, wrist = (
        turning(action, "hip"),
        turning(action, "shoulder"),
        extension(action, *ARM),
        speed(action, "right_wrist"),
    )
    assert 596 / 2 < pelvis.value < 906
    assert 947 / 2 < torso.value < 1216
    assert 2200 / 2 < elbow.value < 2950
    assert 0.006 <= torso.at - pelvis.at <= 0.061
    assert torso.at <= elbow.at
    assert pelvis.at < torso.at <= wrist.at


def test_the_stride_of_a_pitch() -> None:
    # .79 to .90 of stature among trained people; a sixth less for untrained people, with SMPL's legs, which are .46 of stature.
    left, right = place("pitching", "left_ankle"), place("pitching", "right_ankle")
    assert 0.65 < (left - right)[:, 2].max() / STATURE < 0.90


def test_the_swing_of_a_bat() -> None:
    pelvis, torso = turning("batting", "hip"), turning("batting", "shoulder")
    arm = bone("batting", "right_shoulder", "right_elbow")
    hand = speed("batting", "right_wrist")
    assert 710 / 2 < pelvis.value < 800
    assert 775 / 2 < torso.value < 890
    assert 946 / 2 < arm.value < 1400
    assert pelvis.at < torso.at < hand.at


def test_a_ball_is_struck_by_thigh_then_shank_then_foot() -> None:
    foot = speed("kicking", "right_foot")
    assert 18 / 2 < foot.value < 22
    # The thigh still rises behind the ball; the foot is driven by its earlier movement.
    thigh, shank = (
        bone("kicking", upper, lower, until=foot.at)
        for upper, lower in (("right_hip", "right_knee"), ("right_knee", "right_ankle"))
    )
    knee = speed("kicking", "right_knee", until=foot.at)
    assert speed("kicking", "pelvis", until=foot.at).at < knee.at < foot.at
    assert thigh.at < shank.at <= foot.at
    assert thigh.value < shank.value
    # The stance foot is behind the ball and to its side, so that the kicking foot is beside it at its highest speed.
    beside = (place("kicking", "left_ankle") - place("kicking", "right_ankle"))[int(foot.at * FPS)]
    assert 0.1 < beside[0] < 0.45


def test_a_front_kick_snaps_out_from_the_knee() -> None:
    foot = speed("kick", "right_foot")
    knee = speed("kick", "right_knee", until=foot.at)
    assert foot.value > 6.0
    assert knee.at < foot.at
    assert bone("kick", "right_hip", "right_knee", until=foot.at).at < foot.at
    # As high as a belly: draws of 0 give the action as written in its smallest size, which its freedom lowers by 3 cm.
    assert place("kick", "right_ankle")[:, 1].max() > place("kick", "pelvis")[:, 1].mean() - 0.13


def test_a_punch_comes_from_the_hips() -> None:
    pelvis, torso, elbow = turning("punch", "hip"), turning("punch", "shoulder"), extension("punch", *ARM)
    fist = speed("punch", "right_wrist")
    # From a junior's lead straight less two standard deviations to a single maximal one of adults (9.3, deviation 2.1).
    assert 6.3 - 2 * 0.4 < fist.value < 9.3 + 2.1
    assert pelvis.at < torso.at < elbow.at
    assert torso.at < fist.at
