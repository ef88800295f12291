"""Keyed permutations: each number exactly once, independent of the order of calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.foundations.randomness import Stream, permuted
from tests.naive import philox


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1), st.integers(0, 2**16 - 1))
@settings(max_examples=60, deadline=None)
def test_each_number_comes_once(size: int, seed: int, which: int) -> None:
    assert np.array_equal(np.sort(permuted(seed, range(size), size, Stream.QUOTA, which)), np.arange(size))


@given(st.integers(1, 2**40), st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**40), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_a_number_goes_where_it_goes_alone(size: int, seed: int, numbers: list[int]) -> None:
    below = [number % size for number in numbers]
    together = permuted(seed, below, size, Stream.QUOTA)
    assert all(0 <= number < size for number in together)
    assert [int(permuted(seed, [number], size, Stream.QUOTA)[0]) for number in below] == together.tolist()
    assert len(set(together.tolist())) == len(set(below))


def naive(seed: int, number: int, size: int, tag: int) -> int:
    half = (max(size - 1, 1).bit_length() + 1) // 2
    while True:
        left, right = number >> half, number % 2**half
        for step in range(8):
            drawn = philox([right, tag, step, half], [seed % 2**32, seed >> 32])[0]
            left, right = right, left ^ int(drawn) % 2**half
        number = left << half | right
        if number < size:
            return number


@given(st.integers(1, 2**40), st.integers(0, 2**64 - 1), st.integers(0, 2**40))
@settings(max_examples=30, deadline=None)
def test_against_python(size: int, seed: int, number: int) -> None:
    got = permuted(seed, [number % size], size, Stream.QUOTA, 5)[0]
    assert got == naive(seed, number % size, size, int(Stream.QUOTA) << 16 | 5)


def test_neighbours_part_and_keys_differ() -> None:
    size = 10_000
    one = permuted(0, range(size), size, Stream.QUOTA)
    # Of a random permutation about one number stays, and the first half is spread over all.
    assert (one == np.arange(size)).sum() < 10
    assert abs(one[: size // 2].mean() - size / 2) < 0.02 * size
    for other in (permuted(1, range(size), size, Stream.QUOTA), permuted(0, range(size), size, Stream.QUOTA, 1)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.05


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="they must lie between 0 and 4"):
        permuted(0, [5], 5, Stream.QUOTA)
    with pytest.raises(ValueError, match="size is 0"):
        permuted(0, [], 0, Stream.QUOTA)
