"""Commands that write to a bucket while a proxy delays, repeats and reorders their requests, and what they must write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

import posegen
from posegen.config.load import load_config
from posegen.dataset.embeddings import open_embeddings
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import verify
from posegen.embedding.models import HASHING
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash
from tests.buckets.servers import Faults, Proxy, Server
from tests.faults.forks import COMMAND, SETTINGS, Finished, Forks
from tests.faults.truth import content_of, copy, files_of

__all__ = ["COMMANDS", "Disorder", "Disorders"]

SAMPLES, SHORTER = 14, 10
SHARE = 0.3
"""Share of the requests that are disturbed."""


def _dataset(path: BucketPath) -> object:
    """Return the content of every visible sample, the names of objects, and what is wrong."""
    return content_of(path), files_of(path), [str(problem) for problem in verify(path)]


def _files(path: BucketPath) -> dict[str, str]:
    """Return the hashes of objects; a card names the bucket, which differs."""
    names = [name for name in path.list() if not name.startswith(".posegen-export/")]
    return {name: byte_hash([(path / name).read().replace(path.bucket.encode(), b"")]) for name in names}


def _embeddings(path: BucketPath) -> object:
    embedded = open_embeddings(path)
    return embedded.vectors().tolist(), embedded.rows.to_pylist()


@dataclass(frozen=True)
class BucketCommand:
    """A command, or several.

    Attributes
    ----------
    name : str
    steps : sequence of sequence of sequence of str
        Arguments of commands; those of a step run at the same time. ``{}`` is the folder in the bucket, ``{here}`` and
        ``{staging}`` are local ones.
    content : callable
        Returns what was written to the folder, for a comparison; raises PosegenError or OSError if that is damaged or absent.
    written, given : str
        Names of what is written, and of what must be there before; a dataset of 10 samples unless stated.
    damages : str
        An object of the dataset that is replaced by another content before.
    """

    name: str
    steps: Sequence[Sequence[Sequence[str]]]
    content: Callable[[BucketPath], object] = _dataset
    written: str = "dataset"
    given: str = "dataset"
    damages: str = ""


def _generate(*options: str) -> tuple[str, ...]:
    return (*COMMAND, "--out", "{}/dataset", f"--samples={SAMPLES}", *options)


def _export(form: str) -> BucketCommand:
    line = ("export", "{here}/longer", "--to", form, "-o", "{}/out", "--workers=1", "--quiet")
    return BucketCommand(f"export --to {form}", [[line]], _files, "out", "")


def _push(form: str) -> BucketCommand:
    line = ("push", "{here}/longer", "{}/pushed", "--to", form, "--replace", "--staging={staging}", "--workers=1", "--quiet")
    return BucketCommand(f"push --to {form}", [[line]], _files, "pushed", f"pushed-{form}")


_EMBED = ("embed", "{}/dataset", f"--encoder={HASHING}", "--shard=12", "--no-cache", "--quiet", "--workers=1")
COMMANDS = {
    command.name: command
    for command in (
        BucketCommand("generate", [[_generate()]], given=""),
        BucketCommand("generate (more)", [[_generate()]]),
        BucketCommand(
            "generate --part, finish",
            [[_generate("--part=1/2"), _generate("--part=2/2")], [("finish", "{}/dataset", "--quiet")]],
        ),
        BucketCommand(
            "verify --repair",
            [[("verify", "{}/dataset", "--repair", "--quiet")]],
            damages="motion.zarr/joints/c.1.0.0.0.0.0",
        ),
        BucketCommand("derive", [[("derive", "{}/dataset", "--add=velocity", "--workers=1", "--quiet")]]),
        BucketCommand("embed", [[_EMBED]], _embeddings),
        *map(_export, ("csv", "webdataset", "hf")),
        *map(_push, ("webdataset", "hf")),
    )
}


@dataclass(frozen=True)
class Disorder:
    """A sequence: a command, or two at the same time, whose requests are disturbed, and if it fails, the same once more.

    Attributes
    ----------
    command : str
    codes : list of int
        Exit codes.
    late : int
        Requests that were passed on late, or once more.
    wrong : str
        What is wrong after only exit codes 0; empty if nothing is.
    refused : str
        Message of the last run, if it failed or something is still missing.
    """

    command: str
    codes: list[int]
    late: int
    wrong: str = ""
    refused: str = ""


class Disorders:
    """Runs sequences.

    Parameters
    ----------
    folder : Path
        Empty folder.
    server : Server
    forks : pair of Forks
        For commands at the same time.
    """

    def __init__(self, folder: Path, server: Server, forks: tuple[Forks, Forks]) -> None:
        self._folder, self._server, self._forks = folder, server, forks
        config = load_config("smoke", SETTINGS)
        for name, samples in (("dataset", SHORTER), ("longer", SAMPLES)):
            posegen.generate(config, samples=samples, workers=1, out=folder / name)
        for form in ("webdataset", "hf"):
            posegen.export(folder / "dataset", form, folder / f"pushed-{form}", workers=1)
        self._expected: dict[str, object] = {}

    def run(self, name: str, seed: int) -> Disorder:
        """Run a sequence whose disturbances are drawn."""
        command, draw = COMMANDS[name], Random(seed)
        expected = self._undisturbed(command)
        path = self._given(command)
        proxy = Proxy(self._server.address, self._folder / f"log-{path.bucket[5:]}.txt", Faults(disorder=SHARE), seed)
        try:
            done = self._run(command, path, proxy.address, is_doubled=draw.random() < 0.5)
            late = proxy.pass_on_late()
        finally:
            proxy.stop()
        codes = [each.code for each in done]
        fault = self._find_fault(command, path, expected)
        if not any(codes):
            return Disorder(name, codes, late, fault)
        if any(code != 1 for code in codes if code):
            return Disorder(name, codes, late, refused=" ".join(each.printed for each in done if each.code))
        again = self._run(command, path, self._server.address, is_doubled=False)
        fault = self._find_fault(command, path, expected)
        printed = again[-1].printed if again[-1].code else ""
        return Disorder(name, [*codes, again[-1].code], late, refused=f"{printed} {fault}".strip())

    def _undisturbed(self, command: BucketCommand) -> object:
        if command.name not in self._expected:
            path = self._given(command)
            done = self._run(command, path, self._server.address, is_doubled=False)
            assert done[-1].code == 0, f"{command.name}: {done[-1].printed}"
            self._expected[command.name] = command.content(path / command.written)
        return self._expected[command.name]

    def _given(self, command: BucketCommand) -> BucketPath:
        """Return a folder of a new bucket with what must be there before."""
        path = BucketPath(f"s3://{self._server.make_bucket()}", "of-tests")
        if command.given == "dataset":
            copy(self._folder / "dataset", path / "dataset")
        elif command.given:
            source = self._folder / command.given
            for name in (name for name in files_of(source) if not name.startswith(".")):
                (path / "pushed" / name).write((source / name).read_bytes())
        if command.damages:
            (path / "dataset" / command.damages).write(b"damaged")
        return path

    def _run(self, command: BucketCommand, path: BucketPath, address: str, *, is_doubled: bool) -> list[Finished]:
        """Run the steps of a command up to the first that fails; return how its lines ended."""
        done: list[Finished] = []
        environment = self._server.environment(address) | {"POSEGEN_READ_CACHE_SIZE": "0"}

        def run(number: int, line: Sequence[str]) -> Finished:
            staging = self._folder / f"staging-{command.name.split()[-1]}-{number}"
            filled = (each.format(path, here=self._folder, staging=staging) for each in line)
            return self._forks[number].run(*filled, **environment)

        for step in command.steps:
            lines = [*step, *step][:2] if is_doubled else step
            with ThreadPoolExecutor(2) as pool:
                done += pool.map(run, range(2), lines)
            if any(each.code for each in done):
                break
        return done

    def _find_fault(self, command: BucketCommand, path: BucketPath, expected: object) -> str:
        try:
            found = command.content(path / command.written)
        except (PosegenError, OSError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        if found == expected:
            return ""
        pairs = zip(str(found), str(expected), strict=False)
        end = next((end for end, (one, other) in enumerate(pairs) if one != other), 0)  # what is equal is not shown
        return f"{str(found)[end:][:300]} instead of {str(expected)[end:][:300]}"
