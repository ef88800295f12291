"""Refuse links that lead out of a folder of a user: such a folder may come from anyone, and names only its own files."""

from __future__ import annotations

import os
from pathlib import Path

from posegen.foundations.errors import UsageError


def require_inside(folder: Path, file: Path) -> None:
    """Raise UsageError if a file in a folder is a link, or lies behind one, to something outside the folder.

    Parameters
    ----------
    folder : Path
        May be a link itself.
    file : Path
        Begins with `folder`.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"{file}: is a link to something outside {folder}; put a copy of the file there, or leave it out")
