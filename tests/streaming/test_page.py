"""The examples of docs/reading.md run, one after another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_its_examples_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    if find_spec("torch") is None:
        blocks = [block for block in blocks if "torch" not in block]
    make = "import posegen; posegen.generate(posegen.load_config('default'), samples=4, workers=1, out='data/default-0')"
    command = [sys.executable, "-W", "error", "-c", "\n".join([make, *blocks])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
