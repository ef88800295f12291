"""Compile the kernels of posegen once, into the folder that all processes of the tests share: ``python -m tests.compiled``.

The set-up of the tests and the start of pytest call it. It needs no test dependencies.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".cache" / "kernels"


def compile_kernels() -> None:
    """Compile the kernels unless that has been done for these sources."""
    os.environ.setdefault("POSEGEN_KERNEL_CACHE", str(FOLDER))
    from posegen import load_config, synthesize
    from posegen.foundations.kernels import cache_folder

    stamp = cache_folder() / "compiled"
    if not stamp.exists():
        synthesize(load_config("crowd"), range(2))
        stamp.touch()


if __name__ == "__main__":
    compile_kernels()
