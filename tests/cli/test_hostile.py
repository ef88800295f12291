"""Commands over datasets that lost their header or mean harm: one clear message, and nothing outside is touched."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tracemalloc
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.dataset.documents import Origin, read_sealed, seal
from posegen.dataset.header import load_header
from posegen.dataset.receipts import Receipt, complete_shards
from posegen.embedding.models import HASHING
from tests.cli.conftest import SMALL
from tests.dataset.hostile import forge_header

OPTIONS = [word for setting in SMALL for word in ("--set", setting)]


def commands(dataset: Path) -> list[list[str]]:
    path = str(dataset)
    generate = ["generate", "--config", "smoke", *OPTIONS, "--samples", "12", "--workers", "1", "--quiet", "--out", path]
    show = ["show", path, "-o", str(dataset.parent / "picture.png")]
    return [
        ["verify", path],
        ["verify", path, "--deep"],
        ["verify", path, "--repair"],
        ["info", path],
        ["diff", path, path],
        show,
        generate,
    ]


def states(folder: Path) -> dict[str, tuple[int, int]]:
    return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in folder.iterdir()}


@pytest.mark.parametrize("name", ["motion.zarr", "motion.zarr/joints", "sequences", "receipts"])
def test_links_are_followed_by_no_command(name: str, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dataset / name).rename(tmp_path / "outside")
    (dataset / name).symlink_to(tmp_path / "outside")
    if name == "sequences":
        (dataset / "receipts" / "00001.json").unlink()  # something to make again
    before = states(tmp_path / "outside")
    for command in commands(dataset):
        assert main(command) == 1, command
        out, err = capsys.readouterr()
        assert f"{name} is a link" in out + err or f"{name}: is a link" in out + err
    assert states(tmp_path / "outside") == before
    assert not (tmp_path / "picture.png").exists()


def test_a_header_that_its_config_does_not_make_is_refused(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The identity matches, so that only the fields reveal it."""
    header = load_header(dataset)
    joints = dataclasses.replace(header.fields[0], dtype="float64")
    forge_header(dataset, dataclasses.replace(header, fields=(joints, *header.fields[1:])))
    shutil.rmtree(dataset / "receipts")
    (dataset / "receipts").mkdir()
    for command in commands(dataset):
        assert main(command) == 1, command
    assert capsys.readouterr().err.count("its dataset.json has ") == 3


def test_another_kind_of_dataset_is_an_error_message(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = load_header(dataset)
    fields = tuple(dataclasses.replace(field, attributes={}) for field in header.fields)
    forge_header(dataset, dataclasses.replace(header, fields=fields))
    assert main(["info", str(dataset)]) == 1
    assert "counts other actions than those of the dataset" in capsys.readouterr().err
    for file in (dataset / "receipts").glob("*.json"):
        receipt = read_sealed(Receipt, file.read_bytes(), Origin(file.name, ""))
        file.write_bytes(seal(dataclasses.replace(receipt, counts=None)))  # as of an older version
    assert main(["show", str(dataset), "-o", str(dataset.parent / "picture.png")]) == 1
    assert "has content that posegen does not write" in capsys.readouterr().err


def test_a_run_of_another_config_does_not_touch_a_damaged_header(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dataset / "dataset.json").write_bytes(b"?")
    assert main([*commands(dataset)[-1], "--seed", "5"]) == 1
    assert "dataset.json: is not a document written by posegen" in capsys.readouterr().err
    assert (dataset / "dataset.json").read_bytes() == b"?"


def test_a_forged_note_of_a_repair_takes_no_memory(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dataset / "repair.json").write_bytes(seal({"samples": 2**53 - 1}))
    assert main(["verify", str(dataset), "--repair", "--quiet"]) == 1
    assert "more samples need about" in capsys.readouterr().err


def test_a_header_that_states_too_many_samples_takes_no_memory(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = load_header(dataset)
    forge_header(dataset, dataclasses.replace(header, samples=2**52))
    for command in commands(dataset):
        tracemalloc.start()
        code = main(command)
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (code, taken < 50e6) == (1, True), command
    assert complete_shards(dataset, header) == {0: 4, 1: 4, 2: 2}
    assert not (dataset / "repair.json").exists()
    errors = capsys.readouterr().err
    assert "not enough memory" not in errors
    assert "dataset.json: states 4,503,599,627,370,496 samples: 4,503,599,627,370,4" in errors


def test_a_sample_that_cannot_be_made_is_named_by_the_deep_check(
    dataset: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSEGEN_FAULT", "raise:sample=5")
    assert main(["verify", str(dataset), "--deep", "--quiet"]) == 1
    out, err = capsys.readouterr()
    assert "shard 1: receipts/00001.json: could not be compared: sample 5 of seed 0 could not be made" in out
    assert "1 problem in shard 1" in out
    assert "Traceback" not in out + err


def test_a_folder_in_the_place_of_the_header_is_left_to_its_user(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dataset / "dataset.json").unlink()
    (dataset / "dataset.json").mkdir()
    (dataset / "dataset.json" / "mine").write_bytes(b"mine")
    assert main(["verify", str(dataset), "--repair", "--quiet"]) == 1
    assert "Check what it is, and remove it" in capsys.readouterr().err
    assert (dataset / "dataset.json" / "mine").read_bytes() == b"mine"


def test_folders_whose_names_are_not_utf8_are_listed_escaped(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"m\xff")
    assert main(["embed", str(dataset), "--encoder", HASHING, "--no-cache", "--quiet", "--workers=1"]) == 0
    shutil.move(dataset / "embeddings" / HASHING, dataset / "embeddings" / name)
    (dataset / name).touch()
    capsys.readouterr()
    for command, code in (("status", 0), ("info", 0), ("verify", 1), ("finish", 0)):
        for options in ([], ["--json"]):
            assert main([command, str(dataset), *options]) == code
            out, _ = capsys.readouterr()
            out.encode()
            assert command != "verify" or "udcff" in out
