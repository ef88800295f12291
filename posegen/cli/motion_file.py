"""The file that ``posegen compose`` and ``posegen animate`` write: a picture, an animation or arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from posegen.cli.options import file_option

ARRAYS = ".npz"

motion_file_option = file_option("Output file: .gif (animation), .png (poses over time) or .npz (arrays).")


def check_motion_path(out: Path) -> None:
    """Raise UsageError if the output cannot be written, before anything is computed."""
    from posegen.viewing.render import SUFFIXES, check_path

    check_path(out, (*SUFFIXES, ARRAYS))


def write_arrays(out: Path, arrays: dict[str, Any]) -> None:
    """Write arrays and the names of the joints to an ``.npz`` file."""
    import numpy as np

    from posegen.skeleton import JOINTS

    with out.open("wb") as file:  # NumPy would add .npz to a name such as out.NPZ
        np.savez_compressed(file, joint_names=np.array(JOINTS), **arrays)
