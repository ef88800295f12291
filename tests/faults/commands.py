"""Commands that write to a folder or a bucket, and what each of them must have written after disturbances and one more run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from posegen.dataset.embeddings import open_embeddings
from posegen.dataset.files import read_file
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import verify
from posegen.embedding.models import HASHING
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash
from tests.faults.forks import COMMAND
from tests.faults.truth import content_of, files_of

__all__ = ["DATASET_COMMANDS", "SAMPLES", "SHORTER", "Outcome", "WritingCommand", "export_of", "find_fault", "hashes_of_files"]

SAMPLES, SHORTER = 14, 10
MUCH = 1 << 30
_OWN = (".lock", ".posegen-export/")
"""Files that no reader uses."""


def _dataset(path: AnyPath) -> object:
    """Return the content of every visible sample, the names of files, and what is wrong."""
    files = [name for name in files_of(path) if name not in _OWN]
    return content_of(path), files, [str(problem) for problem in verify(path) if problem.file not in _OWN]


def _embeddings(path: AnyPath) -> object:
    """Return the embedded texts and vectors, which the command compares with their receipts."""
    embedded = open_embeddings(path)
    return embedded.vectors().tolist(), embedded.rows.to_pylist()


def hashes_of_files(path: AnyPath) -> dict[str, str]:
    """Return the hashes of files; a card names the bucket, which differs."""
    bucket = path.bucket.encode() if isinstance(path, BucketPath) else b""
    names = [name for name in files_of(path) if not name.startswith(_OWN)]
    return {name: byte_hash([read_file(path / name, MUCH).replace(bucket, b"")]) for name in names}


@dataclass(frozen=True)
class WritingCommand:
    """A command, or several.

    Attributes
    ----------
    name : str
    steps : sequence of sequence of sequence of str
        Arguments of commands; those of a step may run at the same time. ``{}`` is the place that is disturbed, ``{here}`` is
        another folder.
    content : callable
        Returns what was written, for a comparison; raises PosegenError or OSError if that is damaged or absent.
    written, given : str
        Names of what is written, and of what must be there before; a dataset of 10 samples unless stated.
    damages : str
        A file of the dataset that is replaced before.
    """

    name: str
    steps: Sequence[Sequence[Sequence[str]]]
    content: Callable[[AnyPath], object] = _dataset
    written: str = "dataset"
    given: str = "dataset"
    damages: str = ""


@dataclass(frozen=True)
class Outcome:
    """A sequence: a command that is disturbed, and the same once more.

    Attributes
    ----------
    command : str
    codes : list of int
        Exit codes, or minus the signal.
    disturbances : int
        Changes and data that were lost, or requests that were passed on late or twice.
    wrong : str
        What is wrong after an exit code 0; empty if nothing is.
    refused : str
        Message of the last run, if it failed or something is still missing.
    """

    command: str
    codes: list[int]
    disturbances: int
    wrong: str = ""
    refused: str = ""


def _generate(*options: str) -> tuple[str, ...]:
    return (*COMMAND, "--out", "{}/dataset", f"--samples={SAMPLES}", *options)


def export_of(form: str, source: str, given: str) -> WritingCommand:
    """Return the command that exports a dataset in a format."""
    line = ("export", source, "--to", form, "-o", "{}/out", "--workers=1", "--quiet")
    return WritingCommand(f"export --to {form}", [[line]], hashes_of_files, "out", given)


_EMBED = ("embed", "{}/dataset", f"--encoder={HASHING}", "--shard=12", "--no-cache", "--quiet", "--workers=1")
_REPAIR = ("verify", "{}/dataset", "--repair", "--quiet")
DATASET_COMMANDS = (
    WritingCommand("generate", [[_generate()]], given=""),
    WritingCommand("generate (more)", [[_generate()]]),
    WritingCommand(
        "generate --part, finish",
        [[_generate("--part=1/2"), _generate("--part=2/2")], [("finish", "{}/dataset", "--quiet")]],
    ),
    WritingCommand("verify --repair", [[_REPAIR]], damages="motion.zarr/joints/c.1.0.0.0.0.0"),
    WritingCommand("derive", [[("derive", "{}/dataset", "--add=velocity", "--workers=1", "--quiet")]]),
    WritingCommand("embed", [[_EMBED]], _embeddings),
)
"""Commands that write to a dataset, in a folder as in a bucket."""


def find_fault(command: WritingCommand, path: AnyPath, expected: object) -> str:
    """Return how what a command wrote differs from what it must write; empty if it does not."""
    try:
        found = command.content(path / command.written)
    except (PosegenError, OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    if found == expected:
        return ""
    pairs = zip(str(found), str(expected), strict=False)
    end = next((end for end, (one, other) in enumerate(pairs) if one != other), 0)  # what is equal is not shown
    return f"{str(found)[end:][:300]} instead of {str(expected)[end:][:300]}"
