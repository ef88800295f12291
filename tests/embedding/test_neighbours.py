"""Nearest neighbours against a naive search, with ties, and the inverted index against exact search."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.embedding.encoder import unit_length
from posegen.embedding.neighbours import find_neighbours, neighbour_index, rank_candidates

pytest.importorskip("faiss")

Array = NDArray[Any]


def naive(vectors: Array, row: int, count: int) -> list[float]:
    """Return the similarities of the nearest vectors by comparing with all."""
    return sorted((float(vectors[row] @ vectors[other]) for other in range(len(vectors)) if other != row), reverse=True)[:count]


@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=30), st.integers(1, 6))
def test_neighbours_equal_those_of_a_naive_search_with_ties_by_row(whole: list[list[int]], count: int) -> None:
    vectors = unit_length(np.array(whole))
    rows = np.arange(len(vectors))
    others, near = find_neighbours(neighbour_index(vectors), vectors, rows, count)
    for row in rows.tolist():
        expected = naive(vectors, row, count)
        found = others[row][: len(expected)].tolist()
        assert len(set(found)) == len(found) and row not in found  # noqa: PT018
        assert near[row][: len(expected)].tolist() == pytest.approx(expected, abs=2e-6)
        assert [float(vectors[row] @ vectors[other]) for other in found] == pytest.approx(expected, abs=2e-6)
        alike = [(a, b) for a, b in itertools.pairwise(found) if whole[a] == whole[b]]
        assert all(a < b for a, b in alike)
        assert (others[row][len(expected) :] == -1).all()
        assert np.isneginf(near[row][len(expected) :]).all()


def clusters(count: int) -> Array:
    """Return vectors in clusters of unequal size, like those of captions."""
    draws = np.random.default_rng(5)
    middles = draws.normal(size=(count // 20, 24))
    return unit_length(middles[(draws.random(count) ** 2 * len(middles)).astype(int)] + 0.4 * draws.normal(size=(count, 24)))


def test_the_index_finds_nearly_all_exact_neighbours_and_is_deterministic() -> None:
    vectors = clusters(8000)
    rows = np.arange(0, 8000, 40)
    exact = find_neighbours(neighbour_index(vectors), vectors, rows, 20)[0]
    index = neighbour_index(vectors, exact=100)
    found, near = find_neighbours(index, vectors, rows, 20)
    assert type(index).__name__ == "IndexIVFFlat"
    assert np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)]) > 0.95
    again = find_neighbours(neighbour_index(vectors, exact=100), vectors, rows, 20)
    assert (again[0].tobytes(), again[1].tobytes()) == (found.tobytes(), near.tobytes())
    part = find_neighbours(index, vectors, rows[7:9], 20)[0]
    assert part.tolist() == found[7:9].tolist()


def test_similarities_within_a_millionth_are_ties() -> None:
    near = np.array([[0.5, 0.50000001, 0.9, -np.inf]])
    others, similarities = rank_candidates(near, np.array([[4, 2, 7, -1]]), 5)
    assert others.tolist() == [[7, 2, 4, -1, -1]]
    assert similarities[0, :3].tolist() == pytest.approx([0.9, 0.5, 0.5])
