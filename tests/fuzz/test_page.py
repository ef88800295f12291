"""docs/reliability.md is generated from its template and the committed results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import figures as results
from benchmarks.figures import Figure
from benchmarks.keep import page


def test_the_committed_page_is_up_to_date() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python -m benchmarks.keep.page"


def test_the_page_contains_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = dict.fromkeys(("processor", "cores", "python", "numpy", "numba", "zarr", "pyarrow"), "x")
    figures = [{"name": "300 kills", "value": "299 equal", "target": "300 equal", "passed": False, "detail": ["not shown"]}]
    (tmp_path / "keep.json").write_text(json.dumps({"section": "keep", "seconds": 120, "machine": machine, "figures": figures}))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert "2 minutes. Machine: x cores of x, Python x" in page.page()
    assert "| 300 kills | 299 equal | 300 equal | **fail** |" in page.page()
    assert "not shown" not in page.page()
    assert "{{" not in page.page()


def test_a_re_run_replaces_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    results.write(
        "keep", "Keeping", [Figure("kills", "3 lost", "none", passed=False), Figure("stops", "held", "", passed=True)], 600
    )
    results.update("keep", "Keeping", [Figure("kills", "none", "none", passed=True)], 120)
    table = (tmp_path / "keep.md").read_text()
    for text in (table, page.page()):
        assert "| kills | none | none | pass |" in text
        assert "| stops | held |  | pass |" in text
        assert "10 minutes. Machine" in text
        assert "Re-run later (2 minutes): kills." in text
    results.update("keep", "Keeping", [Figure("new", "said")], 60)
    table = (tmp_path / "keep.md").read_text()
    assert table.index("| stops |") < table.index("| new | said |")
    assert "Re-run later (1 minutes): new." in table
    results.update("parts", "Parts", [Figure("one", "said")], 60)
    table = (tmp_path / "parts.md").read_text()
    assert "measured in parts" in table
    assert "Re-run later (1 minutes): one." in table
