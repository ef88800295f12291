"""Stances that are dropped or shortened."""

from __future__ import annotations

import numpy as np

from posegen.foundations.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, PROPORTIONS
from posegen.motion.feet.stances import FARTHEST_BEHIND, SHORTEST_STANCE, drop_brief_contacts, shorten_stances
from posegen.motion.rows import GAIT_WEIGHT, LEG_ROWS, ROOT_ROWS, ROOT_X, ROOT_Z

FOOT = 1.7 * np.array([HEEL_BEHIND_ANKLE, BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, PROPORTIONS["ankle_height"]])
FRAMES, LEG = 30, 0.9


def released(speed: float, weight: float = 1.0, over: int = 12) -> tuple[int, list[bool]]:
    """End of a stance of frames 5 to 25 whose footprint is under the body in frame `over`."""
    root, leg = np.zeros((ROOT_ROWS, FRAMES), np.float32), np.zeros((LEG_ROWS, FRAMES), np.float32)
    away = speed * (np.arange(FRAMES) - over) / 25
    root[ROOT_X], root[ROOT_Z], root[GAIT_WEIGHT] = 3 + 0.6 * away, -2 + 0.8 * away, weight
    planted = np.zeros(FRAMES, bool)
    planted[5:25] = True
    stances = np.array([[5, 25, 3.0, -2.0, 0.1, 0.0, 0.0, 0.5]])
    shorten_stances(root, leg, FOOT, LEG, planted, stances[:1])
    return int(stances[0, 1]), planted.tolist()


def test_a_foot_within_reach_keeps_its_stance() -> None:
    end, planted = released(1.0)
    assert end == 25
    assert planted == [5 <= f < 25 for f in range(FRAMES)]


def test_a_foot_too_far_behind_lifts_off() -> None:
    end, planted = released(3.0)
    behind = 3.0 * (np.arange(FRAMES) - 12) / 25
    assert end == int(np.flatnonzero(behind <= FARTHEST_BEHIND * LEG)[-1]) + 1 == 17
    assert planted == [5 <= f < 17 for f in range(FRAMES)]


def test_shortened_stances_keep_some_frames_and_standing_is_unchanged() -> None:
    assert released(300.0, over=2)[0] == 5 + SHORTEST_STANCE
    assert released(3.0, weight=0.0)[0] == 25


def test_a_contact_of_one_frame_is_no_stance() -> None:
    planted = np.array([1, 0, 1, 0, 1, 1, 0, 0, 1], bool)
    drop_brief_contacts(planted)
    assert planted.tolist() == [True, False, False, False, True, True, False, False, True]
