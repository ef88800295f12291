"""Children that a test interrupts."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Stop ignoring Ctrl-C in a child before its program starts: it inherits that from a test in a background job."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
