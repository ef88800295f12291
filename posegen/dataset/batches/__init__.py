"""Shuffled batches of sequences, to train on: from a dataset, or from a config without one, the same to the bit.

:mod:`~posegen.dataset.batches.order` computes which sequences are in batch k: a pure function of the seed and k, so that
training resumes at any step. :mod:`~posegen.dataset.batches.batches` reads ahead what the next batches need, a window at a
time. Sequences come from a :class:`~posegen.dataset.batches.source.Source`: the store has one, and generation has one.
"""

from __future__ import annotations

from posegen.dataset.batches.batches import Batches, SequenceBatch, make_batches
from posegen.dataset.batches.order import Order
from posegen.dataset.batches.source import ArrayShape, Source

__all__ = ["ArrayShape", "Batches", "Order", "SequenceBatch", "Source", "make_batches"]
