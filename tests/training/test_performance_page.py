"""The page on the speed of training is made from its template and the committed results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.train import page

MACHINE = dict.fromkeys(("processor", "cores", "python", "numpy", "numba", "zarr", "pyarrow"), "x")


def figure(name: str, found: str, detail: Any = None, *, passed: bool | None = None) -> dict[str, Any]:
    return {"name": name, "value": found, "target": "", "passed": passed, "detail": detail}


def test_the_committed_page_is_the_one_that_the_results_make() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python -m benchmarks.train.page"


def test_figures_get_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = (*page.PUBLISHED, *(f"with {name}" for name in (*page.CHANGES, page.STRETCHES)), page.ALL, page.POSEGEN)
    figures = [figure(f"time of a clip: {name}", f"{i}.50 ms, fast", {"times": i}) for i, name in enumerate(ways)]
    figures += [figure(f"time of a clip: without {name}", "", {"times": 77}) for name in page.CHANGES]
    reported = {"parameters": 2_300_000, "steps": 600, "seconds": 120.0}
    figures += [figure(f"preset {name}, estimate for task action", "", reported) for name in page.PRESETS]
    figures += [figure("total time", "", {"quick action": 2.04}), figure("top-1", "", {"quick action": "95 % of clips"})]
    figures += [figure("padding of clips to the longest", "7 % of 9"), figure("one run killed", "3 lost", passed=False)]
    (tmp_path / "train.json").write_text(
        json.dumps({"section": "train", "seconds": 120, "machine": MACHINE, "figures": figures})
    )
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    made = page.page()
    assert "| published, batch 3 | 0.50 ms |  |  |" in made
    assert "| the same with batches of 32 | 2.50 ms | 2.00 times as fast | 77.00 times as fast |" in made
    assert "| the same with stretches of 100 frames | 6.50 ms | 6.00 times as fast |  |" in made
    assert "| `quick` | 2.3 million | 600 | 2 minutes | 2.0 minutes, 95 % of clips | not measured |" in made
    assert "it is 7 % of 9." in made
    assert "| one run killed | 3 lost |  | **fail** |" in made
    assert "2 minutes. Machine: x cores" in made
    assert "{{" not in made
