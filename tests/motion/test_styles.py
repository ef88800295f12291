"""Styles, measured from the joints, against published values and the values of the library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.evaluation.gait import Walk, measure_walk
from posegen.evaluation.recording import Recording
from posegen.foundations.scene import LEFT, RIGHT, Scenes
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS, sole_points
from posegen.library.channels import CHANNELS
from posegen.motion.channels import HANGING, LEAN_ASIDE, LEAN_BACK, counter_lean, remove_style_posture
from posegen.motion.engine import animate
from posegen.motion.gait.curves import HARMONICS
from posegen.motion.gait.steps import (
    CADENCE,
    CLEARANCE,
    MORE_BOUNCE,
    MORE_SIDEWAYS,
    STANCE,
    STRIDE_PARAMETERS,
    WALK,
    WIDTH,
    add_bounce,
    step_in_style,
)
from posegen.motion.library_tables import library_tables, style_tables
from posegen.motion.rows import WORK2
from posegen.motion.scene_arrays import person_arrays
from posegen.motion.workspace import Clock, Person, Segment, empty_workspace
from tests.motion.acted import acted, rotations_of
from tests.motion.scripted import LIBRARY, SegmentSpec, scripted, segment

Array = NDArray[Any]

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
    segments = (
        SegmentSpec("stand", -2, 0.5),
        SegmentSpec("walk", 0.5, 4, speed=1.0, turn=40, side=LEFT),
        SegmentSpec("stand", 4, 9),
    )
    other = (
        SegmentSpec("stand", -2, 0.5),
        SegmentSpec("walk", 0.5, 4, speed=1.0, turn=-40, side=RIGHT),
        SegmentSpec("stand", 4, 9),
    )
    scenes, swapped = (in_style(name, *some, frames=120) for some in (segments, other))
    # Without the draws of sway and habits, left and right are mirror images.
    one, two = (animate(some, LIBRARY, 120, 25).joints[0, 0].astype(np.float64) for some in (still(scenes), still(swapped)))
    image = two[:, list(MIRROR_JOINTS)] * [-1, 1, 1]
    np.testing.assert_allclose(image[:, 1:3], one[:, 1:3], atol=0.03)


def still(scenes: Scenes) -> Scenes:
    return replace(scenes, draws=np.full_like(scenes.draws, 0.5))


@pytest.mark.parametrize("name", ["tired", "old"])
def test_lying_removes_the_posture_of_the_style(name: str) -> None:
    segments = (SegmentSpec("stand", -2, 0.5), SegmentSpec("lie_down", 0.5, 7), SegmentSpec("stand", 7, 12))
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
    cast = person_arrays(scenes, style_tables(LIBRARY))
    someone = Person(**{name: getattr(cast, name)[0, 0] for name in Person._fields})
    work = acted(scenes, LIBRARY, someone._replace(sway=np.zeros_like(someone.sway)), FPS)
    frames = range(0, 3 * FPS, 3)
    heads = np.array([rotations_of(work, frame)["head"] for frame in frames])
    chests = np.array([rotations_of(work, frame)["chest"] for frame in frames])
    yaw, chest_yaw = (np.unwrap(np.arctan2(r[:, 0, 2], r[:, 2, 2])) for r in (heads, chests))
    pitch, roll = np.arcsin(-heads[:, 1, 2]), np.arctan2(heads[:, 1, 0], heads[:, 1, 1])
    for angle in (yaw, pitch, roll):
        assert np.degrees(np.ptp(angle)) < 4.0  # within 2 degrees to either side
    assert np.ptp(chest_yaw) > 2 * np.ptp(yaw)


def test_stride_parameters_of_a_style() -> None:
    style = style_tables(LIBRARY).steps[STYLES.index("careful")]
    expected = LIBRARY.styles["careful"]
    manner = np.zeros(STRIDE_PARAMETERS)
    manner[CADENCE], manner[CLEARANCE], manner[WIDTH] = 1.2, 0.02, 0.01
    changed = manner.copy()
    step_in_style(changed, WALK, 1.0, style)
    assert changed[CADENCE] == pytest.approx(1.2 * expected.cadence)
    assert changed[CLEARANCE] == pytest.approx(0.02 + expected.clearance)
    assert changed[WIDTH] == pytest.approx(0.01 + expected.width)
    assert changed[STANCE] == pytest.approx(0.642 - 0.035 + expected.stance)
    other = manner.copy()
    step_in_style(other, WALK + 1, 1.0, style)
    np.testing.assert_array_equal(other, manner)


@pytest.mark.parametrize(("more", "highest", "lowest"), [(0.01, 0.0, -0.02), (-0.004, 0.0, -0.008)])
def test_bounce_never_lifts_the_body_off_its_legs(more: float, highest: float, lowest: float) -> None:
    series, style = np.zeros(1 + 2 * HARMONICS, np.float32), np.zeros(7)
    style[MORE_BOUNCE], style[MORE_SIDEWAYS] = more, 0.02
    add_bounce(CHANNELS.index("root_height"), style, series, 1 + HARMONICS)
    phase = np.linspace(0, 1, 200)
    turns = 2 * np.pi * np.outer(phase, np.arange(1, HARMONICS + 1))
    values = series[0] + np.cos(turns) @ series[1 : 1 + HARMONICS] + np.sin(turns) @ series[1 + HARMONICS :]
    assert values.max() == pytest.approx(highest, abs=1e-4)
    assert values.min() == pytest.approx(lowest, abs=1e-4)
    assert phase[np.argmax(values)] % 0.5 == pytest.approx(0.32 if more > 0 else 0.07, abs=0.01)
    series[:] = 0
    add_bounce(CHANNELS.index("root_lateral"), style, series, 1 + HARMONICS)
    values = series[0] + np.cos(turns) @ series[1 : 1 + HARMONICS] + np.sin(turns) @ series[1 + HARMONICS :]
    assert values.max() == pytest.approx(0.02, abs=1e-4)
    assert phase[np.argmax(values)] == pytest.approx(0.32, abs=0.01)


CLOCK = Clock(0.0, 0.04)
FRAMES = 200


def hold(segment: Segment) -> Array:
    """Weight of a layered segment, by minimum jerk."""
    times = CLOCK.first + np.arange(FRAMES) * CLOCK.step
    rise, fall = (np.clip(x, 0, 1) for x in ((times - segment.start) / segment.enter, (segment.end - times) / segment.exit))
    return np.asarray(np.prod([10 * x**3 - 15 * x**4 + 6 * x**5 for x in (rise, fall)], axis=0))


@pytest.mark.parametrize("action", ["squat", "lie_down", "bow"])
def test_an_action_removes_the_style_posture_of_its_own_channels(action: str) -> None:
    actions = library_tables(LIBRARY)
    doing = segment(action, 1.0, 9.0, repetitions=1)
    cast = person_arrays(in_style("old", frames=1), style_tables(LIBRARY))
    someone = Person(**{name: getattr(cast, name)[0, 0] for name in Person._fields})
    work = empty_workspace(FRAMES, 1)
    remove_style_posture(work, doing, actions, someone, CLOCK)
    expected = np.zeros(work.channels.shape)
    for c, name in enumerate(CHANNELS):
        arm = any(part in name for part in ("collar", "shoulder", "elbow"))
        if action == "lie_down" or (arm and actions.used[doing.kind, c]):
            expected[c] = -hold(doing) * someone.posture[c]
    np.testing.assert_allclose(work.channels, expected, atol=1e-6)
    assert expected.any()


@pytest.mark.parametrize(("action", "right"), [("point", True), ("wave", False), ("whisper", True)])
def test_the_trunk_leans_away_from_a_raised_arm(action: str, right: bool) -> None:
    actions = library_tables(LIBRARY)
    doing = segment(action, 1.0, 6.0, repetitions=3, right=right)
    work = empty_workspace(FRAMES, 1)
    channels = work.channels
    sides = {"right" if right else "left": (0.24, 0.15), "left" if right else "right": (0.3, 0.02)}
    for side, (flexion, abduction) in sides.items():
        channels[CHANNELS.index(f"{side}_shoulder_flexion")] = flexion
        channels[CHANNELS.index(f"{side}_shoulder_abduction")] = abduction
    before, weight = channels.copy(), hold(doing).astype(np.float32)
    work.root[WORK2] = weight
    counter_lean(work, doing, actions, CLOCK)
    expected = before.astype(np.float64)
    if action != "whisper":  # it leans by itself
        near = "right" if right else "left"
        flexion, abduction = (np.clip(v - HANGING, 0, 0.25) for v in sides[near])
        expected[CHANNELS.index("trunk_lateral")] += weight * LEAN_ASIDE * abduction * (1 if right else -1)
        expected[CHANNELS.index("trunk_flexion")] -= weight * LEAN_BACK * flexion
    np.testing.assert_allclose(channels, expected, atol=1e-6)
