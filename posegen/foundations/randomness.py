"""Counter-based random numbers: a number is a function of its purpose, not of earlier draws.

A number is Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011) of a key made
from the seed and a counter made from (sample, attempt, stream, substream, position). Draws have no
state, so that sample 7 has the same numbers on any machine, and a new stream changes no other stream.

===========  =====================================================
word         holds
===========  =====================================================
key 0, 1     seed, low and high half
counter 0    block: position // 4, as a block yields four numbers
counter 1    stream << 16 | attempt << 8 | substream
counter 2, 3 sample, low and high half
===========  =====================================================

Kernels draw from a key of 64 bits, made in this way for each person and scene: its halves are the key of Philox, and counters 1
and 0 are a purpose and a number. XOR with the hash of a name gives the key of a person for an action.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array
from posegen.foundations.kernels import kernel

_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = 10
_UNIT = 1.0 / (1 << 32)
_NORMAL_TERMS = 12
_KEYED_SPREAD = float(np.sqrt(3.0))
_PERMUTATION_ROUNDS = 8
_LARGEST_PERMUTATION = 1 << 40
_LARGEST = {"stream": 0xFFFF, "attempt": 0xFF, "substream": 0xFF}


class Stream(IntEnum):
    """Purpose of a number. The values are part of the content: a new stream has a new value, and none is reused."""

    PERSON = 1
    BODY = 2
    THEME = 3
    ACTORS = 4
    CAST = 5
    POSITION = 6
    LENGTH = 7
    SEGMENT_COUNT = 8
    SEGMENT = 9
    LAYER = 10
    SEAT = 11
    MOTION = 12
    VARIANT = 13
    CAPTION = 14
    SPLIT = 15
    AUGMENT = 16
    QUOTA = 18
    MEETING = 24
    CAMERA = 32
    DETECTOR = 33
    FACE = 34
    OBJECT = 35
    HABIT = 36
    WAY = 37
    MOMENT = 38
    CONTACT = 39
    ORDER = 48
    SKELETON = 49
    PLACEMENT = 50
    SENSOR = 51
    SENSOR_NOISE = 52


@kernel
def _block(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    for _ in range(_ROUNDS):
        first = _MULTIPLIER_0 * c0
        second = _MULTIPLIER_1 * c2
        c0 = (second >> _HALF) ^ c1 ^ k0
        c1 = second & _LOW
        c2 = (first >> _HALF) ^ c3 ^ k1
        c3 = first & _LOW
        k0 = (k0 + _WEYL_0) & _LOW
        k1 = (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


def philox_kernel(counter: Array, key: Array) -> Array:
    """Compute Philox4x32-10 in numba.

    Parameters
    ----------
    counter : uint32 [n, 4]
    key : uint32 [n, 2]

    Returns
    -------
    uint32 [n, 4]
    """
    out = np.empty(counter.shape, np.uint32)
    _fill_blocks(counter, key, out)
    return out


@kernel
def _fill_blocks(counter: Array, key: Array, out: Array) -> None:
    for i in range(counter.shape[0]):
        words = _block(
            np.uint64(counter[i, 0]),
            np.uint64(counter[i, 1]),
            np.uint64(counter[i, 2]),
            np.uint64(counter[i, 3]),
            np.uint64(key[i, 0]),
            np.uint64(key[i, 1]),
        )
        for j in range(4):
            out[i, j] = words[j]


@kernel
def _keyed_block(key: Any, purpose: int, number: int) -> Any:
    if key == 0:
        half = np.uint64(1 << 31)
        return half, half, half, half
    none = np.uint64(0)
    return _block(np.uint64(number) & _LOW, np.uint64(purpose), none, none, key & _LOW, key >> _HALF)


@kernel
def keyed_uniform(key: Any, purpose: int, number: int) -> Any:
    """Return the number on [0, 1) that a key, uint64, has for a purpose; .5 without a key (0)."""
    return _keyed_block(key, purpose, number)[0] * _UNIT


@kernel
def keyed_uniforms(key: Any, purpose: int, number: int) -> Any:
    """Return four such numbers, the first of them that of :func:`keyed_uniform`."""
    words = _keyed_block(key, purpose, number)
    return words[0] * _UNIT, words[1] * _UNIT, words[2] * _UNIT, words[3] * _UNIT


@kernel
def keyed_normal(key: Any, purpose: int, number: int) -> Any:
    """Return the number that a key has for a purpose, about standard normal and at most 3.5; 0 without a key.

    It is a sum of four uniform numbers, whose deviation is 1/sqrt(3).
    """
    one, two, three, four = keyed_uniforms(key, purpose, number)
    return _KEYED_SPREAD * (one + two + three + four - 2.0)


@kernel
def _fill_keyed(keys: Array, purpose: int, numbers: Array, bell: bool, out: Array) -> None:
    for i in range(len(keys)):
        out[i] = keyed_normal(keys[i], purpose, numbers[i]) if bell else keyed_uniform(keys[i], purpose, numbers[i])


def keyed(keys: Array, purpose: int, numbers: ArrayLike = 0, *, bell: bool = False) -> Array:
    """Return the numbers that keys have for a purpose.

    Parameters
    ----------
    keys : uint64 [...]
        See :func:`stream_keys`; 0 is no key.
    purpose : int
        0 to 2^32 - 1.
    numbers : int or int [...]
        Which of the numbers, 0 to 2^32 - 1.
    bell : bool
        Whether the numbers are about standard normal (without a key 0), instead of uniform on [0, 1) (without a key .5).

    Returns
    -------
    float64, the shape of `keys` and `numbers` broadcast together

    Examples
    --------
    >>> keys = stream_keys(0, [6, 7], Stream.WAY)
    >>> together, alone = keyed(keys[:, None], 3, range(4)), keyed(keys[1:], 3, 2)
    >>> bool(together[1, 2] == alone[0])
    True
    """
    every, which = np.broadcast_arrays(np.asarray(keys, np.uint64), np.asarray(numbers, np.int64))
    out = np.empty(every.size)
    _fill_keyed(every.flatten(), purpose, which.flatten(), bell, out)
    return out.reshape(every.shape)


def stream_keys(seed: int, samples: ArrayLike, stream: Stream, *, attempt: ArrayLike = 0, substream: int = 0) -> Array:
    """Return a key of 64 bits for each sample, from which kernels draw; it is odd, and so never 0.

    Parameters and errors are those of :func:`uniform`.

    Returns
    -------
    uint64 [n]
    """
    halves = uniform(seed, samples, stream, 2, attempt=attempt, substream=substream) * (1 << 32)
    low, high = halves.astype(np.uint64).T
    return np.asarray(high << _HALF | low | np.uint64(1))


@kernel
def _fill(seed: Any, samples: Array, purposes: Array, first: int, out: Array) -> None:
    count = out.shape[1]
    for i in range(samples.shape[0]):
        purpose = purposes[i]
        for block in range(first // 4, (first + count + 3) // 4):
            words = _block(np.uint64(block), purpose, samples[i] & _LOW, samples[i] >> _HALF, seed & _LOW, seed >> _HALF)
            for j in range(4):
                position = block * 4 + j - first
                if 0 <= position < count:
                    out[i, position] = words[j] * _UNIT


def uniform(
    seed: int,
    samples: ArrayLike,
    stream: Stream,
    count: int,
    *,
    attempt: ArrayLike = 0,
    substream: int = 0,
    first: int = 0,
) -> Array:
    """Return numbers uniform on [0, 1), multiples of 2^-32.

    Parameters
    ----------
    seed : int
        0 to 2^64 - 1.
    samples : int64 [n]
    stream : Stream
        Purpose of the numbers.
    count : int
        Numbers per sample; number j does not depend on it.
    attempt : int or int [n]
        Number of the attempt at planning the sample, 0 to 255.
    substream : int
        Index of the actor, 0 to 255.
    first : int
        Position of the first number.

    Returns
    -------
    float64 [n, count]

    Examples
    --------
    >>> together = uniform(0, [6, 7], Stream.MOTION, 4)
    >>> alone = uniform(0, [7], Stream.MOTION, 2)
    >>> bool((together[1, :2] == alone[0]).all())
    True
    """
    attempts = attempt if isinstance(attempt, int) else np.asarray(attempt, np.int64)
    extremes = (attempts, attempts) if isinstance(attempts, int) else (attempts.min(initial=0), attempts.max(initial=0))
    for name, value in (("stream", stream), ("attempt", extremes[0]), ("attempt", extremes[1]), ("substream", substream)):
        if not 0 <= value <= _LARGEST[name]:
            raise ValueError(f"{name} is {value}; it must lie between 0 and {_LARGEST[name]}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed is {seed}; it must lie between 0 and 2^64 - 1")
    indices = np.ascontiguousarray(samples, np.int64).view(np.uint64)
    out = np.empty((len(indices), count))
    purposes = np.empty(len(indices), np.uint64)
    purposes[:] = int(stream) << 16 | attempts << 8 | substream
    _fill(np.uint64(seed), indices, purposes, first, out)
    return out


def normal(seed: int, samples: ArrayLike, stream: Stream, count: int, *, attempt: ArrayLike = 0, substream: int = 0) -> Array:
    """Return approximately standard normal numbers, at most 6: sums of 12 uniform numbers minus 6.

    The usual methods need a logarithm or a cosine, which differ between machines.

    Returns
    -------
    float64 [n, count]
    """
    terms = uniform(seed, samples, stream, count * _NORMAL_TERMS, attempt=attempt, substream=substream)
    total = terms[:, ::_NORMAL_TERMS] - 6.0
    # Sequential additions: the order in a NumPy reduction depends on the CPU.
    for i in range(1, _NORMAL_TERMS):
        total = total + terms[:, i::_NORMAL_TERMS]
    return np.asarray(total)


def integers(draws: Array, low: ArrayLike, high: ArrayLike) -> Array:
    """Return integers from `low` to `high`, both included, for draws on [0, 1).

    Returns
    -------
    int64, the shape of the broadcast arguments
    """
    lowest = np.asarray(low, np.int64)
    span = np.asarray(high, np.int64) - lowest + 1
    return np.asarray(lowest + np.floor(draws * span).astype(np.int64))


def choose(draws: Array, cumulative: Array) -> Array:
    """Return the index chosen by each draw on [0, 1), given cumulative weights.

    Parameters
    ----------
    draws : float [n]
    cumulative : float [choices] or [n, choices]
        Cumulative sums of the weights. An index with weight 0 is never chosen.

    Returns
    -------
    int64 [n]

    Examples
    --------
    >>> choose(np.array([0.0, 0.2, 0.9]), np.array([0.0, 1.0, 1.0, 2.0])).tolist()
    [1, 1, 3]
    """
    beyond = cumulative > (draws * cumulative[..., -1])[..., None]
    chosen = beyond.argmax(axis=-1)
    if not beyond[..., -1].all():
        # Rounding may raise a draw just below 1 to the total; it chooses the last index with a weight.
        last = np.sum(cumulative < cumulative[..., -1:], axis=-1, dtype=np.int64)
        chosen = np.where(beyond[..., -1], chosen, last)
    return np.asarray(chosen, np.int64)


def choose_fitting(
    draws: Array, weights: Array, needed: Array, kind: Array, room: Array, lessened: Array, factors: Array
) -> Array:
    """Return the index chosen by each draw on [0, 1) among the choices that fit.

    Parameters
    ----------
    draws : float [n]
    weights : float [n, choices]
    needed : float [kinds, choices]
        A choice fits where this is at most `room`.
    kind : int [n]
        Row of `needed` for each draw.
    room : float [n]
    lessened : int [n, k]
        Choices whose weights are multiplied by `factors`, float [n, k]; -1 for none.

    Returns
    -------
    int64 [n]
        -1 where no choice that fits has a weight.
    """
    chosen, work = np.empty(len(draws), np.int64), np.empty(weights.shape[1])
    numbers, places = (weights, needed, room, factors, draws), (kind, lessened)
    weights, needed, room, factors, draws = (np.ascontiguousarray(values, np.float64) for values in numbers)
    kind, lessened = (np.ascontiguousarray(values, np.int64) for values in places)
    _fill_choices(draws, weights, needed, kind, room, lessened, factors, work, chosen)
    return chosen


@kernel
def _fill_choices(
    draws: Array,
    weights: Array,
    needed: Array,
    kind: Array,
    room: Array,
    lessened: Array,
    factors: Array,
    work: Array,
    chosen: Array,
) -> None:
    for i in range(len(draws)):
        for c in range(len(work)):
            work[c] = weights[i, c]
        for k in range(lessened.shape[1]):
            if lessened[i, k] >= 0:
                work[lessened[i, k]] *= factors[i, k]
        total = 0.0
        for c in range(len(work)):
            total += work[c] if needed[kind[i], c] <= room[i] else 0.0
            work[c] = total
        # Rounding may raise a draw just below 1 to the total; it chooses the last index with a weight.
        c, limit = 0, draws[i] * total
        while work[c] <= limit and work[c] < total:
            c += 1
        chosen[i] = c if total > 0.0 else -1


def permuted(seed: int, numbers: ArrayLike, size: int, stream: Stream, which: int = 0) -> Array:
    """Permute numbers below `size` with a keyed permutation that is computed for each number separately.

    A Feistel network (Luby and Rackoff, How to construct pseudorandom permutations from pseudorandom functions, 1988) permutes
    numbers with an even number of bits. Results that are too large are permuted again (cycle walking: Black and Rogaway,
    Ciphers with arbitrary finite domains, 2002).

    Parameters
    ----------
    seed : int
        0 to 2^64 - 1.
    numbers : int64 [n]
        0 to `size` - 1.
    size : int
        1 to 2^40.
    stream : Stream
        Purpose of the permutation.
    which : int
        Number of the permutation, 0 to 2^16 - 1; different numbers give independent permutations.

    Returns
    -------
    int64 [n]
        A permutation of 0 to `size` - 1 if `numbers` is one.

    Raises
    ------
    ValueError
        If a number is not below `size`, or `size` is out of its range.

    Examples
    --------
    >>> sorted(permuted(7, range(5), 5, Stream.QUOTA).tolist())
    [0, 1, 2, 3, 4]
    """
    values = np.array(numbers, np.int64)
    if not 1 <= size <= _LARGEST_PERMUTATION:
        raise ValueError(f"size is {size}; it must lie between 1 and 2^40")
    if values.size and not 0 <= values.min() <= values.max() < size:
        raise ValueError(f"numbers go from {values.min()} to {values.max()}; they must lie between 0 and {size - 1}")
    half = (max(size - 1, 1).bit_length() + 1) // 2
    tag = int(stream) << 16 | which
    key = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
    walking = np.arange(len(values))
    while len(walking):
        values[walking] = _network(values[walking], half, tag, key)
        walking = walking[values[walking] >= size]
    return values


def _network(values: Array, half: int, tag: int, key: Array) -> Array:
    mask = np.int64((1 << half) - 1)
    left, right = values >> half, values & mask
    counter = np.empty((len(values), 4), np.uint32)
    keys = np.broadcast_to(key, (len(values), 2)).copy()
    for number in range(_PERMUTATION_ROUNDS):
        counter[:, 0], counter[:, 1] = right, tag
        counter[:, 2], counter[:, 3] = number, half
        drawn = philox_kernel(counter, keys)[:, 0].astype(np.int64) & mask
        left, right = right, left ^ drawn
    return left << half | right
