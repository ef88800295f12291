"""Several people: penetration depth against a naive implementation, and meetings of hands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.story.encounters import overlap_of_two
from posegen.evaluation.people import PeopleTally
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from tests.evaluation.figures import standing

Array = NDArray[Any]

LIBRARY = load_library()
FRAMES = 40


def row(sample: int, people: int, segments: list[dict[str, Any]] | None = None, length: int = FRAMES) -> dict[str, Any]:
    actors = [{"segments": segments or []} for _ in range(people)]
    return {"sample": sample, "variant": "base", "length": length, "actors": actors}


def crowd(seed: int, people: int = 3) -> Array:
    """Return bodies that appear and disappear, float32 [actors, frames, 22, 3]."""
    generator = np.random.default_rng(seed)
    joints = np.repeat(standing(FRAMES)[None], people, axis=0)
    joints[1:] += generator.normal(0, 0.5, (people - 1, FRAMES, 1, 3)) * [1, 0, 1]
    return joints.astype(np.float32)


def test_depths_equal_those_of_a_naive_implementation() -> None:
    clips = np.stack([crowd(0), crowd(1), crowd(2), crowd(3)])
    clips[2:, 2] = np.nan
    clips[3, :, 30:] = np.nan
    tally = PeopleTally(None)
    rows = [row(0, 3), row(1, 3), row(2, 2), row(3, 2, length=30)]
    for first in (0, 2):
        tally.add(clips[first : first + 2][:, None], rows[first : first + 2])
    found = tally.people()
    assert not found.hands
    pairs = {3: ((0, 1), (0, 2), (1, 2)), 2: ((0, 1),)}
    for people, numbers in ((3, (0, 1)), (2, (2, 3))):
        depths = [np.max([overlap_of_two(clips[i][a], clips[i][b]) for a, b in pairs[people]], axis=0) for i in numbers]
        naive = np.concatenate([depth[: rows[i]["length"]] for i, depth in zip(numbers, depths, strict=True)])
        measured = found.depths[people]
        assert (measured.clips, measured.frames) == (2, len(naive))
        assert measured.deepest == pytest.approx(naive.max(), abs=1e-4)
        assert measured.high == pytest.approx(np.percentile(naive, 99, method="inverted_cdf"), abs=6e-4)
        assert measured.beyond == (naive > 0.02).sum()
        assert measured.where == f"sample {numbers[int(depths[1][:30].max() > depths[0].max())]} base"


def test_hands_that_are_stated_to_meet() -> None:
    """In the first clip hands meet for 5 frames, in the second they come within 7 cm; the third states no partner."""
    clips = np.stack([standing(FRAMES), standing(FRAMES)])[None].repeat(3, axis=0).astype(np.float32)
    clips[:, 1, ..., 2] += 1.0
    wrist = JOINTS.index("right_wrist")
    clips[:, :, :, wrist] = [0.0, 1.1, 0.5]
    clips[:, 1, :, wrist, 1] += 0.3
    clips[0, 1, 10:15, wrist, 1] -= 0.26
    clips[1, 1, 10:15, wrist, 1] -= 0.23
    partner = {"kind": "partner", "actor": 0, "segment": 0, "action": "shake_hands", "value": "1"}
    done = {"action": "shake_hands", "start": 5, "end": 30, "statements": [partner]}
    tally = PeopleTally(LIBRARY)
    rows = [row(0, 2, [done]), row(1, 2, [done]), row(2, 2, [done | {"statements": []}])]
    tally.add(clips[:, None], rows)
    found = tally.people().hands
    assert list(found) == ["shake_hands"]
    hands = found["shake_hands"]
    assert (hands.stated, hands.met, hands.fewest) == (2, 1, 0)
    assert hands.farthest == pytest.approx(0.07, abs=1e-4)
    assert hands.middle == pytest.approx(0.055, abs=1e-4)


def test_single_persons_have_no_depths() -> None:
    tally = PeopleTally(LIBRARY)
    tally.add(crowd(0, 1)[None, None], [row(0, 1)])
    assert tally.people().depths == {}
