"""The kernel cache must see every source that a kernel is made of."""

from __future__ import annotations

from pathlib import Path

import posegen.kernels
from posegen.kernels import KERNEL_SOURCES


def test_every_kernel_is_in_a_source_that_the_cache_hashes() -> None:
    package = Path(posegen.kernels.__file__).parent
    hashed = {path for pattern in KERNEL_SOURCES for path in package.glob(pattern)}
    written = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text()}
    assert written
    assert written <= hashed
