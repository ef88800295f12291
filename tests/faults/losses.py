"""Commands that write to a folder that loses its power."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np

import posegen
from benchmarks.motion.scripted import animated, shown
from posegen.config.load import load_config
from posegen.dataset.files import read_file
from posegen.dataset.storage.address import AnyPath
from posegen.library.load import load_library
from tests.faults.commands import DATASET_COMMANDS, SHORTER, Outcome, WritingCommand, export_of, find_fault, hashes_of_files
from tests.faults.forks import SETTINGS, Finished, Forks
from tests.faults.power import Disk

__all__ = ["COMMANDS", "Losses"]

FPS = 25
MUCH = 1 << 30


def _bytes(path: AnyPath) -> bytes:
    return read_file(path, MUCH)


def _page(path: AnyPath) -> bool:
    """Return whether a page is there as a whole."""
    return _bytes(path).rstrip().endswith(b"</html>")


_REPORT = ("report", "{}/dataset", "--samples=2", "--no-evaluation", "-o", "{}/report.html", "--quiet")
COMMANDS = {
    command.name: command
    for command in (
        *DATASET_COMMANDS,
        *(export_of(form, "{}/dataset", "dataset") for form in ("csv", "hf", "pyskl")),
        WritingCommand("import", [[("import", "{}/clips", "--out", "{}/own", "--quiet")]], hashes_of_files, "own", "clips"),
        WritingCommand("mix", [[("mix", "{}/dataset", "-o", "{}/mix.json", "--quiet")]], _bytes, "mix.json"),
        WritingCommand("report", [[_REPORT]], _page, "report.html"),
    )
}


class Losses:
    """Runs sequences: a command, losses of power, and the command once more.

    Parameters
    ----------
    folder : Path
        Empty folder.
    forks : Forks
    """

    def __init__(self, folder: Path, forks: Forks) -> None:
        self._folder, self._forks = folder, forks
        self._given = folder / "given"
        posegen.generate(load_config("smoke", SETTINGS), samples=SHORTER, workers=1, out=self._given / "dataset")
        library = load_library()
        (self._given / "clips").mkdir()
        for recording in animated(shown(library, "squat", 1, FPS, neutral=True), library, FPS):
            np.savez(self._given / "clips" / "squat.npz", joints=recording.joints, fps=FPS)
        self._expected: dict[str, tuple[object, int]] = {}

    def run(self, name: str, draw: Random) -> Outcome:
        """Run a sequence whose losses are drawn."""
        command = COMMANDS[name]
        expected, changes = self._undisturbed(command)
        codes, dropped = list[int](), 0
        with self._disk(command) as disk:
            for _ in range(draw.choice([1, 1, 2])):
                done = self._run(command, disk, draw.randint(1, changes + 2))
                codes.append(done.code)
                dropped += len(disk.lose_power(draw))
                if done.code == 0 and (wrong := find_fault(command, disk.path, expected)):
                    return Outcome(name, codes, dropped, f"after its end: {wrong}")
            done = self._run(command, disk)
            codes.append(done.code)
            fault = find_fault(command, disk.path, expected)
            if fault and done.code == 0:
                return Outcome(name, codes, dropped, fault)
            return Outcome(name, codes, dropped, refused=f"{done.printed} ({fault})" if fault else "")

    def _undisturbed(self, command: WritingCommand) -> tuple[object, int]:
        """Return what a command writes without a loss, and the number of its changes."""
        if command.name not in self._expected:
            with self._disk(command) as disk:
                done = self._run(command, disk)
                assert done.code == 0, f"{command.name}: {done.printed}"
                self._expected[command.name] = command.content(disk.path / command.written), disk.changes()
        return self._expected[command.name]

    @contextmanager
    def _disk(self, command: WritingCommand) -> Iterator[Disk]:
        folder = self._folder / "power"
        try:
            disk = Disk(folder)
            if command.given:
                shutil.copytree(self._given / command.given, disk.path / command.given)
            if command.damages:
                os.truncate(disk.path / "dataset" / command.damages, 0)
            yield disk
        finally:
            shutil.rmtree(folder)

    def _run(self, command: WritingCommand, disk: Disk, dies_after: int = 0) -> Finished:
        done = Finished(0, "")
        for line in (line for step in command.steps for line in step):
            before = disk.changes()
            done = self._forks.run(*(argument.format(disk.path) for argument in line), **disk.environment(dies_after))
            if done.code:
                break
            dies_after = max(dies_after - (disk.changes() - before), 0)
        return done
