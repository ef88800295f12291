"""The code blocks of the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = {page.relative_to(ROOT).as_posix(): page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<fenced>.*?)^```|(?P<indented>(?:^ {4,}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"Write `([\w./]+)`:\s*\Z")
_PROGRAMS = (
    "posegen ",
    "pip ",
    "python3 ",
    "python ",
    "git ",
    "docker ",
    "make ",
    "eval ",
    "ssh ",
    "hf ",
    "export ",
    "while ",
    "_POSEGEN",
)


class Step(NamedTuple):
    """A command, or a block of another language; `file` is the name that the page gives a block."""

    language: str
    code: str
    file: str = ""


def steps(page: Path) -> list[Step]:
    """Return the commands and the blocks of Python, SQL, YAML and TOML, in order; trees of files and output are left out."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(text):
        language, code = block["language"], block["fenced"]
        if code is None:
            lines = [line[4:] for line in block["indented"].splitlines()]
            found += [Step("sh", _without_comment(line)) for line in lines if line.startswith(_PROGRAMS)]
        elif language == "sh":
            found += [Step("sh", _without_comment(line)) for line in code.splitlines() if line and not line.startswith("#")]
        elif language:
            named = _NAMED.search(text[: block.start()])
            found.append(Step(language, code, named[1] if named else ""))
    return found


def _without_comment(line: str) -> str:
    return re.sub(r"\s+#.*", "", line)


def commands(page: Path) -> list[str]:
    """Return the commands of posegen, without comments."""
    return [step.code for step in steps(page) if step.code.startswith("posegen ") and step.language == "sh"]
