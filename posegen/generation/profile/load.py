"""How busy the machine is, and by whom: what this process and its children spend, and what all others do."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import psutil

__all__ = ["Load", "swapped_bytes"]

_NOT_BUSY = ("idle", "iowait", "guest", "guest_nice")


@dataclass(frozen=True)
class Load:
    """The machine from one moment on.

    Attributes
    ----------
    since : float
        The moment, of the monotonic clock.
    busy, own : float
        Seconds on cores until then: of everybody, and of this process and its children.
    swapped : int
        Bytes swapped in and out until then.
    """

    since: float = field(default_factory=time.monotonic)
    busy: float = field(default_factory=lambda: _busy_seconds())
    own: float = field(default_factory=lambda: _own_seconds())
    swapped: int = field(default_factory=lambda: swapped_bytes())

    def others(self) -> float:
        """Tell how many cores all other processes have used since."""
        seconds = time.monotonic() - self.since
        used = _busy_seconds() - self.busy - (_own_seconds() - self.own)
        return max(used, 0.0) / seconds if seconds > 0 else 0.0

    def swapping(self) -> int:
        """Count the bytes swapped in and out since."""
        return max(swapped_bytes() - self.swapped, 0)


def swapped_bytes() -> int:
    """Count the bytes swapped in and out since the machine was started; 0 where the system does not tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # by which psutil says that the system does not tell
        swap = psutil.swap_memory()
    return int(swap.sin + swap.sout)


def _busy_seconds() -> float:
    times = psutil.cpu_times()._asdict()
    # Time that other machines on the same hardware take (steal) is taken from this one too; that of guests is told under user.
    return float(sum(seconds for kind, seconds in times.items() if kind not in _NOT_BUSY))


def _own_seconds() -> float:
    parent = psutil.Process()
    own = parent.cpu_times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for child in parent.children(recursive=True):
        try:
            spent = child.cpu_times()
        except psutil.NoSuchProcess:
            continue  # it now counts among the children that have ended
        seconds += spent.user + spent.system + spent.children_user + spent.children_system
    return float(seconds)
