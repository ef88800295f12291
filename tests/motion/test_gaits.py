"""Gaits other than plain walking, in scripted scenes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from posegen.evaluation.body import centre_of_mass, joint_angles
from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT
from posegen.foundations.skeleton import CONTACTS, DEFAULT_SKELETON, SKELETONS, sole_points
from posegen.motion.engine import Motion
from tests.motion.scripted import SegmentSpec, animated, between_standing, place, scripted

FPS, SECONDS = 50, 6
STEADY = slice(2 * FPS, 4 * FPS)
HEELS = [CONTACTS.index(f"{side}_heel") for side in ("left", "right")]


def act(
    action: str, speed: float, side: int = LEFT, turn: float = 0.0, fps: int = FPS, skeleton: str = DEFAULT_SKELETON
) -> Motion:
    doing = SegmentSpec(action, 0.6, 5, speed=speed, side=side, turn=turn)
    scenes = scripted(*between_standing(doing), frames=SECONDS * fps)
    scenes.persons.rest[...] = SKELETONS[skeleton]
    return animated(scenes, SECONDS * fps, fps)


def shares(motion: Motion) -> Array:
    """Fraction of the steady frames in which each foot touches."""
    touching = motion.contact[0, 0, STEADY, :4] == 1
    return np.asarray(touching.reshape(-1, 2, 2).any(-1).mean(0))


GAITS = [
    ("walk_backwards", 0.6),
    ("side_step", 0.45),
    ("sneak", 0.45),
    ("limp", 0.6),
    ("carry", 0.9),
    ("push", 0.4),
    ("pull", 0.35),
    ("stairs_up", 0.5),
    ("stairs_down", 0.5),
    ("hop", 0.8),
    ("skip", 1.6),
    ("sprint", 6.0),
]


@pytest.mark.parametrize(("action", "speed"), GAITS)
def test_stance_feet_stay_and_both_feet_end_side_by_side(action: str, speed: float) -> None:
    motion = act(action, speed, RIGHT)
    soles, touching = sole_points(motion.joints[0, 0].astype(np.float64)), motion.contact[0, 0, :, :4] == 1
    slide = np.linalg.norm(np.diff(soles[..., [0, 2]], axis=0), axis=-1) * FPS
    assert (slide[touching[1:] & touching[:-1]] > 0.2).mean() < 0.01
    if "stairs" not in action:
        assert soles[..., 1].min() > -0.006
        # Sole points lie in the plane of the shank, which leans when the feet are far apart.
        assert np.abs(soles[..., 1][touching]).max() < (0.012 if action == "side_step" else 0.007)
    assert touching[-1].all()
    left, right = (place(motion, f"{side}_ankle")[-1] for side in ("left", "right"))
    assert abs(left[2] - right[2]) < 0.04
    assert 0.1 < left[0] - right[0] < 0.3
    assert left[1] == pytest.approx(right[1], abs=0.01)


@pytest.mark.parametrize(("action", "speed"), [("walk_backwards", 0.6), ("pull", 0.35)])
def test_backwards(action: str, speed: float) -> None:
    motion = act(action, speed)
    way = place(motion, "pelvis")[STEADY]
    assert (way[-1, 2] - way[0, 2]) / (len(way) - 1) * FPS == pytest.approx(-speed, rel=0.03)
    touching = motion.contact[0, 0, STEADY] == 1
    toes = touching[:, [heel + 1 for heel in HEELS]]
    assert (toes & ~touching[:, HEELS])[:-1][np.diff(touching[:, HEELS].astype(int), axis=0) == 1].all()  # toes land first


@pytest.mark.parametrize(("side", "sign"), [(LEFT, 1), (RIGHT, -1)])
def test_side_steps_lead_to_the_near_side_and_never_cross(side: int, sign: int) -> None:
    motion = act("side_step", 0.45, side)
    way = place(motion, "pelvis")
    assert way[-1, 0] * sign > 1.4
    assert abs(way[-1, 2]) < 0.05
    apart = (place(motion, "left_ankle") - place(motion, "right_ankle"))[:, 0]
    assert apart.min() > 0.07
    assert apart.max() > 0.35


@pytest.mark.parametrize(("side", "bad"), [(LEFT, 0), (RIGHT, 1)])
def test_a_limp_spares_the_near_leg(side: int, bad: int) -> None:
    motion = act("limp", 0.6, side)
    share = shares(motion)
    assert share[1 - bad] - share[bad] > 0.08
    head = (place(motion, "head") - place(motion, "pelvis"))[STEADY, 0]
    only = motion.contact[0, 0, STEADY, :4].reshape(-1, 2, 2).any(-1)[:, 1 - bad] == 0
    assert head[only].mean() * (1 if side == LEFT else -1) > 0.04  # it leans over the foot


def test_sneaking_crouches_and_lifts_the_feet() -> None:
    sneak, walk = act("sneak", 0.45), act("walk", 0.45)
    assert place(sneak, "pelvis")[STEADY, 1].mean() < place(walk, "pelvis")[STEADY, 1].mean() - 0.04
    assert place(sneak, "left_foot")[STEADY, 1].max() > 0.1


@pytest.mark.parametrize("action", ["carry", "push", "pull"])
def test_held_arms_do_not_swing(action: str) -> None:
    motion = act(action, 0.4)
    for side in ("left", "right"):
        wrist = (place(motion, f"{side}_wrist") - place(motion, f"{side}_shoulder"))[STEADY]
        assert wrist[:, 2].min() > 0.15  # before the body
        assert np.ptp(wrist[:, 2]) < 0.09
    if action != "carry":
        assert np.abs(wrist[:, 1]).max() < 0.2  # at the height of the shoulders


@pytest.mark.parametrize(("side", "foot"), [(LEFT, 0), (RIGHT, 1)])
def test_hops_are_on_the_near_foot_and_fall_freely(side: int, foot: int) -> None:
    fps = 120
    motion = act("hop", 0.8, side, fps=fps)
    steady = slice(2 * fps, 4 * fps)
    touching = (motion.contact[0, 0, steady, :4] == 1).reshape(-1, 2, 2).any(-1)
    assert not touching[:, 1 - foot].any()
    assert touching[:, foot].mean() == pytest.approx(0.58, abs=0.06)
    height = centre_of_mass(motion.joints[0, 0, steady])[:, 1]
    edges = np.flatnonzero(np.diff(touching[:, foot].astype(int)))
    flights = [slice(a + 1, b + 1) for a, b in pairwise(edges) if not touching[a + 1, foot]]
    assert len(flights) >= 3
    for flight in flights:
        seconds = np.arange(flight.stop - flight.start) / fps
        assert 2 * np.polyfit(seconds, height[flight], 2)[0] == pytest.approx(-9.81, rel=0.02)


@pytest.mark.parametrize(("action", "sign"), [("stairs_up", 1), ("stairs_down", -1)])
def test_stairs_lead_a_rise_for_each_tread(action: str, sign: int) -> None:
    motion = act(action, 0.5)
    pelvis = place(motion, "pelvis")
    climbed = pelvis[-1, 1] - pelvis[0, 1]
    treads = round(abs(climbed) / 0.17)
    assert climbed == pytest.approx(sign * 0.17 * treads, abs=0.02)
    assert treads >= 5
    way = pelvis[STEADY]
    assert (way[-1, 1] - way[0, 1]) / (way[-1, 2] - way[0, 2]) == pytest.approx(sign * 0.17 / 0.28, rel=0.2)
    soles = sole_points(motion.joints[0, 0].astype(np.float64))[..., 1]
    on = soles[motion.contact[0, 0, :, :4] == 1] / 0.17
    np.testing.assert_allclose(on, np.rint(on), atol=0.05)
    assert soles.min() > -0.006


@pytest.mark.parametrize(("action", "knee", "hip"), [("stairs_up", 60.0, 53.0), ("stairs_down", 77.6, None)])
def test_knees_and_hips_on_stairs(action: str, knee: float, hip: float | None) -> None:
    # Lin 2004, rise of 18 cm. Upstairs the leg that comes down is bent most as it does; downstairs the one that stays behind is
    # bent so far when the other foot reaches its tread. What swings bends more than either, by some 90 degrees.
    # SMPL's shorter legs bend further on the same stairs: angles are compared on a body with legs as long as people's.
    motion = act(action, 0.49, skeleton="anatomical")
    angles = joint_angles(motion.joints[0, 0].astype(np.float64), "anatomical")
    mine, other = "right", "left"
    heel = 2 * ("left", "right").index(mine if action == "stairs_up" else other)
    touching = (motion.contact[0, 0, :, heel : heel + 2] == 1).any(-1)
    landing = STEADY.start + np.flatnonzero(np.diff(touching[STEADY].astype(int)) == 1) + 1
    assert angles[f"{mine}_knee_flexion"][landing].mean() == pytest.approx(knee, abs=6)
    if hip is not None:
        assert angles[f"{mine}_hip_flexion"][landing].mean() == pytest.approx(hip, abs=6)
    assert 80 < angles[f"{mine}_knee_flexion"][STEADY].max() < 100


def test_running_the_bases_curves_to_the_left() -> None:
    motion = act("running_bases", 4.0, turn=90)
    assert place(motion, "pelvis")[-1, 0] > 3
    lean = (place(motion, "neck") - place(motion, "pelvis"))[STEADY]
    across = (place(motion, "left_hip") - place(motion, "right_hip"))[STEADY]
    assert ((lean * across).sum(-1) > 0).mean() > 0.8  # into the curve


def test_skipping_lands_twice_on_each_foot() -> None:
    motion = act("skip", 1.6)
    touching = (motion.contact[0, 0, STEADY, :4] == 1).reshape(-1, 2, 2).any(-1)
    landings = sorted((int(f), side) for side in range(2) for f in np.flatnonzero(np.diff(touching[:, side].astype(int)) == 1))
    sides = "".join("LR"[side] for _, side in landings)
    assert "LLRR" in sides
    assert "LRL" not in sides
    assert (~touching.any(-1)).mean() > 0.25


@pytest.mark.parametrize("speed", [1.6, 1.8, 2.0, 2.1])
def test_a_fast_walker_does_not_jolt(speed: float) -> None:
    # At 2 m/s the pelvis rises and falls by some 7 cm 2.3 times a second, which a sine does with 7 m/s^2.
    height = place(act("walk", speed, fps=25), "pelvis")[50:100, 1]
    assert np.abs(np.diff(height, 2)).max() * 25**2 < 15
