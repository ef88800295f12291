"""Keep the current folder out of the import path: a file there, such as ``random.py``, must not run as a part of posegen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HOME = str(Path(__file__).resolve().parents[2])


def protect_imports() -> None:
    """Remove the current folder from the import path of this process and of all that it starts.

    ``python -m posegen`` puts it first. It stays if posegen itself lies there or ``PYTHONPATH`` names it.
    """
    sys.path[:] = safe_path()
    os.environ["PYTHONSAFEPATH"] = "1"


def safe_path() -> list[str]:
    """Return the import path of this process without the current folder."""
    try:
        here = os.path.realpath(os.getcwd())
    except FileNotFoundError:  # it was deleted
        return [entry for entry in sys.path if entry]
    requested = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = {_HOME, *(os.path.realpath(entry) for entry in requested if entry)}
    return [entry for entry in sys.path if entry and (os.path.realpath(entry) != here or here in kept)]
