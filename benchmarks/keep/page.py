"""Write ``docs/reliability.md`` from its template and the committed results: ``python -m benchmarks.keep.page``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, filled_page, provenance, results_table

__all__ = ["PAGE", "page", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TEMPLATE = Path(__file__).with_name("reliability.template.md")
SECTION = "keep"


def page() -> str:
    """Return the page with the measured figures."""
    results = RESULTS / f"{SECTION}.json"
    figures = (
        _table(json.loads(results.read_text("utf-8"))) if results.exists() else f"`make judge SECTION={SECTION}` measures them."
    )
    return filled_page(TEMPLATE, {"figures": figures})


def write() -> Path:
    """Write the page and return its path."""
    PAGE.write_text(page(), encoding="utf-8")
    return PAGE


def _table(results: dict[str, Any]) -> str:
    table = results_table(results["figures"], "| attack | outcome | target | result |")
    return f"{provenance(results)}\n\n{table}"


if __name__ == "__main__":
    print(write())
