"""The standard streams of the process, which may be closed, full, or a pipe whose reader has ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TextIO, cast

from posegen.errors import PosegenError

_OUTPUT, _ERRORS = 1, 2


def guard_streams() -> None:
    """Make failures to write results one error, and ignore failures to write messages.

    Standard output carries results: if it cannot be written, the command fails, but keeps what it made. Standard error carries
    progress, notes and error messages: if it cannot be written, the command does what it does otherwise.
    """
    if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
        return  # the program runs inside another one, which has redirected them
    # A file that is opened later, here or in a worker, must not take the number of a closed stream, to which libraries write.
    for number in (0, _OUTPUT, _ERRORS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_WRONLY if number == _ERRORS else os.O_RDONLY), True)
    output: Any = sys.stdout or os.fdopen(_OUTPUT, "w", closefd=False)
    errors = sys.stderr or os.fdopen(_ERRORS, "w", closefd=False)
    output.reconfigure(errors="backslashreplace")  # for letters that its encoding lacks, as on standard error
    sys.stdout, sys.stderr = (cast(TextIO, _Stream(stream, needed=stream is output)) for stream in (output, errors))


class _Stream:
    """A text stream. After a failure, what is still buffered and what follows is discarded."""

    def __init__(self, stream: TextIO, *, needed: bool) -> None:
        self._stream = stream
        self._needed = needed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if text != "":  # which click writes to learn the kind of the stream
            self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self._needed:
                if isinstance(error, BrokenPipeError):
                    raise  # click ends the command without a message: the reader wants no more
                msg = f"standard output cannot be written ({error.strerror}); redirect it elsewhere. Written files are complete"
                raise PosegenError(msg) from error
