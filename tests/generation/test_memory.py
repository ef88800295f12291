"""Freed memory is kept during a run, and given back behind it."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import resource
import numpy as np
from posegen.generation.memory import kept_memory

def touch():
    np.full(40_000_000, 1, np.uint8)

def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        touch()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

touch()
with kept_memory():
    touch()
    kept = faults(20)
print(kept, faults(20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the GNU C library is asked")
def test_freed_memory_is_kept_for_a_while() -> None:
    # Without huge pages, which would hide most of the difference.
    printed = subprocess.run(
        [sys.executable, "-c", MEASURE],
        check=True,
        stdout=subprocess.PIPE,
        env={"NUMPY_MADVISE_HUGEPAGE": "0", "PYTHONPATH": ":".join(p for p in sys.path if p)},
    ).stdout.split()
    kept, given_back = map(int, printed)
    assert given_back > 10_000, "a library that does not give memory back has nothing to be told"
    assert kept < 1_000
