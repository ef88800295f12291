"""Benchmark of usefulness: the gain of pre-training on generated motion when real clips are few.

It is a report without a target. Run it by ``python -m benchmarks.usefulness``.
"""
