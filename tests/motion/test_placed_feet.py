"""Feet that actions place themselves: lifts, landings and swings."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT
from posegen.foundations.skeleton import CONTACTS, JOINTS, MIRROR_JOINTS
from posegen.motion.scene_arrays import segment_records
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, between_standing, scripted

FPS = 25


def clip(action: str, side: int, repetitions: int, seconds: float) -> tuple[Array, Array]:
    """Joints and contacts of an action between two segments of standing."""
    frames = round((seconds + 2) * FPS)
    doing = SegmentSpec(action, 1.0, 1.0 + seconds, side=side, repetitions=repetitions, speed=speed_of(action))
    scenes = scripted(*between_standing(doing), frames=frames)
    motion = animated(scenes, frames, FPS)
    return motion.joints[0, 0], motion.contact[0, 0]


def speed_of(action: str) -> float:
    speeds = LIBRARY.action(action).speed
    return 0.5 * sum(speeds) if speeds else 0.0


def performed_travels(action: str) -> bool:
    """Whether the strategy that :func:`clip` shows travels without a gait."""
    scenes = scripted(SegmentSpec("stand", -2.0, 1.0), SegmentSpec(action, 1.0, 4.0), frames=100)
    shown = segment_records(scenes, LIBRARY)[0, 0, 1]
    return bool(shown["last_travel"] > shown["first_travel"])


def beside_body(joints: Array) -> Array:
    """Ankles to the left of the pelvis and ahead of it, [frames, 2 ankles, 2]."""
    left = (joints[:, JOINTS.index("left_hip")] - joints[:, JOINTS.index("right_hip")])[:, None, [0, 2]]
    left = left / np.linalg.norm(left, axis=-1, keepdims=True)
    ahead = np.stack([-left[..., 1], left[..., 0]], axis=-1)
    ankles = (joints[:, [JOINTS.index("left_ankle"), JOINTS.index("right_ankle")]] - joints[:, :1])[..., [0, 2]]
    return np.stack([(ankles * left).sum(-1), (ankles * ahead).sum(-1)], axis=-1)


GUIDED_ACTIONS = sorted(name for name in LIBRARY.actions if LIBRARY.action(name).lifts)


@pytest.mark.parametrize("action", GUIDED_ACTIONS)
def test_actions_with_lifts_return_to_standing(action: str) -> None:
    entry = LIBRARY.action(action)
    repetitions = entry.repetitions[0] if entry.repetitions else 0
    seconds = entry.enter + entry.exit + (repetitions * entry.cycle if repetitions else 3.0)
    sides = (LEFT, RIGHT) if entry.sided else (LEFT,)
    clips = [clip(action, side, repetitions, seconds) for side in sides]
    for joints, contact in clips:
        feet = joints[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")]]
        planted = contact[:, [1, 3]] == 1
        # Touching feet do not move, and no foot is below the floor.
        still = planted[1:] & planted[:-1]
        moved = np.linalg.norm(np.diff(feet, axis=0)[..., ::2], axis=-1)
        assert moved[still].max() < 0.012
        assert feet[..., 1].min() > -0.01
        bones = np.linalg.norm(joints[:, JOINTS.index("left_knee")] - joints[:, JOINTS.index("left_ankle")], axis=-1)
        assert bones == pytest.approx(bones[0], abs=1e-3)
        assert planted[-1].all()
        # A body that turned on the way stands as before it.
        assert beside_body(joints)[-1] == pytest.approx(beside_body(joints)[0], abs=0.03)
        gone = joints[-1, 0] - joints[0, 0]
        assert abs(gone[1]) < 0.01
        if not performed_travels(action):
            assert abs(gone[0]) < 0.03
            assert gone[2] == pytest.approx(0.0, abs=0.03) if not entry.speed else gone[2] > 0.3
    if len(clips) == 2:
        mirrored = clips[1][0][:, MIRROR_JOINTS] * np.array([-1.0, 1.0, 1.0])
        assert np.abs(clips[0][0][:, 0, 1] - mirrored[:, 0, 1]).max() < 0.02


@pytest.mark.parametrize("stature", [1.25, 1.7, 1.95])
def test_knees_that_touch_are_at_the_floor(stature: float) -> None:
    # Shorter legs are slower, as in planned scenes.
    pace = float(np.sqrt(stature / 1.7))
    for action, repetitions, seconds in (("kneel", 0, 6.0), ("crawling", 3, 8.65)):
        frames = round((seconds + 2) * FPS)
        doing = SegmentSpec(action, 1.0, 1.0 + seconds, side=LEFT, repetitions=repetitions, speed=pace * speed_of(action))
        motion = animated(scripted(*between_standing(doing), frames=frames, stature=stature), frames, FPS)
        for side in ("left", "right"):
            touching = motion.contact[0, 0, :, CONTACTS.index(f"{side}_knee")] == 1
            height = motion.joints[0, 0, touching, JOINTS.index(f"{side}_knee"), 1]
            assert touching.any()
            assert height.min() > 0.0
            assert height.max() < 0.075 * stature
