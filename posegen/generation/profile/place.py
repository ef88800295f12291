"""A temporary folder on the disk that is meant, which is gone afterwards, however the profile ends.

Where a killed profile left one, the next finds it by a note in the user's cache, wherever it looks itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from posegen.dataset.files import read_file
from posegen.dataset.runs import current_run, has_ended
from posegen.errors import PosegenError
from posegen.generation.profile.figures import cache_folder
from posegen.generation.stopping import undisturbed

__all__ = ["disk_folder", "temporary_folder"]

_NAME = ".posegen-profile~"
_NOTES = "running"
_MOST_BYTES = 1 << 16


def disk_folder(out: Path) -> Path:
    """Find a folder on the disk of a dataset at `out`; around it, so that nothing gets into one that is there."""
    place = Path(os.path.abspath(out))
    around = next(folder for folder in (*place.parents, place) if folder.is_dir())
    is_disk_of_its_own = place.is_dir() and place.stat().st_dev != around.stat().st_dev
    return place if is_disk_of_its_own else around


@contextmanager
def temporary_folder(out: Path) -> Iterator[Path]:
    """Make an empty folder on the disk that `out` is on, and take it away again with all that is in it.

    Raises
    ------
    OSError
        If none can be made.
    """
    _sweep()
    run = current_run()
    folder = disk_folder(out) / f"{_NAME}{run}"
    note = cache_folder() / _NOTES / f"{run}.txt"
    with suppress(OSError):  # without a cache that can be written, all is well unless this process is killed
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(str(folder), encoding="utf-8")
    try:
        folder.mkdir(exist_ok=True)
        yield folder
    finally:
        with undisturbed():
            _remove(folder)
            with suppress(OSError):
                note.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    # A worker that is being stopped may still write: what it adds meanwhile is removed by the second time.
    for last in (False, True):
        shutil.rmtree(folder, ignore_errors=not last or not folder.exists())


def _sweep() -> None:
    """Remove the folders of profiles that were killed."""
    for note in cache_folder().joinpath(_NOTES).glob("*.txt"):
        if not has_ended(note.stem):
            continue
        with suppress(OSError, PosegenError, UnicodeDecodeError):
            folder = Path(read_file(note, _MOST_BYTES).decode())
            # Whatever the note says, nothing else is ever removed.
            if folder.name == f"{_NAME}{note.stem}" and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
            if not folder.name.startswith(_NAME) or not folder.exists():
                note.unlink(missing_ok=True)
