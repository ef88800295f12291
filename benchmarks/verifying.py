"""Processor time to verify a dataset / that to hash the bytes of its files, alternating.

``python -m benchmarks.verifying DATASET`` prints the result as JSON.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import xxhash

from benchmarks.measure import compare, module, printed_by
from posegen.dataset.verify import verify

PAIRS = 31


def measure(path: Path) -> dict[str, Any]:
    """Compare the shortest times: both are 20 to 30 ms, and medians of unchanged code differed by a third between processes."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]

    def hashing() -> None:
        for file in files:
            with file.open("rb", buffering=0) as opened:
                hashlib.file_digest(opened, xxhash.xxh3_128)

    def verifying() -> None:
        assert verify(path) == []

    compare(verifying, hashing, 1)  # warm-up
    gc.freeze()
    comparison = compare(verifying, hashing, PAIRS, time.process_time)
    least, least_of_hashing = min(comparison.first), min(comparison.second)
    size = sum(file.stat().st_size for file in files)
    return {"ratio": least / least_of_hashing, "bytes_per_processor_second": size / least}


def measured_apart(path: Path) -> dict[str, Any]:
    """Like :func:`measure`, in a separate process: after other tests, verifying took a third more in theirs."""
    return dict(printed_by(module("benchmarks.verifying", path)))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
