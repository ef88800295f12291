"""Demonstrations of single actions: they start and end with standing, and the action is labelled in between."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.foundations.errors import UsageError
from posegen.foundations.scene import BOTH, RIGHT
from posegen.library.load import load_library
from posegen.viewing.gallery import demonstrate, demonstration

LIBRARY = load_library()


@pytest.mark.parametrize("name", LIBRARY.actions)
def test_an_action_is_done_once_between_standing(name: str) -> None:
    clip = demonstrate(LIBRARY, name)
    labels = [label for track in clip.tracks.values() for label in track]
    assert set(labels) == {name.replace("_", " "), "stand"}
    assert not np.isnan(clip.joints).any()
    legs = next(iter(clip.tracks.values()))
    assert legs[0] == legs[-1] == "stand"
    scenes = demonstration(LIBRARY, name)
    action = LIBRARY.action(name)
    kind = scenes.action[0, 0].tolist().index(LIBRARY.index(name)) if name != "stand" else 1
    assert scenes.side[0, 0, kind] == (RIGHT if action.sided else BOTH)
    if action.repetitions:
        assert action.repetitions[0] <= scenes.repetitions[0, 0, kind] <= action.repetitions[1]
    if action.speed:
        assert action.speed[0] <= scenes.speed[0, 0, kind] <= action.speed[1]


def test_walking_goes_somewhere_and_sitting_sits_down() -> None:
    walk, sit = demonstrate(LIBRARY, "walk"), demonstrate(LIBRARY, "sit")
    assert walk.joints[0, -1, 0, 2] - walk.joints[0, 0, 0, 2] > 3
    assert sit.joints[0, :, 0, 1].min() < 0.6 * sit.joints[0, 0, 0, 1]
    assert len(sit.seats) == 1


def test_an_unknown_action_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="walk"):
        demonstrate(LIBRARY, "walks")
