"""`croissant.json`: a description that the reference library of Croissant validates, and reads the rows by."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.verify import verify
from tests.once import generated_once


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated_once(tmp_path_factory, "croissant", 6, "frames=40", "store.shard=4", "store.chunk=2")


def _library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mlcroissant", reason="needs mlcroissant: pip install mlcroissant")


def test_it_is_valid_and_rows_are_read_by_it(dataset: Path, recwarn: pytest.WarningsRecorder) -> None:
    library = _library()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = library.Dataset(jsonld=str(dataset / "croissant.json"))
        assert found.metadata.ctx.issues.report() == ""
        records = list(found.records("rows"))
    rows = [row for sample in range(6) for row in posegen.open(dataset).rows(sample)]
    assert [(each["rows/sample"], each["rows/variant"].decode()) for each in records] == [
        (row["sample"], row["variant"]) for row in rows
    ]
    assert [text.decode() for text in records[7]["rows/captions"]] == [each["text"] for each in rows[7]["captions"]]


def test_it_names_the_arrays_the_licence_and_what_makes_the_dataset(dataset: Path) -> None:
    content, header = json.loads((dataset / "croissant.json").read_text()), posegen.open(dataset).header
    assert content["license"] == header.licence == "CC0-1.0"
    assert header.identity in content["description"]
    files = {each["@id"]: each for each in content["distribution"]}
    assert files.keys() == {"sequences", "joints", "action", "contact"}
    assert files["joints"]["description"].endswith("float32 (sample, variant, actor, frame, joint, axis), m.")
    for each in files.values():
        assert list(dataset.glob(each["includes"]))


def test_it_is_the_same_after_more_samples_and_restored_when_lost(dataset: Path, tmp_path: Path) -> None:
    settings = [
        "--set",
        "frames=40",
        "--set",
        "store.shard=4",
        "--set",
        "store.chunk=2",
        "-w",
        "1",
        "-o",
        str(tmp_path / "own"),
    ]
    file = tmp_path / "own" / "croissant.json"
    assert main(["generate", "-c", "smoke", "-n", "2", *settings, "-q"]) == 0
    before = file.read_bytes()
    assert main(["generate", "-c", "smoke", "-n", "6", *settings, "-q"]) == 0
    assert file.read_bytes() == before
    file.write_bytes(before[:-9])
    assert [(problem.file, problem.repairable) for problem in verify(file.parent)] == [("croissant.json", True)]
    assert main(["verify", str(file.parent), "--repair", "-q"]) == 0
    assert file.read_bytes() == before
    file.unlink()
    assert verify(file.parent) == []  # as in datasets of earlier versions
