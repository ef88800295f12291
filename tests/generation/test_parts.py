"""Parts: any jobs in any order make the same dataset as one run, and what is missing is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.lock import locked
from posegen.dataset.parts import Part, parse_part
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError, UsageError
from posegen.generation.describe import find_status
from posegen.generation.finish import finish
from tests.generation.runs import assert_equal_content


def test_a_part_is_read() -> None:
    assert [parse_part(part) for part in ("3/16", "all", Part(1, 2), None)] == [Part(3, 16), None, Part(1, 2), None]


@pytest.mark.parametrize(
    ("text", "message"),
    [("3", "such as 3/16"), ("auto", "such as 3/16"), ("0/4", "from 1 to the number"), ("5/4", "from 1 to the number")],
)
def test_a_part_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_part(text)


def test_parts_in_any_order_make_the_same_as_one_run(small: Config, fourteen: Path, tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    for number, made in ((3, 1), (1, 2), (3, 0)):  # the third part has shard 2, the first has shards 0 and 3
        result = posegen.generate(small, samples=14, workers=1, out=path, part=f"{number}/3")
        assert (result.shards_made, result.samples, result.part) == (made, 0, f"{number}/3")
    assert verify(path) == []
    found = find_status(path)
    assert (found.made, found.shards, found.samples, found.target, found.running) == (3, 4, 0, 14, [])
    early = finish(path)
    assert (early.samples, early.missing, early.parts, early.of_parts) == (4, [(1, 1)], [2], 3)
    assert len(posegen.open(path)) == 4
    # A job of another number of parts may make what is missing.
    assert posegen.generate(small, samples=14, workers=1, out=path, part=Part(2, 2)).shards_made == 1
    late = finish(path)
    assert (late.samples, late.sequences, late.missing, late.complete) == (14, 70, [], 4)
    assert_equal_content(path, fourteen)
    assert verify(path) == []
    assert {file.name for file in path.iterdir()} == {file.name for file in fourteen.iterdir()}


def test_parts_extend_a_dataset(small: Config, fourteen: Path, tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    posegen.generate(small, samples=6, workers=1, out=path)
    for number in (1, 2):
        posegen.generate(small, samples=14, workers=1, out=path, part=Part(number, 2))
    assert finish(path).missing == []
    assert_equal_content(path, fourteen)


def test_a_whole_run_and_parts_exclude_each_other(small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dataset"
    posegen.generate(small, samples=4, workers=1, out=path)
    with locked(path, part="1-of-2"):
        with pytest.raises(PosegenError, match="part 1 of 2 is being made by process"):
            posegen.generate(small, samples=8, workers=1, out=path)
        with pytest.raises(PosegenError, match="part 1 of 2 is being made by process"):
            posegen.generate(small, samples=8, workers=1, out=path, part=Part(1, 2))
        posegen.generate(small, samples=8, workers=1, out=path, part=Part(2, 2))
        assert find_status(path).running == ["1 of 2"]
        assert finish(path).samples == 8
    monkeypatch.setattr("posegen.dataset.lock.SECONDS_TO_WAIT", 0.1)
    with locked(path), pytest.raises(PosegenError, match="is being written by process"):
        posegen.generate(small, samples=8, workers=1, out=path, part=Part(1, 2))


def test_the_commands_tell_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "dataset")
    settings = [part for setting in ("frames=40", "store.shard=4", "store.chunk=2") for part in ("--set", setting)]
    command = ["generate", "--config", "smoke", *settings, "--workers=1", "--quiet", "--samples=14", "--out", path]
    assert main([*command, "--part", "1/2"]) == 0
    assert main(["finish", path]) == 1
    said = capsys.readouterr().out
    assert "published 4 samples, 20 sequences." in said
    assert "2 of 4 shards are missing: 1, 3.\nRun again: posegen generate --part 2/2" in said
    assert main([*command, "--part", "2/2"]) == 0
    assert main(["status", path]) == 0
    said = capsys.readouterr().out
    assert "4 of 4 shards are made.\nPublished: 4 of 14 samples.\nRunning: nothing.\n" in said
    assert main(["finish", path]) == 0
    assert "Nothing is missing" in capsys.readouterr().out
    assert main([*command, "--part", "1/x"]) == 2


@pytest.mark.slow
def test_parts_derive_what_one_run_derives(fourteen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, path = (Path(shutil.copytree(fourteen, tmp_path / name)) for name in ("whole", "dataset"))
    posegen.derive(whole, ["velocity"], workers=1)
    first = posegen.derive(path, ["velocity"], workers=1, part="2/3")
    assert (first.shards_made, first.part, first.nothing_to_do) == (1, "2/3", False)
    assert posegen.derive(path, workers=1, part="2/3").nothing_to_do
    assert finish(path).incomplete_layers == ["velocity"]
    assert posegen.open(path).fields == ("joints", "action", "contact")
    with locked(path, part="1-of-2"), pytest.raises(PosegenError, match="part 1 of 2 is being made by process"):
        posegen.derive(path, workers=1)
    assert main(["derive", str(path), "--workers=1", "--part=1/2"]) == 0
    assert "Next, once all parts are derived" in capsys.readouterr().out
    assert posegen.derive(path, workers=1, part=Part(2, 2)).shards_made == 1
    assert finish(path).incomplete_layers == []
    assert verify(path) == []
    velocity = [posegen.open(one).arrays("velocity").tobytes() for one in (path, whole)]
    assert velocity[0] == velocity[1]
    files = [sorted(str(file.relative_to(one)) for file in one.rglob("*")) for one in (path, whole)]
    assert files[0] == files[1]
