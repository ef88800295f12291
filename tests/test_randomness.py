"""Random numbers and keyed permutations: the published vectors; a number depends on its own coordinates alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.foundations.randomness import (
    Stream,
    choose,
    choose_fitting,
    integers,
    keyed,
    normal,
    permuted,
    philox_kernel,
    stream_keys,
    uniform,
)
from tests import naive
from tests.naive import philox

# Lines "philox4x32 10" of Random123's tests/kat_vectors: counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> np.ndarray:
    return np.array([[int(word, 16) for word in text.split()]], np.uint32)


@pytest.mark.parametrize("function", [philox, philox_kernel])
@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(function, counter, key, result):
    assert np.array_equal(function(words(counter), words(key)), words(result))


@given(
    seed=st.integers(0, 2**64 - 1),
    samples=st.lists(st.integers(0, 2**62), min_size=1, max_size=6),
    stream=st.sampled_from(Stream),
    attempt=st.integers(0, 255),
    substream=st.integers(0, 255),
    first=st.integers(0, 40),
    count=st.integers(1, 9),
)
def test_uniform_is_the_documented_counter(seed, samples, stream, attempt, substream, first, count):
    """A number therefore depends on nothing but its place."""
    got = uniform(seed, samples, stream, count, attempt=attempt, substream=substream, first=first)
    key = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
    for row, sample in zip(got, samples, strict=True):
        for j, value in enumerate(row, first):
            counter = [j // 4, stream << 16 | attempt << 8 | substream, sample & 0xFFFFFFFF, sample >> 32]
            assert value == int(philox(np.array(counter, np.uint32), key)[j % 4]) / 2**32


def test_normal_is_a_sum_of_uniform_numbers():
    terms = uniform(5, [9, 2**40], Stream.BODY, 24, attempt=3, substream=2).reshape(2, 2, 12)
    assert np.abs(normal(5, [9, 2**40], Stream.BODY, 2, attempt=3, substream=2) - (terms.sum(axis=2) - 6)).max() < 1e-12


@given(seed=st.integers(0, 2**64 - 1), sample=st.integers(0, 2**62), purpose=st.integers(0, 40), number=st.integers(0, 500))
def test_keyed_numbers_are_the_documented_counter(seed, sample, purpose, number):
    first, second = (uniform(seed, [sample], Stream.WAY, 2) * 2**32).astype(np.uint64)[0]
    (key,) = stream_keys(seed, [sample], Stream.WAY)
    assert key == int(second) << 32 | int(first) | 1
    drawn = philox(np.array([number, purpose, 0, 0]), [int(key) & 0xFFFFFFFF, int(key) >> 32]) / 2**32
    assert keyed(key, purpose, number) == drawn[0]
    assert keyed(key, purpose, number, bell=True) == pytest.approx(3**0.5 * (drawn.sum() - 2), abs=1e-12)


def test_without_a_key_numbers_are_in_the_middle():
    assert (keyed(np.zeros(3, np.uint64), 5, range(3)) == 0.5).all()
    assert not keyed(np.zeros(3, np.uint64), 5, range(3), bell=True).any()


def test_stream_numbers_are_kept():
    names = "PERSON BODY THEME ACTORS CAST POSITION LENGTH SEGMENT_COUNT SEGMENT LAYER SEAT MOTION VARIANT CAPTION SPLIT"
    names += " AUGMENT QUOTA MEETING CAMERA DETECTOR FACE OBJECT HABIT WAY MOMENT CONTACT ORDER SKELETON PLACEMENT"
    names += " SENSOR SENSOR_NOISE"
    assert " ".join(stream.name for stream in Stream) == names
    assert [stream.value for stream in Stream] == [*range(1, 17), 18, 24, *range(32, 40), *range(48, 53)]


def test_moments():
    numbers = uniform(1, np.arange(20_000), Stream.MOTION, 8)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.003
    assert abs(numbers.var() - 1 / 12) < 0.001
    counts = np.histogram(numbers, bins=64, range=(0, 1))[0]
    expected = numbers.size / 64
    assert ((counts - expected) ** 2 / expected).sum() < 63 + 5 * np.sqrt(2 * 63)
    assert abs(np.corrcoef(numbers, rowvar=False) - np.eye(8)).max() < 0.03
    bells = normal(1, np.arange(20_000), Stream.BODY, 3)
    assert np.abs(bells.mean(axis=0)).max() < 0.03
    assert np.abs(bells.std(axis=0) - 1).max() < 0.02
    assert 0.94 < (np.abs(bells) < 1.96).mean() < 0.96


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any), st.floats(0, 1, exclude_max=True))
def test_choose_takes_only_what_has_weight(weights, draw):
    cumulative = np.cumsum(np.array(weights, float))
    chosen = int(choose(np.array([draw]), cumulative)[0])
    assert weights[chosen] > 0
    assert (cumulative[chosen - 1] if chosen else 0) <= draw * cumulative[-1] <= cumulative[chosen]
    assert choose(np.array([draw]), cumulative[None])[0] == chosen


def test_choose_keeps_to_the_weights():
    draws = uniform(0, np.arange(40_000), Stream.THEME, 1)[:, 0]
    shares = np.bincount(choose(draws, np.array([1.0, 1.0, 4.0])), minlength=3) / len(draws)
    assert np.abs(shares - [0.25, 0, 0.75]).max() < 0.01


@given(st.integers(-5, 5), st.integers(0, 5), st.floats(0, 1, exclude_max=True))
def test_integers_stay_within(low, span, draw):
    assert low <= int(integers(np.array(draw), low, low + span)) <= low + span


def test_both_ends_are_drawn():
    drawn = integers(uniform(0, np.arange(1000), Stream.ACTORS, 1), 2, 4)
    assert set(drawn.ravel().tolist()) == {2, 3, 4}


def test_a_fitting_choice_is_that_of_the_oracle():
    rng = np.random.default_rng(8)
    n, choices = 200, 9
    weights, needed = rng.random((n, choices)) * (rng.random((n, choices)) < 0.5), rng.random((2, choices))
    draws, room, kind = rng.random(n), rng.random(n), rng.integers(0, 2, n)
    draws[:40] = 1 - 2.0**-32
    lessened, factors = rng.integers(-1, choices, (n, 2)), rng.choice([0.0, 0.3], (n, 2))
    found = choose_fitting(draws, weights, needed, kind, room, lessened, factors)
    fits = needed[kind] <= room[:, None]
    alone = list(map(naive.choose_fitting, draws, weights, fits, lessened, factors))
    assert found.tolist() == alone
    assert {-1, 0, choices - 1} <= set(alone)


@pytest.mark.parametrize("wrong", [{"attempt": 256}, {"attempt": [-1]}, {"substream": -1}, {"seed": -1}, {"seed": 2**64}])
def test_what_has_no_room_in_the_counter_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        uniform(wrong.pop("seed", 0), [0], Stream.SEGMENT, 1, **wrong)


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1), st.integers(0, 2**16 - 1))
@settings(max_examples=60, deadline=None)
def test_each_number_comes_once(size: int, seed: int, which: int) -> None:
    assert np.array_equal(np.sort(permuted(seed, range(size), size, Stream.QUOTA, which)), np.arange(size))


def permuted_alone(seed: int, number: int, size: int, tag: int) -> int:
    half = (max(size - 1, 1).bit_length() + 1) // 2
    while True:
        left, right = number >> half, number % 2**half
        for step in range(8):
            drawn = philox([right, tag, step, half], [seed % 2**32, seed >> 32])[0]
            left, right = right, left ^ int(drawn) % 2**half
        number = left << half | right
        if number < size:
            return number


@given(st.integers(1, 2**40), st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**40), min_size=1, max_size=9))
@settings(max_examples=30, deadline=None)
def test_each_number_goes_where_it_goes_alone(size: int, seed: int, numbers: list[int]) -> None:
    below = [number % size for number in numbers]
    got = permuted(seed, below, size, Stream.QUOTA, 5).tolist()
    assert got == [permuted_alone(seed, number, size, int(Stream.QUOTA) << 16 | 5) for number in below]


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
