"""Faults from outside: a library in LD_PRELOAD kills a process, or lets a call fail, at a chosen call of the C library.

`injection.c` describes the calls. The library is compiled once for its source, into `.cache/faults`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

__all__ = ["COMPILER", "VARIABLE", "Call", "inject", "needs_compiler", "preloaded"]

COMPILER = (shutil.which("cc") or shutil.which("gcc")) if sys.platform == "linux" else None
VARIABLE = "POSEGEN_TEST_FAULT"
SOURCE = Path(__file__).with_suffix(".c")
FOLDER = Path(__file__).parents[2] / ".cache" / "faults"

needs_compiler = pytest.mark.skipif(not COMPILER, reason="faults are injected on Linux, by a library that needs a C compiler")


def preloaded() -> dict[str, str]:
    """Return the environment of a process whose children may be given faults; empty where there is no compiler."""
    return {"LD_PRELOAD": str(_library())} if COMPILER else {}


@dataclass(frozen=True)
class Call:
    """A call of a process.

    Attributes
    ----------
    moment, call, pattern : str
        As in `injection.c`.
    time : int
        The how manieth such call it is, from 1; 0 for each.
    """

    moment: str
    call: str
    pattern: str
    time: int = 1


def inject(*calls: Call, error: str = "") -> dict[str, str]:
    """Return the environment of a process that dies, or gets an error such as ``EIO``, at the last of several calls.

    Each of them is awaited after the one before.
    """
    actions = ["next"] * (len(calls) - 1) + [str(getattr(errno, error)) if error else "kill"]
    rules = [f"{it.moment} {it.call} {it.time} {action} {it.pattern}" for it, action in zip(calls, actions, strict=True)]
    return preloaded() | {VARIABLE: "\n".join(rules)}


@cache
def _library() -> Path:
    """Return the compiled library."""
    source = SOURCE.read_bytes()
    library = FOLDER / f"{hashlib.sha256(source).hexdigest()[:16]}.so"
    if not library.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        # Another process may compile it at the same time: each renames its own file.
        temporary = library.with_suffix(f".{os.getpid()}")
        subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O2", "-o", temporary, SOURCE, "-ldl"], check=True)
        temporary.replace(library)
    return library
