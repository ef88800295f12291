"""Synthesis: motion, labels and captions of samples in memory, for generation, training and viewing.

A batch is a pure function of (content version, config, seed, indices). Only the action library is read from disk, once.
"""

from __future__ import annotations

from posegen.synthesis.attempts import synthesize
from posegen.synthesis.batch import Batch, rows_schema

__all__ = ["Batch", "rows_schema", "synthesize"]
