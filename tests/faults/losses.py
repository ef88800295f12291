"""Commands that write to a folder, and what each of them must have written after losses of power and one more run."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

import posegen
from benchmarks.motion.scripted import animated, shown
from posegen.config.load import load_config
from posegen.dataset.embeddings import open_embeddings
from posegen.dataset.verify import verify
from posegen.embedding.models import HASHING
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash
from posegen.library.load import load_library
from tests.faults.forks import COMMAND, SETTINGS, Finished, Forks
from tests.faults.power import Disk
from tests.faults.truth import content_of, files_of

__all__ = ["COMMANDS", "Loss", "Losses"]

SAMPLES, SHORTER = 14, 10
FPS = 25
_OWN = (".lock", ".posegen-export/")
"""Files that no reader uses."""


def _dataset(path: Path) -> object:
    """Return the content of every visible sample, the names of files, and what is wrong."""
    files = [name for name in files_of(path) if name not in _OWN]
    return content_of(path), files, [str(problem) for problem in verify(path) if problem.file not in _OWN]


def _files(path: Path) -> dict[str, str]:
    """Return the hashes of the files of a folder."""
    names = [name for name in files_of(path) if not name.startswith(_OWN)]
    return {name: byte_hash([(path / name).read_bytes()]) for name in names}


def _embeddings(path: Path) -> object:
    """Return the embedded texts and vectors, which the command compares with their receipts."""
    embedded = open_embeddings(path)
    return embedded.vectors().tolist(), embedded.rows.to_pylist()


def _page(path: Path) -> bool:
    """Return whether a page is there as a whole."""
    return path.read_text("utf-8").rstrip().endswith("</html>")


@dataclass(frozen=True)
class WritingCommand:
    """A command, or several that are run in turn.

    Attributes
    ----------
    name : str
    lines : sequence of sequence of str
        Arguments; ``{}`` is the folder that loses its power.
    written : str
        Name of what it writes.
    content : callable
        Returns what was written, for a comparison; raises PosegenError or OSError if that is damaged or absent.
    given : str
        Name of what must be there before; a dataset of 10 samples unless stated.
    damages : str
        A file of the dataset that is emptied before.
    """

    name: str
    lines: Sequence[Sequence[str]]
    written: str
    content: Callable[[Path], object]
    given: str = "dataset"
    damages: str = ""


def _generate(*options: str, out: str = "dataset") -> tuple[str, ...]:
    return (*COMMAND, "--out", f"{{}}/{out}", *options)


def _export(form: str) -> WritingCommand:
    line = ("export", "{}/dataset", "--to", form, "-o", "{}/out", "--workers=1", "--quiet")
    return WritingCommand(f"export --to {form}", [line], "out", _files)


COMMANDS = {
    command.name: command
    for command in (
        WritingCommand("generate", [_generate(f"--samples={SAMPLES}")], "dataset", _dataset, given=""),
        WritingCommand("generate (more)", [_generate(f"--samples={SAMPLES}")], "dataset", _dataset),
        WritingCommand(
            "generate --part, finish",
            [*(_generate(f"--samples={SAMPLES}", f"--part={part}/2") for part in (1, 2)), ("finish", "{}/dataset", "--quiet")],
            "dataset",
            _dataset,
            given="",
        ),
        WritingCommand(
            "verify --repair",
            [("verify", "{}/dataset", "--repair", "--quiet")],
            "dataset",
            _dataset,
            damages="motion.zarr/joints/c.1.0.0.0.0.0",
        ),
        WritingCommand("derive", [("derive", "{}/dataset", "--add=velocity", "--workers=1", "--quiet")], "dataset", _dataset),
        WritingCommand(
            "embed",
            [("embed", "{}/dataset", f"--encoder={HASHING}", "--shard=12", "--no-cache", "--quiet", "--workers=1")],
            "dataset",
            _embeddings,
        ),
        *map(_export, ("csv", "webdataset", "hf", "pyskl")),
        WritingCommand("import", [("import", "{}/clips", "--out", "{}/own", "--quiet")], "own", _files, given="clips"),
        WritingCommand("mix", [("mix", "{}/dataset", "-o", "{}/mix.json", "--quiet")], "mix.json", Path.read_bytes),
        WritingCommand(
            "report",
            [("report", "{}/dataset", "--samples=2", "--no-evaluation", "-o", "{}/report.html", "--quiet")],
            "report.html",
            _page,
        ),
    )
}


@dataclass(frozen=True)
class Loss:
    """A sequence: a command, losses of power, and the command once more.

    Attributes
    ----------
    command : str
    codes : list of int
        Exit codes, or minus the signal.
    dropped : int
        Changes and data that were lost.
    wrong : str
        What is wrong after an exit code 0; empty if nothing is.
    refused : str
        Message of the last run, if it failed and something is missing.
    """

    command: str
    codes: list[int]
    dropped: int
    wrong: str = ""
    refused: str = ""


class Losses:
    """Runs sequences.

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

    def run(self, name: str, draw: Random) -> Loss:
        """Run a sequence whose losses are drawn."""
        command = COMMANDS[name]
        expected, changes = self._undisturbed(command)
        codes, dropped = list[int](), 0
        with self._disk(command) as disk:
            for _ in range(draw.choice([1, 1, 2])):
                done = self._run(command, disk, draw.randint(1, changes + 2))
                codes.append(done.code)
                dropped += len(disk.lose_power(draw))
                if done.code == 0 and (wrong := self._find_fault(command, disk, expected)):
                    return Loss(name, codes, dropped, f"after its end: {wrong}")
            done = self._run(command, disk)
            codes.append(done.code)
            fault = self._find_fault(command, disk, expected)
            if fault and done.code == 0:
                return Loss(name, codes, dropped, fault)
            return Loss(name, codes, dropped, refused=f"{done.printed} ({fault})" if fault else "")

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
        for line in command.lines:
            arguments = [argument.replace("{}", str(disk.path)) for argument in line]
            before = disk.changes()
            done = self._forks.run(*arguments, **disk.environment(dies_after))
            if done.code:
                break
            dies_after = max(dies_after - (disk.changes() - before), 0)
        return done

    def _find_fault(self, command: WritingCommand, disk: Disk, expected: object) -> str:
        try:
            found = command.content(disk.path / command.written)
        except (PosegenError, OSError, ValueError, tarfile.TarError) as error:
            return f"{type(error).__name__}: {error}"
        if found == expected:
            return ""
        pairs = zip(str(found), str(expected), strict=False)
        end = next((end for end, (one, other) in enumerate(pairs) if one != other), 0)  # what is equal is not shown
        return f"{str(found)[end:][:300]} instead of {str(expected)[end:][:300]}"
