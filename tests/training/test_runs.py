"""The list of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.training.run_folder import RESULT, RUN, write_document
from tests.training import tiny


def test_each_run_is_listed_with_the_measure_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for task, measure, rate in (("text", "r1", 1e-4), ("action", "clip_top1", 2e-3)):
        settings = tiny.settings(f"optimiser.rate={rate}").model_dump(mode="json")
        rounds = [{"samples": tiny.SAMPLES, "first": 0}]
        record = {"task": task, "form": "", "source": "data", "settings": settings, "rounds": rounds}
        write_document(tmp_path / task, RUN, record)
        write_document(tmp_path / task, RESULT, {"measures": {measure: 0.5}, "rounds": 1})
    assert main(["runs", str(tmp_path), "--json"]) == 0
    listed = {run["measure"]: run["test"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert listed == {"r1": 0.5, "clip_top1": 0.5}
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "."]) == 0
    table, _, differing = capsys.readouterr().out.partition("Settings that differ:\n")
    # The table fits in a narrow terminal, however many settings differ.
    assert max(map(len, table.splitlines())) <= 80
    assert differing.splitlines() == ["  action: optimiser.rate=0.002", "  text: optimiser.rate=0.0001"]
    # A damaged run is named, not left out.
    (tmp_path / "text" / RUN).write_bytes((tmp_path / "text" / RUN).read_bytes()[:-1])
    assert main(["runs", ".", "--json"]) == 0
    printed = capsys.readouterr()
    assert [Path(run["run"]).name for run in json.loads(printed.out)["runs"]] == ["action"]
    assert printed.err == (
        "text/run.json: is damaged or was edited: its hash does not match its content. "
        "Restore the file, or train into another folder with --out\n"
    )
