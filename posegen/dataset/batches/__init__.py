"""Shuffled batches of sequences to train on, from a dataset or from a config without one, with identical content.

:mod:`~posegen.dataset.batches.order` computes the sequences of batch k as a function of the seed and k, so that training
resumes at any step. :mod:`~posegen.dataset.batches.windows` prefetches the next batches, window by window, from a
:class:`~posegen.dataset.batches.windows.Source`.
"""

from __future__ import annotations

from posegen.dataset.batches.batches import WINDOW, Batches, SequenceBatch, make_batches
from posegen.dataset.batches.order import Order
from posegen.dataset.batches.windows import CAPTIONS, ArrayShape, Source

__all__ = ["CAPTIONS", "WINDOW", "ArrayShape", "Batches", "Order", "SequenceBatch", "Source", "make_batches"]
