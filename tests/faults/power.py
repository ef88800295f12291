"""A simulated power loss: what a process has changed in a folder and not synced is dropped, in part or as a whole.

`injection.c` notes the changes and kills the process after one of them. The data of a file last once the file is synced; that a
name was added, moved or removed lasts once its folder is synced. Of the changes of a folder that were not synced, a first part
may last, as on a file system with a journal, and of the data of a file everything, a half, zeros or nothing.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

from tests.faults.injection import preloaded

__all__ = ["Disk"]


@dataclass(frozen=True)
class _Change:
    """A change of the names in a folder, as in a line of the journal."""

    kind: str
    path: Path
    new: Path
    before: str

    @property
    def folder(self) -> Path:
        """The folder that is to be synced."""
        return (self.new if self.kind == "r" else self.path).parent


class Disk:
    """A folder that loses its power.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self._journal = folder.resolve() / "disk", folder.resolve() / "journal"
        self.path.mkdir(parents=True)
        self._journal.mkdir()

    def environment(self, dies_after: int = 0) -> dict[str, str]:
        """Return the environment of a process whose changes are noted, and that dies after one of them unless that is 0."""
        return preloaded() | {"POSEGEN_TEST_POWER": f"{dies_after} {self._journal} {self.path}"}

    def changes(self) -> int:
        """Return the number of changes since the power was lost."""
        return len(self._lines())

    def lose_power(self, draw: Random) -> list[str]:
        """Drop what was not synced; return descriptions of what was dropped."""
        names: dict[Path, int] = {}
        unsynced, dirty, lost, numbers = list[_Change](), set[int](), list[str](), count()

        def file_at(path: Path) -> int:
            return names.setdefault(path, next(numbers))

        for kind, path, new, before in self._lines():
            change = _Change(kind, Path(path), Path(new), before)
            if kind == "w":
                dirty.add(file_at(change.path))
            elif kind == "s":
                dirty.discard(file_at(change.path))
                unsynced = [each for each in unsynced if each.folder != change.path]
            else:
                if before:
                    names[Path(before)] = file_at(change.new if kind == "r" else change.path)
                if kind == "r":
                    names[change.new] = names.pop(change.path, next(numbers))
                elif kind == "c":
                    names.pop(change.path, None)
                unsynced.append(change)
        for path, file in names.items():
            if file in dirty and path.is_file() and not path.is_symlink():
                lost += _drop_data(path, draw)
        # File systems differ: one may write the names of all files, another one none.
        most, least = draw.choice([(0, 0), (100, 0), (100, 100)])
        kept = {folder: draw.randint(least, most) for folder in sorted({each.folder for each in unsynced})}
        counts = {folder: sum(each.folder == folder for each in unsynced) for folder in kept}
        lasting = {folder: counts[folder] * share // 100 for folder, share in kept.items()}
        position = dict(counts)
        for change in reversed(unsynced):
            position[change.folder] -= 1
            if position[change.folder] >= lasting[change.folder]:
                _undo(change)
                lost.append(f"{change.kind} {change.new if change.kind == 'r' else change.path}")
        shutil.rmtree(self._journal)
        self._journal.mkdir()
        return lost

    def _lines(self) -> list[list[str]]:
        file = self._journal / "changes"
        return [line.split("\t") for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def _drop_data(path: Path, draw: Random) -> list[str]:
    """Replace the data of a file by what may be left of them."""
    size, left = path.stat().st_size, draw.choice(["all", "half", "zeros", "nothing"])
    if left == "all":
        return []
    with path.open("r+b") as file:
        file.truncate(0 if left != "half" else size // 2)
        if left == "zeros":
            file.truncate(size)
    return [f"{left} left of {path}"]


def _undo(change: _Change) -> None:
    """Undo a change of names. Folders that are missing have lost their own name."""
    path = change.new if change.kind == "r" else change.path
    if change.kind == "d":
        if path.parent.is_dir():
            path.mkdir(exist_ok=True)
        return
    if not path.parent.is_dir():
        return
    if change.kind == "m":
        shutil.rmtree(path, ignore_errors=True)
        return
    if change.kind == "r" and os.path.lexists(path):
        if change.path.parent.is_dir() and not os.path.lexists(change.path):
            path.rename(change.path)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    elif change.kind == "c" and os.path.lexists(path):
        path.unlink()
    if change.before and not os.path.lexists(path):
        os.link(change.before, path, follow_symlinks=False)
