"""The job templates of ``docs/many-machines.md``, with three parts and in an environment like that of each scheduler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import posegen
from tests.faults.truth import assert_same

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs/many-machines.md"
PARTS = 3
SETTINGS = ["store.shard=10", "frames=20"]
Jobs = Callable[[str], Iterator[tuple[str, dict[str, str]]]]
"""Shell commands of a template's jobs, in any order, with the variables that the scheduler sets."""


def slurm(template: str) -> Iterator[tuple[str, dict[str, str]]]:
    assert "--array=0-15" in template
    for task in (2, 0, 1):
        yield template.replace("/16", f"/{PARTS}"), {"SLURM_ARRAY_TASK_ID": str(task)}


def kubernetes(template: str) -> Iterator[tuple[str, dict[str, str]]]:
    job: dict[str, Any] = yaml.safe_load(template.replace("/16", f"/{PARTS}").replace(": 16", f": {PARTS}"))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert (job["completionMode"], job["completions"]) == ("Indexed", PARTS)
    for index in range(PARTS):
        yield container["command"][2], {"JOB_COMPLETION_INDEX": str(index)}


def parallel(template: str) -> Iterator[tuple[str, dict[str, str]]]:
    if shutil.which("parallel") is None:
        pytest.skip("needs GNU parallel")
    yield template.replace("16", str(PARTS)).replace("--jobs 4", "--jobs 2"), {}


def sky(template: str) -> Iterator[tuple[str, dict[str, str]]]:
    task = yaml.safe_load(template)
    for rank in range(PARTS):
        yield task["run"], {"SKYPILOT_NODE_RANK": str(rank), "SKYPILOT_NUM_NODES": str(PARTS)}


@pytest.mark.parametrize(
    ("title", "jobs"), [("Slurm", slurm), ("Kubernetes", kubernetes), ("GNU parallel", parallel), ("SkyPilot", sky)]
)
def test_a_template_makes_what_one_run_makes(title: str, jobs: Jobs, tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    blocks = [block for block in section.strip("\n").split("\n\n") if block.startswith("    ")]
    template = "\n".join(line[4:] for line in blocks[0].splitlines())
    options = " ".join(f"--set {setting}" for setting in SETTINGS)
    command = f'exec {sys.executable} -m posegen "$@" --config smoke --quiet {options}'
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in {"posegen": command, "srun": 'exec "$@"'}.items():
        (programs / name).write_text(f"#!/bin/bash\n{line}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    for shell, variables in jobs(template):
        for given, used in {"1000000": "70", "100000": "70", "/shared": str(tmp_path), "data/": f"{tmp_path}/"}.items():
            shell = shell.replace(given, used)
        shell = shell.replace("--workers 8", "--workers 1")
        environment = {**os.environ, **variables, "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert posegen.finish(tmp_path / "large").missing == []
    posegen.generate(posegen.load_config("smoke", SETTINGS), samples=70, workers=1, out=tmp_path / "whole")
    assert_same(tmp_path / "large", tmp_path / "whole")
