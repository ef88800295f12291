"""Keep what was read of a bucket in a folder of this machine, within a limit of bytes.

An entry is named by the address of an object and its hash in the receipt, so that an object that is stored again is another
entry. Readers check what they read here as they check what a server sends. Several processes may share the folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import user_cache
from posegen.foundations.quantities import parse_bytes

FOLDER_VARIABLE = "POSEGEN_READ_CACHE"
"""Environment variable with the folder of the cache; ``posegen/objects`` in the user's cache by default."""
LIMIT_VARIABLE = "POSEGEN_READ_CACHE_SIZE"
"""Environment variable with its largest size, such as ``50GB``; 0 to keep nothing."""
DEFAULT_LIMIT = "10GB"

_KEPT = 3 / 4
"""Share of the limit that is left when the oldest entries are removed."""
_BETWEEN = 1 / 64
"""Share of the limit that a process adds before it looks at the folder again, so that 16 processes keep the limit."""
_TEMPORARY = ".temporary"
_ABANDONED_SECONDS = 3600.0


class ReadCache:
    """Bytes by name, of which those that were not used for the longest time are removed.

    Parameters
    ----------
    folder : Path
    limit : int
        Largest number of bytes; with 0, nothing is kept.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._lock, self._added = Lock(), limit  # so that the first entry is added to a folder of known size

    def read(self, name: str) -> bytes | None:
        """Return an entry; None if there is none."""
        path = self._path(name)
        with suppress(FileNotFoundError):
            data = path.read_bytes()
            os.utime(path)
            return data
        return None

    def write(self, name: str, data: bytes) -> None:
        """Add an entry.

        Raises
        ------
        PosegenError
            If the folder cannot be written.
        """
        if len(data) > self._limit * _BETWEEN:
            return
        path = self._path(name)
        temporary = path.with_name(f"{name}~{os.getpid()}-{time.monotonic_ns()}{_TEMPORARY}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                self._added += len(data)
                if self._added > self._limit * _BETWEEN:
                    self._trim()
                    self._added = len(data)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            hint = f"Name another folder in {FOLDER_VARIABLE}, or set {LIMIT_VARIABLE}=0"
            raise PosegenError(f"{self._folder}: the cache cannot be written ({error.strerror}). {hint}") from error

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name

    def _trim(self) -> None:
        """Remove the entries that were not used for the longest time, and files of processes that died."""
        found = []
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):  # another process removes entries, too
                status = path.stat()
                if path.suffix == _TEMPORARY and time.time() - status.st_mtime > _ABANDONED_SECONDS:
                    path.unlink()
                elif path.suffix != _TEMPORARY:
                    found.append((status.st_mtime_ns, status.st_size, path))
        size = sum(size for _, size, _ in found)
        for _, freed, path in sorted(found):
            if size <= self._limit * _KEPT:
                break
            path.unlink(missing_ok=True)
            size -= freed


def open_cache(environment: Mapping[str, str]) -> ReadCache:
    """Return the cache that the environment names; UsageError if its size is not valid."""
    folder = environment.get(FOLDER_VARIABLE)
    try:
        limit = parse_bytes(environment.get(LIMIT_VARIABLE, DEFAULT_LIMIT))
    except ValueError as error:
        raise UsageError(f"{LIMIT_VARIABLE} {error}") from None
    return ReadCache(Path(folder) if folder else user_cache() / "objects", limit)
