"""Every small document, damaged: the commands that read it refuse it with a way on that works, or have an equal result."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.dataset.header import load_header
from posegen.dataset.parts import record_parts, record_repair
from posegen.dataset.write import publish
from posegen.embedding.models import HASHING
from tests.cli.conftest import SMALL
from tests.once import made_once

GENERATE = ["generate", "--config", "smoke", *(part for each in SMALL for part in ("--set", each)), "--samples", "10"]
GENERATE += ["--workers", "1", "--out", "{path}"]
EMBED = ["embed", "{path}", "--encoder", HASHING, "--no-cache", "--workers", "1"]
EXPORT = ["export", "{path}", "--to", "csv", "-o", "{path}.csv", "--workers", "1"]
ELSEWHERE = [*EXPORT[:-3], "{path}.other", *EXPORT[-2:]]
VECTORS = f"embeddings/{HASHING}"

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "flipped": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
}
EQUAL: list[tuple[str, list[str]]] = [
    ("/dataset.json", GENERATE),
    ("/dataset.copy.json", GENERATE),
    ("/receipts/00001.json", GENERATE),
    ("/motion.zarr/zarr.json", GENERATE),
    ("/motion.zarr/joints/zarr.json", GENERATE),
    *((f"/{VECTORS}/receipts/{kind}/00000.json", EMBED) for kind in ("rows", "texts", "vectors", "search")),
    (f"/{VECTORS}/vectors.zarr/zarr.json", EMBED),
    (".csv/.posegen-export/000001.json", EXPORT),
    (".csv/.posegen-export/complete", EXPORT),
]
"""Documents that a command makes again from what is in other files."""
REFUSED: list[tuple[str, list[str], list[str]]] = [
    ("/dataset.json", ["info", "{path}"], GENERATE),
    ("/receipts/00001.json", ["info", "{path}"], GENERATE),
    ("/parts.json", ["finish", "{path}"], GENERATE),
    ("/parts.json", ["status", "{path}"], GENERATE),
    ("/parts.json", ["verify", "{path}"], GENERATE),
    ("/parts.json", GENERATE, GENERATE),
    ("/repair.json", ["info", "{path}"], GENERATE),
    ("/repair.json", ["finish", "{path}"], GENERATE),
    ("/repair.json", ["verify", "{path}", "--repair"], GENERATE),
    ("/repair.json", GENERATE, GENERATE),
    (f"/{VECTORS}/embeddings.json", EMBED, EMBED),
    (f"/{VECTORS}/embeddings.json", ["search", "{path}", "walk", "--encoder", HASHING], EMBED),
    (f"/{VECTORS}/receipts/texts/00000.json", ["search", "{path}", "walk", "--encoder", HASHING], EMBED),
    (".csv/.posegen-export/selection.json", EXPORT, ELSEWHERE),
]
"""Documents whose content is in no other file, and commands that only read; then the command that makes them again."""
RECORDS = {
    "/parts.json": lambda path: record_parts(path, 10, 2, "a-run"),
    "/repair.json": lambda path: record_repair(path, 10, "a"),
}


@pytest.fixture(scope="module")
def whole(intact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset, its embeddings and an export."""

    def make(folder: Path) -> None:
        shutil.copytree(intact, folder / "data")
        for command in (EMBED, EXPORT):
            assert run(folder / "data", command) == 0

    return made_once(tmp_path_factory, "documents", make)


def run(path: Path, command: list[str]) -> int:
    return main([part.format(path=path) for part in command])


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files that do not hold times and names of runs."""
    files = (file for file in folder.rglob("*") if file.is_file() and "receipts" not in file.parts)
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in files
        if file.name != "embeddings.json" and file.parent.name != ".posegen-export"
    }


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("name", "command"), EQUAL)
def test_a_document_is_made_again(name: str, command: list[str], damage: str, whole: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(whole, tmp_path / "copy")
    document = Path(f"{folder / 'data'}{name}")
    document.write_bytes(DAMAGES[damage](document.read_bytes()))
    assert run(folder / "data", command) == 0
    assert contents(folder) == contents(whole)
    assert run(folder / "data", ["verify", "{path}"]) == 0


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("name", "command", "remedy"), REFUSED)
def test_a_document_is_refused_with_a_way_on(
    name: str,
    command: list[str],
    remedy: list[str],
    damage: str,
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(whole, tmp_path / "copy")
    path, document = folder / "data", Path(f"{folder / 'data'}{name}")
    if name in RECORDS:
        publish(path, load_header(path), 4, "a-run")
        RECORDS[name](path)
    document.write_bytes(DAMAGES[damage](document.read_bytes()))
    before = contents(folder)
    capsys.readouterr()
    assert run(path, command) in (1, 2)
    message = "".join(capsys.readouterr())
    assert document.name in message
    assert contents(folder) == before
    if re.search(r"[Dd]elete|[Rr]emove", message):
        document.unlink()
    assert run(path, remedy) == 0
    assert run(path, [part.replace(".csv", ".other") for part in command] if remedy is ELSEWHERE else command) == 0
    made = {file: data for file, data in contents(folder).items() if ".other" not in file}
    expected = contents(whole)
    assert made.keys() == expected.keys()
    assert {file for file, data in made.items() if data != expected[file]} == set()
