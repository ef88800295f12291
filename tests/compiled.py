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
    from posegen.exchange.features263 import features_of, mean_offsets, standard_lengths
    from posegen.fields.rotation import joint_rotations
    from posegen.foundations.kernels import cache_folder

    stamp = cache_folder() / "compiled"
    if not stamp.exists():
        synthesize(load_config("crowd"), range(2))
        synthesize(load_config("smoke"), range(2))
        joints = synthesize(load_config("default"), range(1)).joints[0, 0, 0]
        features_of(joints, standard_lengths())
        joint_rotations(joints, mean_offsets())
        stamp.touch()


if __name__ == "__main__":
    compile_kernels()
