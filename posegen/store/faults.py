"""Points at which a test may make the program die.

Set ``POSEGEN_CRASH_AT`` to the name of a step, or to ``step@shard``, and the process kills itself there, as if the power
had failed. The steps of a commit, in order: `encoded`, `receipt_removed`, `file_written` (a temporary file is there) and
`file_placed` (it is in its place), each passed once for each file of the shard, `files_durable`, `receipt_written`,
`receipt_placed`. Those of making a dataset and of publishing: `descriptions_written`, `header_written`.
"""

from __future__ import annotations

import os
import signal

__all__ = ["CRASH_VARIABLE", "STEPS", "fault_point"]

CRASH_VARIABLE = "POSEGEN_CRASH_AT"
STEPS = (
    "encoded",
    "receipt_removed",
    "file_written",
    "file_placed",
    "files_durable",
    "receipt_written",
    "receipt_placed",
)
"""The steps of a commit."""


def fault_point(step: str, shard: int | None = None) -> None:
    """Die here if the environment asks for it.

    Parameters
    ----------
    step : str
        What has just been done.
    shard : int, optional
        To which shard.
    """
    wanted = os.environ.get(CRASH_VARIABLE)
    if wanted and wanted in (step, f"{step}@{shard}"):
        os.kill(os.getpid(), signal.SIGKILL)
