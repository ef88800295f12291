"""Errors that are reported to the user; every other exception is a bug.

A message contains the problem, its location and the fix. The command line prints it without a traceback.
"""

from __future__ import annotations

import re
from pathlib import Path


class PosegenError(Exception):
    """A failure, or damaged data: exit code 1."""


class UsageError(PosegenError):
    """An invalid option, config, file or name: exit code 2."""


def require_positive(name: str, value: int | None) -> None:
    """Raise UsageError if an option is given and less than 1."""
    if value is not None and value < 1:
        raise UsageError(f"{name} must be at least 1 (got {value})")


def require_local(path: str | Path) -> None:
    """Raise UsageError if a path is the address of a server: ``s3://bucket/motion`` would become a folder ``s3:``."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        raise UsageError(
            f"{path}: is an address; name a local folder or file. posegen push uploads a dataset to s3:// addresses"
        )
