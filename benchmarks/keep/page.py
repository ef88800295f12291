"""``docs/reliability.md``, made from its text and from the committed results: ``python -m benchmarks.keep.page``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, took

__all__ = ["PAGE", "page", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TEMPLATE = Path(__file__).with_name("reliability.template.md")
SECTION = "keep"
MARK = {True: "good", False: "**bad**", None: ""}


def page() -> str:
    """Put the measured figures into the text."""
    results = RESULTS / f"{SECTION}.json"
    told = (
        _table(json.loads(results.read_text("utf-8"))) if results.exists() else f"`make judge SECTION={SECTION}` measures them."
    )
    return TEMPLATE.read_text("utf-8").replace("{{figures}}", told)


def write() -> Path:
    """Write the page, and give its path."""
    PAGE.write_text(page(), encoding="utf-8")
    return PAGE


def _table(results: dict[str, Any]) -> str:
    lines = [
        took(results),
        "",
        "| what was tried | what came of it | wanted | |",
        "|---|---|---|---|",
    ]
    lines += [f"| {f['name']} | {f['found']} | {f['wanted']} | {MARK[f['good']]} |" for f in results["figures"]]
    return "\n".join(lines)


if __name__ == "__main__":
    print(write())
