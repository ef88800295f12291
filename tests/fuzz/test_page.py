"""docs/reliability.md is generated from its template and the committed results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import figures as results
from benchmarks.figures import Figure
from benchmarks.keep import page


def test_the_committed_page_is_up_to_date() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python -m benchmarks.keep.page"


def test_a_re_run_replaces_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((results, "RESULTS"), (page, "RESULTS"), (results, "DETAILS")):
        monkeypatch.setattr(module, name, tmp_path)
    detail = ["not shown"]
    first = [Figure("kills", "3 lost", "none", False, detail), Figure("stops", "held", "", passed=True)]
    results.write("keep", "Keeping", first, 600)
    assert "| kills | 3 lost | none | **fail** |" in page.page()
    results.update("keep", "Keeping", [Figure("kills", "none", "none", passed=True)], 120)
    table = (tmp_path / "keep.md").read_text()
    for text in (table, page.page()):
        assert "| kills | none | none | pass |" in text
        assert "| stops | held |  | pass |" in text
        assert "10 minutes. Machine" in text
        assert re.search(r"Re-run later \(2 minutes on .* cores of .*\): kills\.", text)
        assert "not shown" not in text
        assert "{{" not in text
    results.update("keep", "Keeping", [Figure("new", "said")], 60)
    results.update("keep", "Keeping", [Figure("new", "replaced")], 60)
    table = (tmp_path / "keep.md").read_text()
    assert table.index("| stops |") < table.index("| new | replaced |")
    assert table.count(": new.") == 1
    results.update("parts", "Parts", [Figure("one", "said")], 60)
    table = (tmp_path / "parts.md").read_text()
    assert "measured in parts" in table
    assert re.search(r"Re-run later \(1 minutes on .*\): one\.", table)
