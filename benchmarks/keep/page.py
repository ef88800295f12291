"""Write ``docs/reliability.md`` from its template and the committed results: ``python -m benchmarks.keep.page``."""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import RESULTS, filled_page, read_table, results_table

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TEMPLATE = Path(__file__).with_name("reliability.template.md")
SECTION = "keep"


def page() -> str:
    """Return the page with the measured figures."""
    rows, remarks = read_table(RESULTS / f"{SECTION}.md")
    table = results_table(rows, "| attack | outcome | target | result |")
    return filled_page(TEMPLATE, {"figures": "\n\n".join([*remarks, table])})


def write() -> Path:
    """Write the page and return its path."""
    PAGE.write_text(page(), encoding="utf-8")
    return PAGE


if __name__ == "__main__":
    print(write())
