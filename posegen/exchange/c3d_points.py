"""Write the points of a C3D file as npz: ``python -m posegen.exchange.c3d_points FILE.c3d OUT.npz``.

The library ezc3d crashes on damaged files, and allocates what they declare. It therefore runs in this process, which has a
limit of memory and of time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_MEMORY, _MEMORY_PER_BYTE = 2**30, 60
"""Bytes of memory in all, and for each byte of the file: the library keeps an object for each point."""
_SECONDS, _BYTES_PER_SECOND = 4, 500_000
"""Processor time in all, and bytes that are read in a second at least."""


def main(path: Path, out: Path) -> None:
    """Read a C3D file and write ``labels``, ``points`` [4, point, frame] and ``fps``."""
    if sys.platform != "win32":
        import resource

        size = path.stat().st_size
        limits = {
            resource.RLIMIT_AS: _MEMORY + _MEMORY_PER_BYTE * size,
            resource.RLIMIT_CPU: _SECONDS + size // _BYTES_PER_SECOND,
            resource.RLIMIT_CORE: 0,
        }
        for what, most in limits.items():
            resource.setrlimit(what, (most, most))
    # NumPy starts a thread for each core and reserves memory for each thread.
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    import ezc3d
    import numpy as np

    content = ezc3d.c3d(str(path))
    labels = np.array([str(label) for label in content["parameters"]["POINT"]["LABELS"]["value"]], np.str_)
    fps = content["header"]["points"]["frame_rate"]
    np.savez(out, labels=labels, points=content["data"]["points"], fps=fps)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
