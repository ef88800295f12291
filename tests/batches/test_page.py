"""The examples of docs/reading.md run, one after another."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.dataset.mix import write_mix

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 8
    monkeypatch.chdir(tmp_path)
    posegen.generate(posegen.load_config("default"), samples=3, workers=1, out="data/default-0")
    posegen.generate(posegen.load_config("default", ["seed=1"]), samples=3, workers=1, out="data/default-1")
    write_mix("data/mix.json", posegen.concat(["data/default-0", "data/default-1"], weights=[1, 4]))
    names: dict[str, Any] = {}
    for block in blocks:
        if "torch" not in block or find_spec("torch") is not None:
            exec(block, names)
    assert [len(names["batch"]), len(names["one"])] == [15, 15]
