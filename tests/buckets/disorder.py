"""Commands that write to a bucket while a proxy delays, repeats and reorders their requests."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import posegen
from posegen.config.load import load_config
from posegen.dataset.storage.bucket import BucketPath
from tests.buckets.servers import Faults, Proxy, Server
from tests.faults import commands
from tests.faults.forks import SETTINGS, Finished, Forks
from tests.faults.truth import copy

__all__ = ["COMMANDS", "Disorders"]

SHARE = 0.3
"""Share of the requests that are disturbed."""


def _push(form: str) -> commands.WritingCommand:
    line = ("push", "{here}/longer", "{}/pushed", "--to", form, "--workers=1", "--quiet")
    return commands.WritingCommand(f"push --to {form}", [[line]], commands.hashes_of_files, "pushed", "")


COMMANDS = {
    command.name: command
    for command in (
        *commands.DATASET_COMMANDS,
        *(commands.export_of(form, "{here}/longer", "") for form in ("csv", "hf")),
        _push("bvh"),
    )
}


class Disorders:
    """Runs sequences: a command, or two at the same time, whose requests are disturbed, and if it fails, the same once more.

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
        for name, samples in (("dataset", commands.SHORTER), ("longer", commands.SAMPLES)):
            posegen.generate(config, samples=samples, workers=1, out=folder / name)
        self._expected: dict[str, object] = {}

    def run(self, name: str, seed: int) -> commands.Outcome:
        """Run a sequence whose disturbances are drawn."""
        command, draw = COMMANDS[name], Random(seed)
        expected = self._undisturbed(command)
        path = self._given(command)
        with Proxy(self._server.address, self._folder / f"log-{path.bucket[5:]}.txt", Faults(disorder=SHARE), seed) as proxy:
            done = self._run(command, path, proxy.address, is_doubled=draw.random() < 0.5)
            late = proxy.pass_on_late()
        codes = [each.code for each in done]
        fault = commands.find_fault(command, path, expected)
        if not any(codes):
            return commands.Outcome(name, codes, late, fault)
        if any(code != 1 for code in codes if code):
            return commands.Outcome(name, codes, late, refused=" ".join(each.printed for each in done if each.code))
        again = self._run(command, path, self._server.address, is_doubled=False)
        fault = commands.find_fault(command, path, expected)
        printed = again[-1].printed if again[-1].code else ""
        return commands.Outcome(name, [*codes, again[-1].code], late, refused=f"{printed} {fault}".strip())

    def _undisturbed(self, command: commands.WritingCommand) -> object:
        if command.name not in self._expected:
            path = self._given(command)
            done = self._run(command, path, self._server.address, is_doubled=False)
            assert done[-1].code == 0, f"{command.name}: {done[-1].printed}"
            self._expected[command.name] = command.content(path / command.written)
        return self._expected[command.name]

    def _given(self, command: commands.WritingCommand) -> BucketPath:
        """Return a folder of a new bucket with what must be there before."""
        path = BucketPath(f"s3://{self._server.make_bucket()}", "of-tests")
        if command.given == "dataset":
            copy(self._folder / "dataset", path / "dataset")
        if command.damages:
            (path / "dataset" / command.damages).write(b"damaged")
        return path

    def _run(self, command: commands.WritingCommand, path: BucketPath, address: str, *, is_doubled: bool) -> list[Finished]:
        """Run the steps of a command up to the first that fails; return how its lines ended."""
        done: list[Finished] = []
        environment = self._server.environment(address) | {"POSEGEN_READ_CACHE": ""}

        def run(number: int, line: Sequence[str]) -> Finished:
            filled = (each.format(path, here=self._folder) for each in line)
            return self._forks[number].run(*filled, **environment)

        for step in command.steps:
            lines = [*step, *step][:2] if is_doubled else step
            with ThreadPoolExecutor(2) as pool:
                done += pool.map(run, range(2), lines)
            if any(each.code for each in done):
                break
        return done
