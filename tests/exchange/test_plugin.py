"""An export format of another package works like posegen's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import posegen

PACKAGE = """
from posegen.exchange.export_format import one_file_each

FORMAT = one_file_each("raw", "bytes of the joints", ".raw", lambda clip: clip.joints.tobytes())
"""


def test_a_format_of_another_package(tmp_path: Path) -> None:
    installed = tmp_path / "example-1.0.dist-info"
    installed.mkdir()
    (tmp_path / "example.py").write_text(PACKAGE)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[posegen.exports]\nraw = example:FORMAT\n")
    posegen.generate(posegen.load_config("smoke"), samples=3, workers=1, out=tmp_path / "motion")
    command = [sys.executable, "-m", "posegen", "export", "motion", "--to", "raw", "-o", "out", "--variant", "base", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    dataset = posegen.open(tmp_path / "motion")
    for sample in range(3):
        joints = np.frombuffer((tmp_path / "out" / f"{sample:06}.raw").read_bytes(), np.float32).reshape(-1, 22, 3)
        np.testing.assert_array_equal(joints, dataset[sample].joints[0, 0][: len(joints)])
