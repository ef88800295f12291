"""The list of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers")

from posegen.cli.main import main
from posegen.training.run_folder import RESULT, RUN, write_document
from posegen.training.tasks.text import TASK
from tests.training import tiny


def test_each_run_is_listed_with_the_measure_of_its_own_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for goal, measure in (("pairs", "r1"), ("families", "macro_f1")):
        settings = tiny.settings(f"text.goal={goal}")
        run, rounds = tmp_path / goal, [{"samples": tiny.SAMPLES, "first": 0}]
        form = TASK.configured(settings).forms.form
        record = {
            "task": "text",
            "form": form,
            "source": "data",
            "settings": settings.model_dump(mode="json"),
            "rounds": rounds,
        }
        write_document(run, RUN, record)
        write_document(run, RESULT, {"measures": {measure: 0.5}, "rounds": 1})
    assert main(["runs", str(tmp_path), "--json"]) == 0
    listed = {run["measure"]: run["test"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert listed == {"r1": 0.5, "macro_f1": 0.5}
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "."]) == 0
    table, _, differing = capsys.readouterr().out.partition("Settings that differ:\n")
    # The table fits in a narrow terminal, however many settings differ.
    assert max(map(len, table.splitlines())) <= 80
    assert differing.splitlines() == ["  families: text.goal=families", "  pairs: text.goal=pairs"]
    # A damaged run is named, not left out.
    (tmp_path / "pairs" / RUN).write_bytes((tmp_path / "pairs" / RUN).read_bytes()[:-1])
    assert main(["runs", ".", "--json"]) == 0
    printed = capsys.readouterr()
    assert [Path(run["run"]).name for run in json.loads(printed.out)["runs"]] == ["families"]
    assert printed.err == (
        "pairs/run.json: is damaged or was edited: its hash does not match its content. "
        "Restore the file, or train into another folder with --out\n"
    )
