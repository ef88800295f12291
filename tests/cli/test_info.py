"""`posegen info`: its output; the printed lines of Python are executed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from tests.synthesis.own_library import library_folder


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("info") / "it's a dataset"
    config = posegen.load_config("smoke", ["frames=40", "store.shard=4", "store.chunk=2"], seed=5)
    posegen.generate(config, samples=6, workers=1, out=path)
    return path


def test_it_describes_the_content(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(dataset)]) == 0
    out = capsys.readouterr().out
    assert "config smoke, seed 5, identity " in out
    assert "6 samples in 5 variants (base, speed, position, scale, mirror): 30 sequences" in out
    assert "up to 40 frames at 25 FPS" in out
    assert "float32 (sample, variant, actor, frame, joint, axis)" in out
    assert "0 samples (0.00%) resampled after failed caption or joint-limit checks, 0 statements dropped" in out
    captions = [c["text"] for row in posegen.open(dataset).rows(0) for c in row["captions"]]
    assert any(f"  0 base      {text}\n" in out for text in captions)


def test_the_printed_python_reads_the_dataset_without_posegen(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(dataset)]) == 0
    printed = capsys.readouterr().out.partition("Read it in Python:")[2]
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    assert len(lines) == 5
    result = subprocess.run([sys.executable, "-I", "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    first = posegen.open(dataset).rows(0)[0]["captions"][0]["text"]
    assert result.stdout == f"(1, 40, 22, 3) {first}\n"


def test_json_is_one_document(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(dataset), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["path"], document["samples"], document["sequences"], document["fps"]) == (str(dataset), 6, 30, 25)
    assert document["hours"] == pytest.approx(30 * 40 / 25 / 3600)
    assert document["bytes"] == sum(document["sizes"].values())
    assert sum(share["legs"] for share in document["actions"]) == pytest.approx(1)
    assert all(share["any"] >= share["legs"] >= 0 for share in document["actions"])
    assert len(document["captions"]) == 6
    assert (document["resampled"], document["dropped"]) == (0, 0)


def test_it_counts_resampled_samples_and_dropped_statements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"side": {"less": "hand_height"}}
    library = library_folder(tmp_path / "own", wrong)
    config = posegen.load_config(
        "smoke", [f"story.library={library}", "story.themes={yard: 1}", "variants.scale=null", "frames=150"]
    )
    posegen.generate(config, samples=6, workers=1, out=tmp_path / "there")
    assert main(["info", str(tmp_path / "there"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = posegen.open(tmp_path / "there").sequences.to_pylist()
    assert document["resampled"] == len({row["sample"] for row in rows if row["attempt"]}) > 0
    assert document["dropped"] == sum(len(row["dropped"]) for row in rows) > 0
    assert main(["verify", "--deep", str(tmp_path / "there")]) == 0


def test_a_sample_is_made_again_from_what_is_printed(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(dataset), "--sample", "5"]) == 0
    out = capsys.readouterr().out
    stored = posegen.open(dataset)
    assert stored.rows(5)[0]["captions"][0]["text"] in out
    assert f"identity         {stored.header.identity}" in out
    assert "config           population.persons=50" in out
    assert f"hash of joints   {stored.receipt(1).content['joints'][32:64]}" in out
    assert "created 2023-11-14T22:13:20Z by posegen" in out
    assert all(f"  {name:<9} " in out for name in ("base", "speed", "position", "scale", "mirror"))
    lines = [line.strip() for line in out.partition("without the dataset:")[2].splitlines() if line.strip()]
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)
    assert made["joints"].tobytes() == stored[5].joints.tobytes()
    assert made["rows"][0]["captions"] == stored.rows(5)[0]["captions"]


def test_a_sample_of_an_own_library_and_changed_groups_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = library_folder(tmp_path / "it's mine", {"side": {"less": "hand_height"}})
    changes = [f"story.library={json.dumps(str(library))}", "story.themes={yard: 1}", "variants.scale=null", "frames=60"]
    posegen.generate(posegen.load_config("smoke", changes), samples=2, workers=1, out=tmp_path / "there")
    assert main(["info", str(tmp_path / "there"), "--sample", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    made: dict[str, Any] = {}
    exec("\n".join(document["python"]), made)
    assert made["joints"].tobytes() == posegen.open(tmp_path / "there")[1].joints.tobytes()
    assert made["config"].story.library == library


SITES = ("same", "changed", "moved")
UNCHECKED = "Captions: not checked, because"
PROGRAM = """
import sys
from posegen.cli.main import main

for folder in sys.argv[1:]:
    changes = [f"--set=story.library={folder}/mine", "--set=story.themes={yard: 1}", "--set=frames=40"]
    size = ["--samples", "2", "--workers", "1", "--out", f"{folder}/there"]
    assert main(["generate", "--config", "smoke", *changes, *size]) == 0
"""


@pytest.mark.slow
def test_with_another_library_the_reason_why_a_sample_is_not_made_again_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, changed, moved = (library_folder(tmp_path / name / "mine", {"side": {"less": "hand_height"}}) for name in SITES)
    # Another process makes the datasets, as a process reads a library once; and in another folder, as the path is relative.
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", PROGRAM, *SITES], cwd=tmp_path, env=environment, capture_output=True, check=True)
    themes = changed / "themes.yaml"
    themes.write_text(themes.read_text("utf-8").replace("9", "8"), "utf-8")
    moved.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")

    def printed(name: str) -> tuple[str, str]:
        """What `info` of a sample and `evaluate` print."""
        found = []
        for words in (["info", f"../{name}/there", "--sample", "1"], ["evaluate", f"../{name}/there"]):
            assert main(words) == 0
            found.append(capsys.readouterr().out)
        return found[0], found[1]

    sample, evaluated = printed("same")
    assert "do not make it" not in sample
    assert UNCHECKED not in evaluated
    sample, evaluated = printed("changed")
    assert re.search(rf"Here, these lines do not make it: .* \({changed}\) have changed", sample)
    assert UNCHECKED in evaluated
    sample, evaluated = printed("moved")
    assert f"Here, these lines do not make it: {moved}: there is no such folder" in sample
    assert UNCHECKED in evaluated
    assert "false statements in captions" not in evaluated


def test_a_sample_that_does_not_exist_is_refused(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for sample in ("6", "-1"):
        assert main(["info", str(dataset), "--sample", sample]) == 2
        assert f"has no sample {sample}; its samples are 0 to 5" in capsys.readouterr().err


def test_parts_that_are_not_published_have_no_python_to_read_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = posegen.load_config("smoke", ["frames=20", "store.shard=2", "store.chunk=2"])
    posegen.generate(config, samples=6, workers=1, out=tmp_path / "x", part="2/3")
    assert main(["info", str(tmp_path / "x")]) == 0
    out = capsys.readouterr().out
    assert "or `posegen finish` its parts" in out
    assert "Read it in Python" not in out
