"""`posegen verify`: reported problems, repairs and exit codes."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.compare import compare
from posegen.dataset.header import load_header
from posegen.dataset.write import commit_shard
from posegen.embedding.models import HASHING
from posegen.synthesis.synthesize import synthesize
from tests.cli.conftest import SMALL
from tests.dataset.tiny import ended_run


def joints(dataset: Path, shard: int) -> Path:
    return dataset / "motion.zarr" / "joints" / f"c.{shard}.0.0.0.0.0"


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


def times(dataset: Path, shard: int) -> list[int]:
    return [file.stat().st_mtime_ns for file in (joints(dataset, shard), dataset / "receipts" / f"{shard:05}.json")]


def put_other_samples(dataset: Path, shard: int) -> None:
    """Commit samples of another seed: every hash matches, but the content differs from the config."""
    config = posegen.load_config("smoke", SMALL, seed=9)
    batch = synthesize(config, [4 * shard + i for i in range(4)])
    arrays = {"joints": batch.joints, "action": batch.action, "contact": batch.contact}
    commit_shard(dataset, load_header(dataset), shard, arrays, batch.sequences, "a-run")


def test_all_is_well(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(dataset)]) == 0
    out, error = capsys.readouterr()
    assert out == f"{dataset}: no problem found: all files are intact.\n"
    assert [line.partition(",")[0] for line in error.splitlines()] == [
        "read: 0 of 3 shards (0%)",
        "read: 3 of 3 shards (100%)",
    ]
    assert main(["verify", str(dataset), "--deep"]) == 0
    out, error = capsys.readouterr()
    assert out == f"{dataset}: no problem found: all files and samples are intact.\n"
    assert "synthesize and compare: 3 of 3 shards (100%)" in error
    assert main(["verify", str(dataset), "--quiet", "--repair"]) == 0
    assert capsys.readouterr() == ("", "")


def test_files_beside_the_samples_are_checked_or_named(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", str(dataset), "--encoder", HASHING, "--no-cache", "--quiet", "--workers=1"]) == 0
    (dataset / "training").mkdir()
    (dataset / "training" / "notes.txt").write_bytes(b"x")
    capsys.readouterr()
    assert main(["verify", str(dataset), "--json"]) == 0
    unchecked = json.loads(capsys.readouterr().out)["unchecked"]
    assert {Path(name).name for name in unchecked} == {"zarr.json", "notes.txt"}
    assert main(["verify", str(dataset)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{dataset}: no problem found: all files with a hash are intact."
    assert second == f"Not checked, because they have no hash: {', '.join(unchecked)}."
    stored = [path for path in (dataset / "embeddings").rglob("*") if path.is_file() and not path.name.startswith(".")]
    checked = [path for path in stored if path.relative_to(dataset).as_posix() not in unchecked]
    assert len(checked) > 10
    for path in checked:
        intact = path.read_bytes()
        damage(path)
        assert main(["verify", str(dataset), "--json", "--quiet"]) == 1, path
        (problem,) = json.loads(capsys.readouterr().out)["problems"]
        assert path.relative_to(dataset).as_posix() == problem["file"]
        assert "Run the same `posegen embed" in problem["what"] or "run the same `posegen embed`" in problem["what"]
        path.write_bytes(intact)
    checked[0].unlink()
    assert main(["verify", str(dataset)]) == 1 or checked[0].suffix == ".json"


def test_damaged_shards_are_listed_with_the_fix(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(joints(dataset, 1))
    (dataset / "sequences" / "part-00002.parquet").unlink()
    assert main(["verify", str(dataset)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "shard 1: motion.zarr/joints/c.1.0.0.0.0.0: checksum mismatch (receipt 00001.json)",
        "shard 2: sequences/part-00002.parquet: is missing",
        f"{dataset}: 2 problems in shards 1, 2.",
        f"Run: posegen verify '{dataset}' --repair (regenerates only the shards listed here)",
    ]


def test_json_is_one_document(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(joints(dataset, 1))
    found = {
        "shard": 1,
        "file": "motion.zarr/joints/c.1.0.0.0.0.0",
        "what": "checksum mismatch (receipt 00001.json)",
        "repairable": True,
        "layer": None,
    }
    assert main(["verify", str(dataset), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["intact"] is False
    assert document["problems"] == document["left"] == [found]
    assert document["regenerated"] is None
    assert main(["verify", str(dataset), "--json", "--repair"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["intact"], document["problems"], document["regenerated"], document["left"]) == (True, [found], [1], [])


def test_only_damaged_shards_are_regenerated(dataset: Path, intact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(joints(dataset, 0))
    damage(dataset / "receipts" / "00002.json")
    damage(dataset / "motion.zarr" / "action" / "zarr.json")
    (dataset / "receipts" / f".x~{ended_run()}~1.temporary").write_bytes(b"")
    before = times(dataset, 1)
    assert main(["verify", str(dataset), "--repair", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        f"{dataset}: 4 problems in shards 0, 2.",
        "Regenerated: shards 0, 2.",
        "No problem is left.",
    ]
    assert times(dataset, 1) == before
    assert main(["verify", str(dataset)]) == 0
    assert len(posegen.open(dataset)) == 10
    assert not compare(dataset, intact, deep=True).samples


def test_deep_finds_what_hashes_cannot(dataset: Path, intact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_other_samples(dataset, 1)
    assert main(["verify", str(dataset), "--quiet"]) == 0
    assert main(["verify", str(dataset), "--deep"]) == 1
    message = "matches its receipt, but its joints differ from what the config makes in samples 4, 5, 6 and 1 more"
    assert f"shard 1: motion.zarr/joints/c.1.0.0.0.0.0: {message}\n" in capsys.readouterr().out
    assert main(["verify", str(dataset), "--deep", "--repair"]) == 0
    assert not compare(dataset, intact, deep=True).samples


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"content_version": 0}, "made with content version 0"),
        ({"identity": "0" * 32}, "the files of actions, themes or words"),
    ],
)
def test_a_dataset_that_cannot_be_regenerated_is_refused(
    change: dict[str, object], message: str, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = dataclasses.replace(load_header(dataset), **change)  # type: ignore[arg-type]
    (dataset / "dataset.json").write_bytes(header.to_bytes())
    (dataset / "dataset.copy.json").unlink()  # or the header would be made from it
    for options in (["--deep"], ["--repair"]):
        before = times(dataset, 0)
        assert main(["verify", str(dataset), *options]) == 1
        assert message in capsys.readouterr().err
        assert times(dataset, 0) == before


def test_data_beyond_the_end_is_removed(dataset: Path, intact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(joints(dataset, 0), joints(dataset, 5))
    assert main(["verify", str(dataset), "--repair", "--quiet"]) == 0
    assert "Removed beyond the end of the dataset: shard 5.\n" in capsys.readouterr().out
    assert not joints(dataset, 5).exists()
    assert not compare(dataset, intact).samples


def test_what_only_the_user_can_solve_stays(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dataset / "notes.txt").write_text("mine")
    damage(joints(dataset, 0))
    assert main(["verify", str(dataset), "--repair", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert out.endswith("Remaining problems:\nnotes.txt: does not belong to the dataset. Remove it\n")
    assert (dataset / "notes.txt").read_text() == "mine"
    damage(dataset / "dataset.json")
    for options in ([], ["--deep"], ["--repair"]):
        assert main(["verify", str(dataset), *options]) == 1
        assert "dataset.json: is damaged or was edited" in capsys.readouterr().out


def test_parts_together_find_what_a_whole_check_finds(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for shard in (0, 1):
        damage(joints(dataset, shard))
    (dataset / "a file").write_text("not of the dataset")
    assert main(["verify", str(dataset), "--json"]) == 1
    whole = json.loads(capsys.readouterr().out)
    found, codes, shards = [], [], 0
    for number in (1, 2, 3):
        codes.append(main(["verify", str(dataset), "--json", "--part", f"{number}/3"]))
        report = json.loads(capsys.readouterr().out)
        assert report["part"] == f"{number}/3"
        found += report["problems"]
        shards += report["shards"]
    assert (codes, shards) == ([1, 1, 0], 3)
    assert sorted(map(str, found)) == sorted(map(str, whole["problems"]))
    assert main(["verify", str(dataset), "--deep", "--part", "3/3"]) == 0
    assert "all files and samples of 1 shard are intact" in capsys.readouterr().out
    (dataset / "a file").unlink()
    assert main(["verify", str(dataset), "--part", "2/3", "--repair"]) == 0
    assert main(["verify", str(dataset), "--part", "2/3"]) == 0
    assert main(["verify", str(dataset)]) == 1


def test_a_sample_of_the_shards_is_checked(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(dataset), "--share", "1%"]) == 0
    assert "all files of 1 shard are intact" in capsys.readouterr().out
    for shard in range(3):
        damage(joints(dataset, shard))
    assert main(["verify", str(dataset), "--share", "60%", "--json"]) == 1
    assert len({problem["shard"] for problem in json.loads(capsys.readouterr().out)["problems"]}) == 2
    for wrong in ("0%", "101%", "5", "x%"):
        assert main(["verify", str(dataset), "--share", wrong]) == 2
