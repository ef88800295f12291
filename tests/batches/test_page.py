"""The examples of docs/reading.md run, one after another."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import posegen

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    monkeypatch.chdir(tmp_path)
    posegen.generate(posegen.load_config("default"), samples=3, workers=1, out="data/default-0")
    names: dict[str, Any] = {}
    for block in blocks:
        if "torch" not in block or find_spec("torch") is not None:
            exec(block, names)
    assert [len(names["batch"]), len(names["one"])] == [15, 15]
