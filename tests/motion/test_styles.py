"""Styles, measured from the joints, against published values and the values of the library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posegen.evaluation.gait import Walk, measure_walk
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT, Scenes
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS, sole_points
from posegen.motion.engine import animate
from posegen.motion.library_tables import style_tables
from tests.motion.acted import acted, rotations_of
from tests.motion.scripted import LIBRARY, SegmentSpec, between_standing, person_of, scripted

FPS, SECONDS, SPEED = 50, 8, 1.2
STYLES = list(LIBRARY.styles)
NAMED = STYLES[1:]


def in_style(name: str, *segments: SegmentSpec, frames: int, **others: Any) -> Scenes:
    scenes = scripted(*segments, frames=frames, **others)
    scenes.persons.style[:] = STYLES.index(name)
    return scenes


def place(joints: Array, joint: str) -> Array:
    return joints[:, JOINTS.index(joint)].astype(np.float64)


class Gait:
    """A steady straight walk in a style, at 1.2 m/s times the factor of the style."""

    def __init__(self, name: str) -> None:
        speed = SPEED * LIBRARY.styles[name].speed
        scenes = in_style(name, SegmentSpec("walk", -3, 11, speed=speed), frames=SECONDS * FPS)
        motion = animate(scenes, LIBRARY, SECONDS * FPS, FPS)
        joints, contact = motion.joints[0, 0], motion.contact[0, 0]
        walk = measure_walk(Recording(name, "1", joints.astype(np.float64), FPS, contact, []))
        assert walk is not None
        self.walk: Walk = walk
        self.lean = self._pitch(joints, "pelvis", "neck").mean()
        self.head = self._pitch(joints, "neck", "head").mean()
        self.swing = np.ptp(self._pitch(joints, "left_wrist", "left_shoulder"))
        self.rise = np.ptp(place(joints, "pelvis")[:, 1])
        self.apart = np.abs(place(joints, "left_ankle") - place(joints, "right_ankle"))[:, 0].mean()
        touching = contact[:, :4] == 1
        slide = np.linalg.norm(np.diff(sole_points(joints.astype(np.float64))[..., [0, 2]], axis=0), axis=-1) * FPS
        self.slides = (slide[touching[1:] & touching[:-1]] > 0.2).mean()

    @staticmethod
    def _pitch(joints: Array, low: str, high: str) -> Array:
        """Degrees by which the line from one joint to the other leans forward."""
        way = place(joints, high) - place(joints, low)
        return np.asarray(np.degrees(np.arctan2(way[:, 2], way[:, 1])))


@pytest.fixture(scope="module")
def gaits() -> dict[str, Gait]:
    return {name: Gait(name) for name in STYLES}


def test_styles_keep_the_demanded_speed_and_stance_feet_stay(gaits: dict[str, Gait]) -> None:
    for name, gait in gaits.items():
        assert gait.walk.speed == pytest.approx(SPEED * LIBRARY.styles[name].speed, rel=0.02)
        assert gait.slides < 0.01
    assert 0.85 < gaits["old"].walk.speed < 1.1
    assert [gaits[name].walk.speed < 1.0 for name in ("tired", "careful", "sad")] == [True] * 3
    assert [gaits[name].walk.speed > 1.3 for name in ("energetic", "happy")] == [True] * 2


def test_cadence_is_the_published_law_times_the_style_factor(gaits: dict[str, Gait]) -> None:
    plain = gaits["neutral"].walk
    for name, gait in gaits.items():
        style = LIBRARY.styles[name]
        assert gait.walk.cadence / plain.cadence == pytest.approx(np.sqrt(style.speed) * style.cadence, rel=0.02)
        assert gait.walk.step / plain.step == pytest.approx(np.sqrt(style.speed) / style.cadence, rel=0.02)


def test_old_and_careful_styles_have_longer_wider_double_support(gaits: dict[str, Gait]) -> None:
    plain = gaits["neutral"]
    assert plain.walk.double_support is not None
    for name in ("old", "careful"):
        gait, style = gaits[name], LIBRARY.styles[name]
        assert gait.walk.double_support is not None
        assert gait.walk.double_support - plain.walk.double_support > 3.5
        assert gait.walk.stance_error == pytest.approx(100 * style.stance, abs=1.5)
        assert gait.apart - plain.apart == pytest.approx(style.width, abs=0.015)


def test_bent_and_sad_styles_change_the_posture(gaits: dict[str, Gait]) -> None:
    plain = gaits["neutral"]
    lean = {name: gait.lean - plain.lean for name, gait in gaits.items()}
    head = {name: gait.head - plain.head for name, gait in gaits.items()}
    for name in NAMED:
        posture = LIBRARY.styles[name].posture
        # The three spine joints turn by a third each; the head turns by the whole angle.
        assert 0.4 < lean[name] / posture["trunk_flexion"] < 0.8
        assert head[name] == pytest.approx(posture["trunk_flexion"] + posture["neck_flexion"], abs=1)
    assert lean["old"] > 8
    assert max(head, key=head.__getitem__) == "sad"
    assert lean["happy"] < 0


def test_arms_swing_and_bodies_bounce_by_style(gaits: dict[str, Gait]) -> None:
    swing = {name: gait.swing / gaits["neutral"].swing for name, gait in gaits.items()}
    rise = {name: gait.rise / gaits["neutral"].rise for name, gait in gaits.items()}
    for name in ("energetic", "happy"):
        assert 1.15 < swing[name] < 1.7
        assert 1.2 < rise[name] < 1.7
    for name in ("sad", "tired", "careful", "old"):
        assert 0.25 < swing[name] < 0.8
        assert 0.4 < rise[name] < 0.97
    assert swing["sad"] == min(swing.values())
    assert rise["sad"] == min(rise.values())
    assert gaits["sad"].walk.sway > 1.25 * gaits["neutral"].walk.sway


def test_the_neutral_style_adds_nothing() -> None:
    styles, neutral = style_tables(LIBRARY), STYLES.index("neutral")
    assert not styles.posture[neutral].any()
    assert styles.sway[neutral] == 1
    assert styles.steps[neutral].tolist() == [1, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("name", ["sad", "happy"])
def test_the_mirrored_walk_of_a_style_is_the_mirror_image(name: str) -> None:
    segments, other = (
        between_standing(SegmentSpec("walk", 0.5, 4, speed=1.0, turn=turn, side=side))
        for turn, side in ((40, LEFT), (-40, RIGHT))
    )
    scenes, swapped = (in_style(name, *some, frames=120) for some in (segments, other))
    # Without the draws of sway and habits, left and right are mirror images.
    one, two = (animate(some, LIBRARY, 120, 25).joints[0, 0].astype(np.float64) for some in (still(scenes), still(swapped)))
    image = two[:, list(MIRROR_JOINTS)] * [-1, 1, 1]
    np.testing.assert_allclose(image[:, 1:3], one[:, 1:3], atol=0.03)


def still(scenes: Scenes) -> Scenes:
    return replace(scenes, key=0 * scenes.key)


@pytest.mark.parametrize("name", ["tired", "old"])
def test_lying_removes_the_posture_of_the_style(name: str) -> None:
    segments = between_standing(SegmentSpec("lie_down", 0.5, 7))
    lying = [
        animate(in_style(style, *segments, frames=200), LIBRARY, 200, 25).joints[0, 0, 90:100].astype(np.float64)
        for style in ("neutral", name)
    ]
    for joint in ("neck", "head", "left_shoulder"):
        plain, styled = (place(joints, joint)[:, 1].mean() for joints in lying)
        assert styled == pytest.approx(plain, abs=0.02)


@pytest.mark.parametrize(("action", "speed"), [("walk", 1.3), ("run", 3.0), ("sprint", 6.0)])
def test_the_head_is_steadied(action: str, speed: float) -> None:
    scenes = scripted(SegmentSpec(action, -3, 9, speed=speed), frames=3 * FPS)
    someone = person_of(scenes)
    work = acted(scenes, LIBRARY, someone._replace(sway=np.zeros_like(someone.sway)), FPS)
    frames = range(0, 3 * FPS, 3)
    heads = np.array([rotations_of(work, frame)["head"] for frame in frames])
    chests = np.array([rotations_of(work, frame)["chest"] for frame in frames])
    yaw, chest_yaw = (np.unwrap(np.arctan2(r[:, 0, 2], r[:, 2, 2])) for r in (heads, chests))
    pitch, roll = np.arcsin(-heads[:, 1, 2]), np.arctan2(heads[:, 1, 0], heads[:, 1, 1])
    for angle in (yaw, pitch, roll):
        assert np.degrees(np.ptp(angle)) < 4.0  # within 2 degrees to either side
    assert np.ptp(chest_yaw) > 2 * np.ptp(yaw)
