"""`synthesize` with all its variants, captions and labels, beside copying the arrays that it gives, on one core and in turns.

Copying goes into memory that is there already. ``python -m benchmarks.copying`` prints the result as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
from typing import Any

import numpy as np

import posegen
from benchmarks.measure import ROOT, compare, use_one_core
from posegen.synthesis import synthesize

NAMES = ("joints", "action", "contact")


def measure(samples: int, pairs: int) -> dict[str, Any]:
    """Compare on one core."""
    use_one_core()
    config = posegen.load_config("default")
    batch = synthesize(config, range(samples))
    arrays = [getattr(batch, name) for name in NAMES]
    room = [np.zeros_like(array) for array in arrays]

    def copying() -> None:
        for target, source in zip(room, arrays, strict=True):
            np.copyto(target, source)

    def synthesizing() -> None:
        synthesize(config, range(samples))

    compare(synthesizing, copying, 1)  # the first of everything is slower
    gc.freeze()
    comparison = compare(synthesizing, copying, pairs)
    sequences = samples * len(config.variants.names)
    return {
        "samples": samples,
        "ratio": comparison.ratio,
        "synthesizing_microseconds": 1e6 * statistics.median(comparison.first) / sequences,
        "copying_microseconds": 1e6 * statistics.median(comparison.second) / sequences,
        "megabytes": sum(array.nbytes for array in arrays) / 1e6,
    }


def measured_apart(samples: int, pairs: int) -> dict[str, Any]:
    """Like :func:`measure`, in a process of its own: one that keeps to a core does so for ever."""
    command = [sys.executable, "-m", "benchmarks.copying", "--samples", str(samples), "--pairs", str(pairs)]
    result: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200, help="as many as a shard has")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    print(json.dumps(measure(options.samples, options.pairs)))


if __name__ == "__main__":
    main()
