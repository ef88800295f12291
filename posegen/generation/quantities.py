"""Sizes and durations as people write them: see :mod:`posegen.quantities`."""

from __future__ import annotations

from posegen.quantities import human_bytes, human_time

__all__ = ["human_bytes", "human_time"]
