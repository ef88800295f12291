"""Points at which a test can make the process die or the disk fail.

Set ``POSEGEN_CRASH_AT`` to the name of a step, and the process kills itself there, as in a power failure. Set
``POSEGEN_FAIL_AT`` to the name of an error, a colon and a step, such as ``EIO:syncing``, and the step fails with that error. A
step is

- ``file_placed``: each time it is reached;
- ``file_placed@3``: when it is reached for shard 3, or another subject;
- ``file_placed@3#2``: only the second time that this process reaches it.

Steps of a commit, whose subject is the shard: `file_written` (a temporary file exists), once per file by a thread that writes
while other files are encoded, and meanwhile `encoded`; then `receipt_removed`, `file_placed` (it has its final name), once per
file, `files_durable`, `receipt_written`, `receipt_placed`. Steps of creating and publishing a dataset, whose subject is the
number of visible samples: `description_written` and `description_placed`, once per metadata file that changes,
`descriptions_written`, `header_written`. Steps of the disk, whose subject is the name of a file or folder: `writing`,
`syncing`, `placing` (renaming to the final name), `syncing_folder`, `removing`.
"""

from __future__ import annotations

import errno
import os
import signal
from collections import Counter

CRASH_VARIABLE = "POSEGEN_CRASH_AT"
FAIL_VARIABLE = "POSEGEN_FAIL_AT"

_counts: Counter[str] = Counter()


def fault_point(step: str, subject: int | str | None = None) -> None:
    """Kill this process, or raise an error, if the environment requests it for this step.

    Parameters
    ----------
    step : str
        What has just been done; for the steps of the disk, what is about to be done.
    subject : int or str, optional
        The shard, number of samples or file that the step applies to.

    Raises
    ------
    OSError
        If the environment requests it.
    """
    crash, fail = os.environ.get(CRASH_VARIABLE), os.environ.get(FAIL_VARIABLE)
    if crash and _is_here(crash, step, subject):
        os.kill(os.getpid(), signal.SIGKILL)
    if fail:
        name, _, requested = fail.partition(":")
        if _is_here(requested, step, subject):
            number = getattr(errno, name)
            raise OSError(number, os.strerror(number), str(subject))


def _is_here(requested: str, step: str, subject: int | str | None) -> bool:
    """Return whether this is the requested step, counting how often it was reached."""
    name, _, time = requested.partition("#")
    if name not in (step, f"{step}@{subject}"):
        return False
    _counts[name] += 1
    return not time or _counts[name] == int(time)
