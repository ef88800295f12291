"""Benchmark of embedding."""

from benchmarks.embed import against_published, kills, memory, mining, rates, searching

TITLE = "Embedding captions"
MEASURES = [against_published, kills, memory, mining, rates, searching]
