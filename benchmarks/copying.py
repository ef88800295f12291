"""Time of `synthesize` with all variants, captions and labels / time of copying its arrays, on one core and alternating.

The target of the copy is allocated before. ``python -m benchmarks.copying`` prints the result as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
from typing import Any

import numpy as np

import posegen
from benchmarks.measure import compare, module, printed_by, use_one_core
from posegen.synthesis.synthesize import synthesize

NAMES = ("joints", "action", "contact")


def measure(samples: int, pairs: int) -> dict[str, Any]:
    """Compare on one core."""
    use_one_core()
    config = posegen.load_config("default")
    batch = synthesize(config, range(samples))
    arrays = [getattr(batch, name) for name in NAMES]
    targets = [np.zeros_like(array) for array in arrays]

    def copy() -> None:
        for target, source in zip(targets, arrays, strict=True):
            np.copyto(target, source)

    def synthesize_again() -> None:
        synthesize(config, range(samples))

    compare(synthesize_again, copy, 1)  # warm-up
    gc.freeze()
    comparison = compare(synthesize_again, copy, pairs)
    sequences = samples * len(config.variants.names)
    return {
        "samples": samples,
        "ratio": comparison.ratio,
        "synthesizing_microseconds": 1e6 * statistics.median(comparison.first) / sequences,
        "copying_microseconds": 1e6 * statistics.median(comparison.second) / sequences,
        "megabytes": sum(array.nbytes for array in arrays) / 1e6,
    }


def measured_apart(samples: int, pairs: int) -> dict[str, Any]:
    """Like :func:`measure`, in a separate process, because a process stays on its one core."""
    return dict(printed_by(module("benchmarks.copying", "--samples", samples, "--pairs", pairs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200, help="as many as in a shard")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    print(json.dumps(measure(options.samples, options.pairs)))


if __name__ == "__main__":
    main()
