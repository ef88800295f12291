"""Shuffled batches of sequences, to train on: from a dataset, or from a config without one, the same to the bit.

:mod:`~posegen.streaming.order` computes which sequences are in batch k: a pure function of the seed and k, so that training
goes on at any step. :mod:`~posegen.streaming.batches` reads ahead what the next batches need, a window at a time. Where
sequences come from is a :class:`~posegen.streaming.source.Source`: the store has one, and generation has one.
"""

from __future__ import annotations

from posegen.streaming.batches import Batches, SequenceBatch, make_batches
from posegen.streaming.order import Order
from posegen.streaming.source import ArrayShape, Source

__all__ = ["ArrayShape", "Batches", "Order", "SequenceBatch", "Source", "make_batches"]
