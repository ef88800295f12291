"""The errors that posegen tells its user about; every other exception is a fault of the program.

A message says what was wrong, where, and what to do. The command line prints it without a traceback.
"""

from __future__ import annotations

__all__ = ["PosegenError", "UsageError"]


class PosegenError(Exception):
    """Something failed or was found bad: exit code 1."""


class UsageError(PosegenError):
    """The user asked for something that cannot be: a bad option, config, file or name. Exit code 2."""
