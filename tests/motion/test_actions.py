"""Speeds, cadence, flight, seats and gestures of scripted scenes."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.evaluation.body import centre_of_mass
from posegen.foundations.arrays import Array
from posegen.foundations.scene import BOTH, LEFT, RIGHT, Scenes
from posegen.foundations.skeleton import CONTACTS, JOINTS, PROPORTIONS
from posegen.motion.engine import Motion
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, between_standing, leg_length, place, scripted

FPS = 50
PELVIS = 0
SOLES = slice(0, 4)


def act(scenes: Scenes, fps: int = FPS) -> Motion:
    return animated(scenes, int(scenes.length[0]), fps)


def landings(motion: Motion, side: str) -> Array:
    """Frames in which a foot lands."""
    heel, toe = (motion.contact[0, 0, :, CONTACTS.index(f"{side}_{point}")] == 1 for point in ("heel", "toe"))
    return np.flatnonzero(np.diff((heel | toe).astype(int)) == 1) + 1


@pytest.mark.parametrize("speed", [0.7, 1.0, 1.3, 1.6])
@pytest.mark.parametrize("stature", [1.55, 1.85])
def test_steady_walking(speed: float, stature: float) -> None:
    motion = act(scripted(SegmentSpec("walk", -3, 23, speed=speed), frames=20 * FPS, stature=stature, phase=0.3))
    for side in ("left", "right"):
        frames = landings(motion, side)
        way = place(motion, "pelvis")[frames[[0, -1]]]
        seconds = (frames[-1] - frames[0]) / FPS
        assert (way[1, 2] - way[0, 2]) / seconds == pytest.approx(speed, rel=0.02)
        cadence = 120 * (len(frames) - 1) / seconds
        # The walk ratio grows with the leg; SMPL's hip joints lie lower than those of the same stature in Winter.
        leg = leg_length(stature) + PROPORTIONS["ankle_height"] * stature
        assert cadence == pytest.approx(np.sqrt(60 * speed / (0.0065 * leg / 0.9)), rel=0.02)
    assert np.abs(place(motion, "pelvis")[:, 0]).max() < 0.06  # straight ahead


@pytest.mark.parametrize("speed", [2.5, 3.3])
def test_steady_running_leaves_the_ground(speed: float) -> None:
    motion = act(scripted(SegmentSpec("run", -3, 13, speed=speed), frames=10 * FPS))
    way = place(motion, "pelvis")
    assert (way[-1, 2] - way[0, 2]) / (len(way) - 1) * FPS == pytest.approx(speed, rel=0.02)
    in_air = (motion.contact[0, 0, :, SOLES] == 0).all(-1)
    assert 0.05 < in_air.mean() < 0.6


@pytest.mark.parametrize("turn", [-120, 90])
def test_a_curve_turns_the_body(turn: int) -> None:
    motion = act(scripted(*between_standing(SegmentSpec("walk", 1, 6, speed=1.2, turn=turn)), frames=10 * FPS))
    assert facing(motion, 0) == pytest.approx(0, abs=0.03)
    assert facing(motion, -1) == pytest.approx(np.radians(turn), abs=0.06)
    moved = place(motion, "pelvis")[-1]
    assert np.sign(moved[0]) == np.sign(turn)  # to the left is towards +x


@pytest.mark.parametrize("turn", [-170, 100])
def test_turning_on_the_spot(turn: int) -> None:
    motion = act(scripted(*between_standing(SegmentSpec("turn", 1, 3.2, turn=turn)), frames=6 * FPS))
    assert facing(motion, -1) == pytest.approx(np.radians(turn), abs=0.06)
    assert np.abs(place(motion, "pelvis")[:, [0, 2]]).max() < 0.12
    assert len(landings(motion, "left")) > 0
    assert len(landings(motion, "right")) > 0


def facing(motion: Motion, frame: int) -> float:
    """Heading of the hips, radians to the left."""
    across = (place(motion, "left_hip") - place(motion, "right_hip"))[frame]
    return float(np.arctan2(-across[2], across[0]))


@pytest.mark.parametrize("lead", [LEFT, RIGHT])
def test_the_named_foot_steps_first(lead: int) -> None:
    motion = act(scripted(*between_standing(SegmentSpec("walk", 1, 7, speed=1.1, side=lead)), frames=10 * FPS))
    first = {side: int(landings(motion, side)[0]) for side in ("left", "right")}
    assert (first["left"] < first["right"]) == (lead == LEFT)
    ankles = np.stack([place(motion, "left_ankle"), place(motion, "right_ankle")])
    assert abs(ankles[0, -1, 2] - ankles[1, -1, 2]) < 0.05  # and ends with the feet side by side
    assert (motion.contact[0, 0, -1, SOLES] == 1).all()


@pytest.mark.parametrize("amplitude", [0.8, 1.0, 1.2])
def test_a_jump_falls_freely(amplitude: float) -> None:
    fps = 120
    segments = between_standing(SegmentSpec("jump", 1, 5.4, repetitions=2, amplitude=amplitude))
    motion = act(scripted(*segments, frames=7 * fps), fps)
    in_air = (motion.contact[0, 0, :, SOLES] == 0).all(-1)
    edges = np.flatnonzero(np.diff(in_air.astype(int))) + 1
    assert len(edges) == 4
    height = centre_of_mass(motion.joints[0, 0])[:, 1]
    for first, last in edges.reshape(2, 2):
        seconds = (last - first) / fps
        assert seconds == pytest.approx(0.46 * np.sqrt(amplitude), abs=3 / fps)
        flight = slice(first + 2, last - 2)
        fit = np.polyfit(np.arange(last - first - 4) / fps, height[flight], 2)
        assert 2 * fit[0] == pytest.approx(-9.81, rel=0.01)


@pytest.mark.parametrize("seat", [0.38, 0.5])
@pytest.mark.parametrize("stature", [1.6, 1.85])
def test_sitting_puts_the_pelvis_on_the_seat(seat: float, stature: float) -> None:
    motion = act(scripted(*between_standing(SegmentSpec("sit", 1, 8)), frames=10 * FPS, seat=seat, stature=stature))
    on = motion.contact[0, 0, :, CONTACTS.index("seat")] == 1
    pelvis, knee = place(motion, "pelvis"), place(motion, "left_knee")
    assert on.sum() > 3 * FPS
    np.testing.assert_allclose(pelvis[on, 1], seat + 0.058 * stature, atol=0.015)
    assert (pelvis[on, 2] < knee[on, 2] - 0.2).all()  # behind the knees
    assert pelvis[0, 1] == pytest.approx(pelvis[-1, 1], abs=0.01)
    assert (motion.contact[0, 0, :, SOLES] == 1).all()  # the feet stay


@pytest.mark.parametrize(("side", "named", "other"), [(LEFT, "left", "right"), (RIGHT, "right", "left")])
@pytest.mark.parametrize("below", ["walk", "stand"])
def test_a_layered_wave(side: int, named: str, other: str, below: str) -> None:
    speed = 1.2 if below == "walk" else 0.0
    segments = (SegmentSpec(below, -3, 12, speed=speed), SegmentSpec("wave", 2, 7, side=side, repetitions=5, layered=True))
    motion = act(scripted(*segments, frames=9 * FPS))
    waving = slice(int(3.2 * FPS), int(5.8 * FPS))
    high = {s: place(motion, f"{s}_wrist")[:, 1] - place(motion, f"{s}_shoulder")[:, 1] for s in (named, other)}
    assert (high[named][waving] > 0).all()
    assert (high[other] < -0.1).all()
    assert (high[named][[0, -1]] < -0.1).all()
    labels = motion.action[0, 0, 4 * FPS].tolist()
    wave, base = LIBRARY.index("wave"), LIBRARY.index(below)
    arms = [wave, base] if named == "left" else [base, wave]
    assert labels == [base, base, *arms, wave]  # legs, trunk, arms, head


def performed(name: str, *, side: int = BOTH, repetitions: int = 0) -> tuple[Motion, slice]:
    """The motion of one action between standing, and the frames of its cycles."""
    action = LIBRARY.action(name)
    cycles = action.cycle * repetitions or 3.0
    end = 1 + action.enter + cycles + action.exit
    spec = SegmentSpec(name, 1, end, side=side, repetitions=repetitions, layered=action.layered)
    motion = act(scripted(*between_standing(spec), frames=int((end + 2) * FPS)))
    return motion, slice(int((1 + action.enter) * FPS) + 2, int((1 + action.enter + cycles) * FPS) - 2)


def apart(motion: Motion, one: str, other: str) -> Array:
    return np.linalg.norm(place(motion, one) - place(motion, other), axis=-1)


@pytest.mark.parametrize("name", ["raise_leg", "raise_knee", "stomp", "shake_leg", "swing_leg", "balance"])
@pytest.mark.parametrize(("side", "named", "other"), [(LEFT, "left", "right"), (RIGHT, "right", "left")])
def test_one_leg_stands_and_the_other_moves(name: str, side: int, named: str, other: str) -> None:
    repetitions = 0 if LIBRARY.action(name).repetitions is None else 2
    motion, cycle = performed(name, side=side, repetitions=repetitions)
    lifted, standing = (other, named) if name == "balance" else (named, other)  # balancing on the named leg
    assert np.ptp(place(motion, f"{standing}_ankle")[cycle], axis=0).max() < 0.02
    rises = place(motion, f"{lifted}_ankle")[:, 1]
    assert rises[cycle].max() - rises[0] > 0.08
    assert rises[-1] == pytest.approx(rises[0], abs=0.01)


@pytest.mark.parametrize(("name", "high"), [("raise_arm", 0.3), ("touch_head", 0.1), ("phone", 0.0), ("knock", 0.0)])
def test_one_hand_is_raised(name: str, high: float) -> None:
    motion, cycle = performed(name, side=LEFT, repetitions=0 if LIBRARY.action(name).repetitions is None else 2)
    height = {
        side: place(motion, f"{side}_wrist")[:, 1] - place(motion, f"{side}_shoulder")[:, 1] for side in ("left", "right")
    }
    assert height["left"][cycle].max() > high
    assert height["right"].max() < -0.2


@pytest.mark.parametrize(
    ("name", "one", "other", "near"),
    [
        ("touch_toes", "left_wrist", "left_foot", 0.28),
        ("touch_knees", "right_wrist", "right_knee", 0.2),
        ("touch_head", "left_wrist", "head", 0.22),
        ("touch_shoulder", "left_wrist", "right_shoulder", 0.26),
        ("rub_hands", "left_wrist", "right_wrist", 0.12),
        ("scratch", "left_wrist", "head", 0.24),
        ("brush_teeth", "left_wrist", "head", 0.26),
    ],
)
def test_hands_touch_what_they_are_said_to_touch(name: str, one: str, other: str, near: float) -> None:
    action = LIBRARY.action(name)
    motion, cycle = performed(name, side=LEFT if action.sided else BOTH, repetitions=1 if action.repetitions else 0)
    gap = apart(motion, one, other)
    assert gap[cycle].min() < near
    assert gap[0] > near


def test_a_spin_goes_once_around() -> None:
    motion = act(scripted(*between_standing(SegmentSpec("spin", 1, 5, turn=360)), frames=8 * FPS))
    headings = np.unwrap([facing(motion, f) for f in range(8 * FPS)])
    assert headings[-1] - headings[0] == pytest.approx(2 * np.pi, abs=0.06)


@pytest.mark.parametrize("name", ["sit_on_floor", "fall"])
def test_the_seat_is_on_the_floor_and_the_body_gets_up(name: str) -> None:
    motion, cycle = performed(name)
    height = place(motion, "pelvis")[:, 1]
    assert height[cycle].max() < 0.2
    assert height[-1] == pytest.approx(height[0], abs=0.02)
    assert (place(motion, "head")[cycle, 1].max() < 0.5) == (name == "fall")


def test_a_layer_leaves_the_legs_alone() -> None:
    walk = SegmentSpec("walk", -3, 12, speed=1.2)
    alone = act(scripted(walk, frames=9 * FPS))
    waving = act(scripted(walk, SegmentSpec("wave", 2, 7, side=RIGHT, repetitions=5, layered=True), frames=9 * FPS))
    legs = [j for j, name in enumerate(JOINTS) if any(part in name for part in ("pelvis", "hip", "knee", "ankle", "foot"))]
    np.testing.assert_array_equal(waving.joints[:, :, :, legs], alone.joints[:, :, :, legs])


def test_labels_follow_the_segments() -> None:
    motion = act(scripted(*between_standing(SegmentSpec("squat", 1, 6, repetitions=2)), frames=8 * FPS))
    expected = np.full(8 * FPS, LIBRARY.index("stand"))
    expected[FPS : 6 * FPS] = LIBRARY.index("squat")
    np.testing.assert_array_equal(motion.action[0, 0], np.repeat(expected[:, None], 5, 1))
