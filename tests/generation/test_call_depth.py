"""The way from the command to the kernels of motion, and to the bytes on disk, is short."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import posegen
from posegen.cli.main import main

MOST_CALLS = 9
PACKAGE = str(Path(posegen.__file__).parent)
CALLERS = {"animate_into": "kernel", "write": "bytes"}
"""The Python functions that call the kernel of all actors, and that write files."""


def calls_of(frame: FrameType | None) -> list[str]:
    """Return the functions of posegen on the stack, from the command inwards."""
    calls: list[str] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            calls.append(f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_code.co_name}")
        frame = frame.f_back
    calls.reverse()
    return calls[calls.index("/cli/generate.py:generate") :]


def test_kernel_and_bytes_are_at_most_nine_calls_away(tmp_path: Path) -> None:
    paths: dict[str, list[list[str]]] = {"kernel": [], "bytes": []}

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name in CALLERS and code.co_filename.startswith(PACKAGE):
            paths[CALLERS[code.co_name]].append(calls_of(frame))

    arguments = [
        "generate",
        "--config",
        "smoke",
        "--samples",
        "2",
        "--workers",
        "1",
        "--quiet",
        "--out",
        str(tmp_path / "made"),
    ]
    sys.setprofile(record)
    try:
        assert main(arguments) == 0
    finally:
        sys.setprofile(None)
    shards = [path for path in paths["bytes"] if any(call.endswith(":commit_shard") for call in path)]
    assert paths["kernel"]
    assert shards
    # The kernel itself is one more call.
    assert max(map(len, paths["kernel"])) + 1 <= MOST_CALLS, max(paths["kernel"], key=len)
    assert max(map(len, shards)) <= MOST_CALLS, max(shards, key=len)
