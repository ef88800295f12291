"""`posegen recipe`: a small file determines a dataset, and a copy, or another machine, is compared with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.layout import receipt_path


@pytest.fixture(scope="module")
def file(intact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "small.json"
    assert main(["recipe", str(intact), "-o", str(path), "--quiet"]) == 0
    return path


def test_it_is_small_and_states_what_makes_the_dataset(file: Path) -> None:
    content = json.loads(file.read_text())
    assert file.stat().st_size < 20_000
    assert content["header"]["samples"] == 10
    assert content["header"]["config"]["frames"] == 40
    assert content["content"].keys() == {"joints", "action", "contact", "rows"}
    assert [*content["spots"]] == ["0", "1", "2", "3", "5", "6", "7", "9"]


def test_a_dataset_made_from_it_alone_in_other_shards_has_its_content(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "again"
    shards = ["--set", "store.shard=5", "--set", "store.chunk=5"]
    assert main(["generate", "--config", str(file), *shards, "-w", "1", "--out", str(out), "--quiet"]) == 0
    assert main(["recipe", str(file), "--check", str(out)]) == 0
    assert f"{out}: has the content of {file}: 10 samples." in capsys.readouterr().out
    assert main(["generate", "--config", str(file), "--samples", "12", "-w", "1", "--out", str(out), "--quiet"]) == 0
    assert main(["recipe", str(file), "--check", str(out)]) == 0  # further samples do not count


def test_this_machine_makes_the_samples_of_a_recipe_without_the_dataset(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recipe", str(file)]) == 0
    assert "8 samples of 10 made again: all are equal." in capsys.readouterr().out
    content = unseal(file.read_bytes(), Origin("recipe", ""))
    content["spots"]["3"]["joints"] = "0" * 32
    changed = tmp_path / "changed.json"
    changed.write_bytes(seal(content, indent=2))
    assert main(["recipe", str(changed), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found["differences"]) == 1
    assert found["differences"][0].startswith("sample 3: joints is ")


def test_another_dataset_fails(file: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = dataset / receipt_path(1)
    content = unseal(receipt.read_bytes(), Origin("receipt", ""))
    content["content"]["action"] = "0" * 32 + content["content"]["action"][32:]
    receipt.write_bytes(seal(content))
    assert main(["recipe", str(file), "--check", str(dataset)]) == 1
    out = capsys.readouterr().out
    assert "action is " in out
    assert "rows is " not in out
    assert f"{dataset}: 1 difference." in out
    shorter = tmp_path / "shorter"
    assert main(["generate", "--config", str(file), "-n", "6", "-w", "1", "-o", str(shorter), "--quiet"]) == 0
    assert main(["recipe", str(file), "--check", str(shorter)]) == 1
    assert "it has 6 samples, and the recipe has 10" in capsys.readouterr().out


def test_a_recipe_of_other_samples_is_refused_by_name(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = unseal(file.read_bytes(), Origin("recipe", ""))
    content["header"]["content_version"] -= 1
    older = tmp_path / "older.json"
    older.write_bytes(seal(content, indent=2))
    assert main(["recipe", str(older)]) == 1
    assert "use the posegen that made it" in capsys.readouterr().err
    older.write_bytes(file.read_bytes().replace(b'"samples": 10', b'"samples": 11'))
    assert main(["recipe", str(older)]) == 1
    assert "its hash does not match its content" in capsys.readouterr().err
    content = unseal(file.read_bytes(), Origin("recipe", "")) | {"spots": {"0": {"../joints": "0" * 32}}}
    older.write_bytes(seal(content, indent=2))
    assert main(["recipe", str(older)]) == 1
    assert "has hashes of ../joints" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["DATASET"], "Name the file for its recipe with -o"),
        (["DATASET", "--check", "DATASET"], "--check has no effect for a dataset"),
        (["FILE", "-o", "other.json"], "-o has no effect for a recipe"),
        (["nothing.json"], "there is no such file"),
    ],
)
def test_wrong_usage_is_named(
    arguments: list[str], message: str, file: Path, intact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"DATASET": str(intact), "FILE": str(file)}
    assert main(["recipe", *(names.get(text, text) for text in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_a_copy_elsewhere_is_checked_without_its_header(file: Path, intact: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(intact, tmp_path / "copy"))
    (copy / receipt_path(2)).unlink()
    assert main(["recipe", str(file), "--check", str(copy)]) == 1
