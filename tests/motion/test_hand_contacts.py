"""Hands reach mouth, brow, face and the other hand, on every body."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from posegen.evaluation.plausibility import body_overlap
from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT, Scenes
from posegen.foundations.skeleton import AVERAGE, CONTACTS, JOINTS
from posegen.library.schema import Action
from posegen.motion.arms import HEAD_ABOVE
from tests.motion.acted import acted, rotations_of, shown
from tests.motion.scripted import ARM, LIBRARY, SegmentSpec, animated, between_standing, person_of, scripted, set_shape

BODIES = ((1.5, 0.93, 1.06), (1.7, 1.0, 1.0), (1.95, 1.06, 0.95))
"""Stature in metres; length of the arms and breadth of the shoulders, relative to the average of that stature."""
HAND = 0.108
"""Length of a hand, as a fraction of stature (Drillis and Contini)."""
POINTS = {"mouth": (0.0, -0.040, 0.060), "brow": (0.03, 0.012, 0.058), "face": (0.0, -0.015, 0.060)}
"""Outward, up and forward of the head's joint of the anatomical skeleton, as fractions of stature."""
HEAD_HIGHER = HEAD_ABOVE - float((AVERAGE[12] + AVERAGE[15] - AVERAGE[13] - AVERAGE[16])[1])
"""By how much that joint is higher above the shoulders than on the average body, where it lies at the base of the skull."""
FPS, START = 25, 1.0


class Touch(NamedTuple):
    """A wrist near a point of the head, at a fraction of the cycle (or of the held pose)."""

    action: str
    hand: str
    point: str
    at: float


TOUCHES = (
    Touch("drinking", "near", "mouth", 0.49),
    Touch("eating", "near", "mouth", 0.50),
    Touch("shout", "near", "mouth", 0.5),
    Touch("shout", "far", "mouth", 0.5),
    Touch("whisper", "near", "mouth", 0.5),
    Touch("sing", "near", "mouth", 0.3),
    Touch("sing", "near", "mouth", 0.8),
    Touch("salute", "near", "brow", 0.5),
    Touch("cry", "near", "face", 0.5),
    Touch("cry", "far", "face", 0.5),
)


def repetitions(action: Action) -> int:
    return action.repetitions[0] if action.repetitions else 0


def seconds(action: Action) -> float:
    held = repetitions(action) * action.cycle if action.repetitions else 2.0
    return action.enter + held + action.exit


@cache
def scene(name: str, side: int, body: tuple[float, float, float], amplitude: float = 1.0) -> Scenes:
    """The action once, standing."""
    action = LIBRARY.action(name)
    end = START + seconds(action)
    doing = SegmentSpec(
        name, START, end, side=side, repetitions=repetitions(action), layered=action.layered, amplitude=amplitude
    )
    made = scripted(*between_standing(doing), frames=round((end + 0.5) * FPS), stature=body[0])
    set_shape(made.persons, arms=body[1], shoulders=body[2])
    return made


def frame_of(action: Action, share: float) -> int:
    """Frame at a fraction of the first cycle, or of the time between the stages."""
    length = action.cycle if action.repetitions else seconds(action) - action.enter - action.exit
    return round((START + action.enter + share * length) * FPS)


@pytest.mark.parametrize("touch", TOUCHES, ids=lambda t: f"{t.action} {t.hand} {t.at}")
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_a_hand_is_at_its_point_of_the_head(touch: Touch, body: tuple[float, float, float], side: int) -> None:
    action = LIBRARY.action(touch.action)
    work = acted(scene(touch.action, side, body), LIBRARY, person_of(scene(touch.action, side, body)))
    number = side if touch.hand == "near" else 1 - side
    name, sign = (("left", 1), ("right", -1))[number]
    frame = frame_of(action, touch.at)
    point = np.add(POINTS[touch.point], (0, HEAD_HIGHER, 0)) * [sign, 1, 1] * body[0]
    place = shown(work, "head")[frame] + rotations_of(work, frame)["head"] @ point
    apart = np.sqrt(((shown(work, f"{name}_wrist")[frame] - place) ** 2).sum())
    # The wrist is behind the touching part: by half a hand for a cup or the palm, by a whole hand for the fingers.
    assert 0.045 * body[0] < apart < (HAND if touch.point == "brow" else 0.095) * body[0]


def wrists_apart(name: str, body: tuple[float, float, float], amplitude: float = 1.0) -> Array:
    made = scene(name, LEFT, body, amplitude)
    motion = animated(made, int(made.length[0]), FPS)
    left, right = motion.joints[0, 0, :, 20].astype(np.float64), motion.joints[0, 0, :, 21].astype(np.float64)
    return np.asarray(np.sqrt(((left - right) ** 2).sum(-1)))


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("amplitude", [0.8, 1.2])
def test_clapping_hands_meet_each_time(body: tuple[float, float, float], amplitude: float) -> None:
    apart = wrists_apart("clap", body, amplitude) / body[0]
    action = LIBRARY.action("clap")
    beats = START + action.enter + action.cycle * np.arange(repetitions(action) + 1)
    for begin, end in pairwise(beats):
        beat = apart[round(begin * FPS) : round(end * FPS)]
        # Palms touch while the wrists are some 8 cm apart.
        assert 0.035 < beat.min() < 0.065
        assert beat.max() > 0.12


@pytest.mark.parametrize("body", BODIES)
def test_hugging_arms_close(body: tuple[float, float, float]) -> None:
    apart = wrists_apart("hug", body) / body[0]
    assert apart[frame_of(LIBRARY.action("hug"), 0.5)] < 0.06
    assert apart.max() > 0.35  # and open before


@pytest.mark.parametrize("body", BODIES)
def test_hands_that_stretch_overhead_are_together(body: tuple[float, float, float]) -> None:
    apart = wrists_apart("stretch", body) / body[0]
    action = LIBRARY.action("stretch")
    assert (apart[frame_of(action, 0.0) : frame_of(action, 1.0)] < 0.07).all()


OF_THE_ARMS = [name for family in ("gestures", "expressions", "everyday") for name in LIBRARY.families[family]]


@pytest.mark.parametrize("name", OF_THE_ARMS)
@pytest.mark.parametrize("body", BODIES)
def test_arms_do_not_intersect_bodies_and_elbows_keep_their_range(name: str, body: tuple[float, float, float]) -> None:
    made = scene(name, RIGHT, body, 1.15)
    joints = animated(made, int(made.length[0]), FPS).joints[0, 0].astype(np.float64)
    assert body_overlap(joints).max() < 0.02
    for shoulder, elbow, wrist in ((16, 18, 20), (17, 19, 21)):
        upper, fore = joints[:, elbow] - joints[:, shoulder], joints[:, wrist] - joints[:, elbow]
        cosine = (upper * fore).sum(-1) / np.sqrt((upper**2).sum(-1) * (fore**2).sum(-1))
        assert np.degrees(np.arccos(cosine)).max() < 150.5


@pytest.mark.parametrize("name", LIBRARY.actions)
def test_actions_without_a_side_are_symmetric(name: str) -> None:
    """An action without a side must be its own mirror image, because its mirrored scene is the scene itself.

    A gait has a side at any rate, that of the foot that leads.
    """
    action = LIBRARY.action(name)
    moved = [*action.pose, *action.harmonics]
    moved += [channel for key in (*action.enter_keys, *action.cycle_keys, *action.exit_keys) for channel in key.pose]
    one_sided = {c for c in moved if c.startswith(("near_", "far_")) or c.endswith(("lateral", "_rotation", "obliquity"))}
    one_sided -= {c for c in moved if c.startswith("both_")}
    assert action.sided or action.gait or not one_sided


@pytest.mark.parametrize("body", BODIES)
def test_clapping_hands_are_labelled_as_touching(body: tuple[float, float, float]) -> None:
    action, scenes = LIBRARY.action("clap"), scene("clap", RIGHT, body)
    motion = animated(scenes, int(scenes.length[0]), FPS)
    joints = motion.joints[0, 0].astype(np.float64)
    apart = np.linalg.norm(joints[:, JOINTS.index("left_wrist")] - joints[:, JOINTS.index("right_wrist")], axis=-1)
    hands = motion.contact[0, 0][:, [CONTACTS.index(f"{side}_hand") for side in ("left", "right")]] == 1
    np.testing.assert_array_equal(hands[:, 0], hands[:, 1])
    # Two palms, and opening fingers, are between the wrists of touching palms.
    assert apart[hands[:, 0]].max() < 0.065 * body[0]
    assert apart[~hands[:, 0]].min() > 0.15 * ARM * body[0]
    claps = (np.diff(hands[:, 0].astype(int)) == 1).sum()
    assert claps == repetitions(action)


@pytest.mark.parametrize("stairs", ["stairs_up", "stairs_down"])
def test_behind_stairs_the_hand_target_is_on_the_raised_floor(stairs: str) -> None:
    lowest = {}
    for before, speed in (("walk", 1.0), (stairs, 0.5)):
        pick = LIBRARY.action("pick_up")
        end = 6 + pick.enter + pick.cycle + pick.exit
        picking = SegmentSpec("pick_up", 6, end, side=RIGHT, repetitions=1)
        segments = between_standing(SegmentSpec(before, 1, 5, speed=speed), SegmentSpec("stand", 5, 6), picking)
        motion = animated(scripted(*segments, frames=round(end * FPS)), round(end * FPS), FPS)
        joints = motion.joints[0, 0].astype(np.float64)[6 * FPS :]
        floor = joints[0, JOINTS.index("left_ankle"), 1]
        lowest[before] = joints[:, JOINTS.index("right_wrist"), 1].min() - floor
    assert lowest[stairs] == pytest.approx(lowest["walk"], abs=0.01)
