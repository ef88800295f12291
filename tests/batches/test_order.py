"""The order of batches: every sequence once per epoch, another order in each epoch, and batch k at any time."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.dataset.batches import Order
from posegen.foundations.randomness import Stream
from tests.naive import philox

orders = st.builds(
    Order,
    seed=st.integers(0, 2**64 - 1),
    samples=st.integers(1, 60),
    variants=st.integers(1, 4),
    chunk=st.integers(1, 12),
    size=st.integers(1, 30),
    window=st.integers(1, 150),
    lanes=st.integers(1, 5),
    chosen=st.just(b"") | st.binary(min_size=100, max_size=100),
)


def used(order: Order) -> list[tuple[int, int]]:
    every = [(sample, variant) for sample in range(order.samples) for variant in range(order.variants)]
    if not order.chosen:
        return every
    bits = "".join(f"{byte:08b}" for byte in order.chosen)
    return [(sample, variant) for sample, variant in every if bits[sample * order.variants + variant] == "1"]


def listed(order: Order, epoch: int) -> list[tuple[int, int]]:
    sequences = []
    for number in range(epoch * order.per_epoch, (epoch + 1) * order.per_epoch):
        samples, variants = order.sequences_of(order.pieces(number))
        sequences += list(zip(samples.tolist(), variants.tolist(), strict=True))
    return sequences


def naive(order: Order, epoch: int) -> list[tuple[int, int]]:
    """Return the sequences of an epoch in order, with one lane: chunks, then each window, sorted by random numbers."""

    def shuffled(things: list, window: int) -> list:
        key = [order.seed % 2**32, order.seed >> 32]
        words = [philox([i, window, epoch, int(Stream.ORDER)], key) for i in range(len(things))]
        return [things[i] for i in sorted(range(len(things)), key=lambda i: (int(words[i][0]), int(words[i][1])))]

    chunks = shuffled(list(range(0, order.samples, order.chunk)), 2**32 - 1)
    many = max(1, order.window // (order.chunk * order.variants))
    sequences = []
    for window, first in enumerate(range(0, len(chunks), many)):
        held = [
            (sample, variant)
            for start in chunks[first : first + many]
            for sample, variant in sorted(used(order), key=lambda pair: pair[::-1])
            if start <= sample < start + order.chunk
        ]
        sequences += shuffled(held, window)
    return sequences


@given(orders, st.integers(0, 3))
def test_an_epoch_has_every_sequence_once(order: Order, epoch: int) -> None:
    assert Counter(listed(order, epoch)) == Counter(used(order))
    assert order.listed().tolist() == [sample * order.variants + variant for sample, variant in used(order)]


@settings(max_examples=30)
@given(orders, st.integers(0, 5))
def test_the_order_matches_a_naive_shuffle(order: Order, epoch: int) -> None:
    straight = Order(**{**vars(order), "lanes": 1})
    assert listed(straight, epoch) == naive(order, epoch)


@given(orders)
def test_drop_last_drops_only_the_last_batch(order: Order) -> None:
    dropping = Order(**{**vars(order), "drop_last": True})
    assert dropping.per_epoch == len(used(order)) // order.size
    for number in range(dropping.per_epoch):
        assert np.array_equal(dropping.sequences_of(dropping.pieces(number)), order.sequences_of(order.pieces(number)))


@settings(max_examples=40)
@given(orders)
def test_lanes_have_the_same_batches_in_another_order(order: Order) -> None:
    straight = Order(**{**vars(order), "lanes": 1})

    def batches(which: Order) -> list[tuple]:
        return sorted(
            tuple(np.stack(which.sequences_of(which.pieces(number))).reshape(-1).tolist()) for number in range(which.per_epoch)
        )

    assert batches(order) == batches(straight)


@given(orders)
def test_a_lane_advances_through_windows(order: Order) -> None:
    """Each lane stays in a window or advances to the next ones, never back."""
    whole = order.total // order.size
    for lane in range(order.lanes):
        windows = [piece.window for number in range(lane, whole, order.lanes) for piece in order.pieces(number)]
        assert windows == sorted(windows)


def test_the_order_of_ten_million_samples_is_fast() -> None:
    order = Order(seed=1, samples=10_000_000, variants=5, chunk=20, size=64, window=1280)
    samples, variants = order.sequences_of(order.pieces(order.per_epoch * 3 - 1))
    assert len(samples) == 50_000_000 % 64 or len(samples) == 64
    assert 0 <= samples.min() <= samples.max() < 10_000_000
    assert set(variants.tolist()) <= set(range(5))
