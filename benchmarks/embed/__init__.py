"""Benchmark of embedding."""

from benchmarks.embed import against_published, int8, kills, memory, mining, rates, searching

TITLE = "Embedding captions"
MEASURES = [against_published, int8, kills, memory, mining, rates, searching]
