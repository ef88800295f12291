"""From a config and sample numbers to motion, labels and captions: what generation, training and viewing all call.

A batch is a pure function of (content version, config, seed, indices); nothing here touches the disk but to read the
action library once.
"""

from __future__ import annotations

from posegen.synthesis.batch import Batch, rows_schema
from posegen.synthesis.making import synthesize

__all__ = ["Batch", "rows_schema", "synthesize"]
