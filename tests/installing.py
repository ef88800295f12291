"""Install packages of others, which add records to posegen by entry points."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["install"]


def install(folder: Path, code: str, **records: str) -> dict[str, str]:
    """Install the module ``example`` in a folder; `records` are names in it by the group of their entry points.

    Returns
    -------
    dict of str to str
        The environment in which Python finds it.
    """
    installed = folder / "example-1.0.dist-info"
    installed.mkdir(parents=True)
    (folder / "example.py").write_text(code)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    groups = (f"[posegen.{group}]\n{name.lower()} = example:{name}\n" for group, name in records.items())
    (installed / "entry_points.txt").write_text("".join(groups))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
