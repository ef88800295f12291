"""The code blocks of the pages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {page.relative_to(ROOT).as_posix(): page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def python_blocks(page: Path) -> list[str]:
    """Return the blocks of Python code."""
    return [code for language, code in _FENCED.findall(page.read_text(encoding="utf-8")) if language == "python"]


def commands(page: Path) -> list[str]:
    """Return the commands of posegen in blocks of commands, fenced or indented, without comments."""
    text = page.read_text(encoding="utf-8")
    fenced = [line for language, code in _FENCED.findall(text) if language == "sh" for line in code.splitlines()]
    indented = [line[4:] for line in _FENCED.sub("", text).splitlines() if line.startswith("    posegen ")]
    return [re.sub(r"\s+#.*", "", line) for line in fenced + indented if line.startswith("posegen ")]
