"""A small disk in memory, mounted temporarily if the user may mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["can_mount", "fill_up", "small_disk"]

SIZE = 96 << 20


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """Mount a disk in memory; a run requires 64 MB of free space before it starts."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def can_mount(folder: Path) -> bool:
    """Return whether this user may mount a disk in memory."""
    try:
        with small_disk(folder / "trial"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def fill_up(filler: Path, room: int) -> None:
    """Fill the disk except `room` bytes."""
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 2**16):
            pass
    with suppress(OSError):
        os.truncate(filler, max(0, filler.stat().st_size - room))
