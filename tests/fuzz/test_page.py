"""The page on reliability is what its text and the committed results make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import figures as results
from benchmarks.figures import Figure
from benchmarks.keep import page


def test_the_committed_page_is_the_one_that_the_results_make() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python -m benchmarks.keep.page"


def test_figures_get_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = dict.fromkeys(("processor", "cores", "python", "numpy", "numba", "zarr", "pyarrow"), "x")
    figures = [{"name": "300 kills", "found": "299 equal", "wanted": "300 equal", "good": False, "detail": ["not shown"]}]
    (tmp_path / "keep.json").write_text(json.dumps({"section": "keep", "seconds": 120, "machine": machine, "figures": figures}))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert "took 2 minutes on x cores of x, Python x" in page.page()
    assert "| 300 kills | 299 equal | 300 equal | **bad** |" in page.page()
    assert "not shown" not in page.page()
    assert "{{" not in page.page()


def test_a_figure_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    results.write(
        "keep", "Keeping", [Figure("kills", "3 lost", "none", good=False), Figure("stops", "held", "", good=True)], 600
    )
    results.write_again("keep", "Keeping", [Figure("kills", "none", "none", good=True)], 120)
    table = (tmp_path / "keep.md").read_text()
    for text in (table, page.page()):
        assert "| kills | none | none | good |" in text
        assert "| stops | held |  | good |" in text
        assert "took 10 minutes" in text
        assert "Measured again, after a mend, in 2 minutes: kills." in text
    results.write_again("keep", "Keeping", [Figure("new", "said")], 60)
    table = (tmp_path / "keep.md").read_text()
    assert table.index("| stops |") < table.index("| new | said |")
    assert "in 1 minutes: new." in table
    results.write_again("parts", "Parts", [Figure("one", "said")], 60)
    table = (tmp_path / "parts.md").read_text()
    assert "Measured in parts on " in table
    assert "Measured in 1 minutes: one." in table
