"""Usefulness: what pre-training on generated motion gives those who have few real clips; ``python -m benchmarks.usefulness``.

A report, not a promise: nothing here is wanted, and it says whatever comes out.
"""
