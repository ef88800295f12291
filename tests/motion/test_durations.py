"""Durations of everyday movements, against published times."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.evaluation.body import centre_of_mass
from posegen.foundations.arrays import Array
from posegen.foundations.scene import RIGHT
from posegen.foundations.skeleton import CONTACTS, JOINTS
from posegen.motion.scene_arrays import OVERLAP_SECONDS
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, between_standing, scripted

FPS = 100
BEFORE = 1.0


def once(action: str, amplitude: float = 1.0) -> tuple[Array, Array, float, float]:
    """Joints and contacts of an action performed once, and the seconds at which it begins and ends."""
    known = LIBRARY.action(action)
    end = BEFORE + (known.enter + known.cycle + known.exit if known.repetitions else 6.0)
    doing = SegmentSpec(action, BEFORE, end, side=RIGHT, repetitions=1 if known.repetitions else 0, amplitude=amplitude)
    frames = round((end + 1) * FPS)
    motion = animated(scripted(*between_standing(doing), frames=frames, seat=0.44), frames, FPS)
    return motion.joints[0, 0].astype(np.float64), motion.contact[0, 0], BEFORE, end


@pytest.mark.parametrize("amplitude", [0.85, 1.0, 1.15])
def test_a_jump_goes_down_slowly_and_up_fast(amplitude: float) -> None:
    joints, contact, begin, _ = once("jump", amplitude)
    height = centre_of_mass(joints)[:, 1]
    (air,) = np.nonzero((contact[:, :4] == 0).all(-1))
    lowest = int(height[: air[0]].argmin())
    first = round(begin * FPS)
    begun = first + int(np.flatnonzero(height[first] - height[first:] > 0.002)[0])
    assert 0.376 < (lowest - begun) / FPS < 0.625  # 484 ms
    assert 0.193 < (air[0] - lowest) / FPS < 0.379  # 265 ms
    assert 0.20 < height[0] - height[lowest] < 0.57  # trained jumpers go down by 25 to 57 cm
    seconds = len(air) / FPS
    assert 0.17 < 9.81 * seconds**2 / 8 < 0.35  # untrained people jump 25 to 35 cm, less when they jump small
    landing = height[air[-1] : air[-1] + FPS]
    assert landing.argmin() / FPS > 0.15  # the legs give way


def test_getting_up_leans_forward_before_it_leaves_the_seat() -> None:
    joints, contact, _, end = once("sit")
    begin = end - LIBRARY.action("sit").exit
    assert 1.7 <= end - begin <= 2.3
    off = np.flatnonzero(contact[:, CONTACTS.index("seat")] == 1)[-1] / FPS
    assert 0.29 < (off - begin) / (end - begin) < 0.36
    trunk = joints[:, JOINTS.index("neck")] - joints[:, 0]
    lean = np.degrees(np.arccos(trunk[:, 1] / np.sqrt((trunk**2).sum(-1))))[round(begin * FPS) :]
    assert lean[0] < 15
    assert 59 - 18 < lean.max() < 59 + 18
    assert abs(lean.argmax() / FPS - (off - begin)) < 0.25  # the most where the seat is left


@pytest.mark.parametrize("amplitude", [0.85, 1.15])
def test_a_hand_reaches_in_one_smooth_movement(amplitude: float) -> None:
    joints, _, begin, _ = once("reach", amplitude)
    known = LIBRARY.action("reach")
    wrist = joints[:, JOINTS.index("right_wrist")]
    raised = next(key.at for key in known.cycle_keys if "near_shoulder_flexion" in key.pose)
    there = round((begin + known.enter + raised * known.cycle) * FPS)
    speed = np.sqrt((np.diff(wrist[:there], axis=0) ** 2).sum(-1)) * FPS
    # The hand begins to move while the segment before it ends.
    first = int(np.flatnonzero(speed[: speed.argmax()] < 0.02 * speed.max())[-1]) + 1
    assert round((begin - OVERLAP_SECONDS) * FPS) - 2 < first < round((begin + known.enter) * FPS)
    speed = speed[first:]
    # The arm turns about the shoulder by minimum jerk: the peak speed is 1.875 times the mean, at half of the time.
    assert speed.max() / speed.mean() == pytest.approx(1.875, rel=0.1)  # an elbow that hangs straight bends on the way
    assert abs(speed.argmax() / len(speed) - 0.5) < 0.1
    assert wrist[there, 1] > joints[there, JOINTS.index("right_shoulder"), 1] + 0.1


def test_the_height_of_a_reach_varies() -> None:
    low, high = (once("reach", amplitude)[0][:, JOINTS.index("right_wrist"), 1].max() for amplitude in (0.85, 1.15))
    assert high - low > 0.1
