"""Points at which a test may make the program die, or the disk fail.

Set ``POSEGEN_CRASH_AT`` to the name of a step, and the process kills itself there, as if the power had failed. Set
``POSEGEN_FAIL_AT`` to the name of an error, a colon and a step, as in ``EIO:syncing``, and the step fails with that error.
A step is

- ``file_placed``: whenever it is passed;
- ``file_placed@3``: when it is passed for shard 3, or whatever else the step is of;
- ``file_placed@3#2``: only the second time that this process passes it so.

The steps of a commit, each of a shard: `file_written` (a temporary file is there), passed once for each file by a thread that
writes while others are encoded, and meanwhile `encoded`; then `receipt_removed`, `file_placed` (it is in its place), once for
each file, `files_durable`, `receipt_written`, `receipt_placed`. Those of making a dataset and of publishing, each
of the number of samples that readers will see: `description_written` and `description_placed`, once for each description
that changes, `descriptions_written`, `header_written`. Those of the disk, each of the name of a file or a folder: `writing`,
`syncing` (its bytes), `placing` (moving it into its place), `syncing_folder`, `removing`.
"""

from __future__ import annotations

import errno
import os
import signal
from collections import Counter

__all__ = ["CRASH_VARIABLE", "FAIL_VARIABLE", "STEPS", "fault_point"]

CRASH_VARIABLE = "POSEGEN_CRASH_AT"
FAIL_VARIABLE = "POSEGEN_FAIL_AT"
STEPS = (
    "file_written",
    "encoded",
    "receipt_removed",
    "file_placed",
    "files_durable",
    "receipt_written",
    "receipt_placed",
)
"""The steps of a commit."""

_passed: Counter[str] = Counter()


def fault_point(step: str, of: int | str | None = None) -> None:
    """Die or fail here if the environment asks for it.

    Parameters
    ----------
    step : str
        What has just been done; for the steps of the disk, what is about to be done.
    of : int or str, optional
        To what: a shard, a number of samples, a file.

    Raises
    ------
    OSError
        If the environment asks for it.
    """
    crash, fail = os.environ.get(CRASH_VARIABLE), os.environ.get(FAIL_VARIABLE)
    if crash and _is_here(crash, step, of):
        os.kill(os.getpid(), signal.SIGKILL)
    if fail:
        name, _, wanted = fail.partition(":")
        if _is_here(wanted, step, of):
            number = getattr(errno, name)
            raise OSError(number, os.strerror(number), str(of))


def _is_here(wanted: str, step: str, of: int | str | None) -> bool:
    """Tell whether this is the step that is wanted, counting how often it is passed."""
    place, _, time = wanted.partition("#")
    if place not in (step, f"{step}@{of}"):
        return False
    _passed[place] += 1
    return not time or _passed[place] == int(time)
