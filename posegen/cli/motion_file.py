"""The file that ``posegen compose`` and ``posegen animate`` write: a picture, an animation or arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from posegen.cli.options import file_option
from posegen.errors import UsageError

ARRAYS = ".npz"
_SUFFIXES = (".gif", ".png", ARRAYS)

motion_file_option = file_option("Output file: .gif (animation), .png (poses over time) or .npz (arrays).")


def check_motion_path(out: Path) -> None:
    """Raise UsageError if the output cannot be written, before anything is computed."""
    from posegen.viewing.render import check_path

    if out.suffix.lower() not in _SUFFIXES:
        msg = f"cannot write '{out}': the name must end in .gif, .png or .npz"
        raise UsageError(msg)
    if out.suffix.lower() != ARRAYS:
        check_path(out)
    elif not out.parent.is_dir():
        msg = f"cannot write '{out}': the folder '{out.parent}' does not exist; create it first"
        raise UsageError(msg)


def write_arrays(out: Path, arrays: dict[str, Any]) -> None:
    """Write arrays and the names of the joints to an ``.npz`` file."""
    import numpy as np

    from posegen.skeleton import JOINTS

    with out.open("wb") as file:  # NumPy would add .npz to a name such as out.NPZ
        np.savez_compressed(file, joint_names=np.array(JOINTS), **arrays)
