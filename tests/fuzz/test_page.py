"""The page on reliability is what its text and the committed results make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.keep import page


def test_the_committed_page_is_the_one_that_the_results_make() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python -m benchmarks.keep.page"


def test_figures_get_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = dict.fromkeys(("processor", "cores", "python", "numpy", "numba", "zarr", "pyarrow"), "x")
    figures = [{"name": "300 kills", "found": "299 equal", "wanted": "300 equal", "good": False, "detail": ["not shown"]}]
    (tmp_path / "keep.json").write_text(json.dumps({"seconds": 120, "machine": machine, "figures": figures}))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert "took 2 minutes on x cores of x, Python x" in page.page()
    assert "| 300 kills | 299 equal | 300 equal | **bad** |" in page.page()
    assert "not shown" not in page.page()
    assert "{{" not in page.page()
