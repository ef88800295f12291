"""Frames with each action, on the legs and on any part."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posegen.dataset.counts import count_actions
from posegen.foundations.skeleton import PARTS

ABSENT = 65535
LEGS = PARTS.index("legs")


def test_a_frame_counts_once_for_each_action_in_it() -> None:
    walking, waving = [1] * len(PARTS), [1] * len(PARTS)
    waving[PARTS.index("left_arm")] = 2
    labels = np.array([walking, waving, [ABSENT] * len(PARTS)], np.uint16)
    legs, any_part, frames = count_actions(labels, 3)
    assert legs.tolist() == [0, 2, 0]
    assert any_part.tolist() == [0, 2, 1]
    assert frames == 2


@given(arrays(np.uint16, st.tuples(st.integers(1, 3), st.integers(1, 9), st.just(len(PARTS))), elements=st.integers(0, 4)))
def test_counts_equal_those_of_a_loop(labels: np.ndarray) -> None:
    labels[0, 0] = ABSENT
    present = [frame.tolist() for frame in labels.reshape(-1, len(PARTS)) if (frame < 5).any()]
    legs, any_part, frames = count_actions(labels, 5)
    assert frames == len(present)
    assert legs.tolist() == [sum(frame[LEGS] == action for frame in present) for action in range(5)]
    assert any_part.tolist() == [sum(action in frame for frame in present) for action in range(5)]
