"""An export format of another package works like posegen's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import posegen
from tests.installing import install

PACKAGE = """
from posegen.exchange.export_format import one_file_each

RAW = one_file_each("raw", "bytes of the joints", ".raw", lambda clip: clip.joints.tobytes())
"""


@pytest.mark.slow
def test_a_format_of_another_package(tmp_path: Path) -> None:
    environment = install(tmp_path, PACKAGE, exports="RAW")
    posegen.generate(posegen.load_config("smoke"), samples=3, workers=1, out=tmp_path / "motion")
    command = [sys.executable, "-m", "posegen", "export", "motion", "--to", "raw", "-o", "out", "--variant", "base", "--quiet"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    dataset = posegen.open(tmp_path / "motion")
    for sample in range(3):
        joints = np.frombuffer((tmp_path / "out" / f"{sample:06}.raw").read_bytes(), np.float32).reshape(-1, 22, 3)
        np.testing.assert_array_equal(joints, dataset[sample].joints[0, 0][: len(joints)])
