"""Ranks, recall and pools."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from posegen.training.measures import RECALLS, chance_of, pools, rank_pairs, ranking_of, ranks_of


def naive_rank(scores: list[float], right: list[bool]) -> int:
    """Sort the answers, wrong ones first where scores are equal, and find the first correct one."""
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], right[j]))
    return 1 + next(place for place, j in enumerate(order) if right[j])


questions = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        # Few distinct values, so that many scores are equal.
        arrays.arrays(np.float32, (4, n), elements=st.sampled_from([-1.0, 0.0, 0.25, 1.0])),
        arrays.arrays(np.bool_, (4, n)),
        st.integers(0, n - 1),
    )
)


@given(questions)
def test_ranks_are_those_of_sorting(drawn: tuple[NDArray[np.float32], NDArray[np.bool_], int]) -> None:
    scores, right, one = drawn
    right[:, one] = True
    expected = [naive_rank(scores[i].tolist(), right[i].tolist()) for i in range(len(scores))]
    assert ranks_of(scores, right).tolist() == expected


def test_invalid_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="no correct answer"):
        ranks_of(np.zeros((1, 3)), np.zeros((1, 3), bool))
    with pytest.raises(ValueError, match="NaN"):
        ranks_of([[0.0, np.nan]], [[True, False]])


@pytest.mark.parametrize("answers", [1, 4, 7])
def test_chance_is_that_of_counting(answers: int) -> None:
    for k in range(1, answers + 1):
        for right in range(1, answers + 1):
            chosen = list(combinations(range(answers), k))
            found = sum(any(answer < right for answer in some) for some in chosen)
            assert chance_of([right], answers, k)[0] == pytest.approx(found / len(chosen))


def test_median_and_recall_of_a_pool() -> None:
    ranking = ranking_of([1, 2, 2, 4, 11, 100], [1] * 6, 256)
    assert ranking.median == 3.0
    assert ranking.recall == pytest.approx({1: 1 / 6, 2: 3 / 6, 3: 3 / 6, 5: 4 / 6, 10: 4 / 6})
    assert ranking.chance == pytest.approx({k: k / 256 for k in RECALLS})
    assert ranking_of([1, 1, 1], [1] * 3, 3).recall == {1: 1.0, 2: 1.0, 3: 1.0}


@given(st.integers(0, 60), st.integers(1, 30), st.integers(0, 9))
def test_pools_are_complete_and_have_each_number_once(count: int, size: int, time: int) -> None:
    drawn = pools(count, size, time)
    assert [len(pool) for pool in drawn] == [min(size, count)] * (count // min(size, count) if count else 0)
    numbers = np.concatenate([np.empty(0, int), *drawn]).tolist()
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= set(range(count))


def directions(seed: int, *shape: int) -> NDArray[np.float64]:
    drawn = np.random.default_rng(seed).normal(size=shape)
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def test_perfect_vectors_find_all_pairs_and_random_ones_reach_chance() -> None:
    motion = directions(0, 1024, 16)
    text = np.repeat(motion[:, None], 3, axis=1)
    words = np.arange(1024 * 3).reshape(1024, 3)
    for ranking in rank_pairs(motion, text, words, pool=256, times=3).values():
        assert (ranking.recall[1], ranking.median, ranking.pool, ranking.questions) == (1.0, 1.0, 256, 3 * 1024)
    for ranking in rank_pairs(motion, directions(1, 1024, 3, 16), words, pool=256, times=3).values():
        # 3,072 questions: the share found has a spread of .0035 around 10 in 256.
        assert ranking.recall[10] == pytest.approx(10 / 256, abs=0.015)
        assert ranking.median == pytest.approx(128.5, abs=10)


def test_equal_captions_are_correct_except_in_strict_measures() -> None:
    """Two groups of motions with equal captions and vectors: the motions of a group cannot be distinguished."""
    vectors = np.repeat(np.eye(2), 3, axis=0)
    words = np.repeat([[7], [9]], 3, axis=0)
    found = rank_pairs(vectors, vectors[:, None], words, pool=6)
    assert found["text_to_motion"].recall[1] == found["motion_to_text"].recall[1] == 1.0
    assert found["text_to_motion"].chance[1] == pytest.approx(3 / 6)
    assert found["text_to_motion_strict"].recall == {1: 0.0, 2: 0.0, 3: 1.0, 5: 1.0}
    assert found["motion_to_text_strict"].chance[3] == pytest.approx(3 / 6)


def test_each_caption_is_used_in_turn() -> None:
    """Only the second caption of each motion has the vector of its motion; a third of the pools use it."""
    motion = np.eye(8)
    text = np.stack([np.roll(motion, 1, axis=0), motion, np.roll(motion, 2, axis=0)], axis=1)
    found = rank_pairs(motion, text, np.arange(24).reshape(8, 3), pool=8, times=3)
    ranks = found["text_to_motion_strict"]
    assert (ranks.questions, ranks.recall[1]) == (24, pytest.approx(1 / 3))
    found = rank_pairs(motion, text, np.arange(24).reshape(8, 3), pool=1, times=3)
    assert (found["text_to_motion"].questions, found["text_to_motion"].recall) == (24, {1: 1.0})
