"""Every process that a command starts is one of joblib's: a worker of loky, or one that tracks what they share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import posegen
from posegen.config.schema import Config
from posegen.evaluation.evaluate import SAMPLES_PER_JOB
from tests.generation.runs import PATIENCE, ROOT, SMALL

pytestmark = pytest.mark.slow

WORKER, TRACKER = "joblib.externals.loky.backend.popen_loky_posix", "resource_tracker"
SETTINGS = [part for setting in SMALL for part in ("--set", setting)]


def children_of(arguments: list[str]) -> list[str]:
    """Run a command, and return the command lines of all processes that it started."""
    seen: dict[int, str] = {}  # the last line of each: between fork and exec, it is that of the command
    with subprocess.Popen(
        [sys.executable, "-m", "posegen", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        started, process = time.monotonic(), psutil.Process(run.pid)
        while run.poll() is None and time.monotonic() - started < PATIENCE:
            with suppress(psutil.NoSuchProcess):
                for child in process.children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        seen[child.pid] = " ".join(child.cmdline()) or seen.get(child.pid, "")
            time.sleep(0.02)
        errors = run.communicate()[1]
    assert run.returncode == 0, errors
    return list(seen.values())


@pytest.mark.parametrize(
    ("command", "workers"),
    [
        (["generate", "--config", "smoke", *SETTINGS, "--samples", "40", "--workers", "2", "--out", "NEW"], 2),
        (["derive", "DATASET", "--add", "velocity", "--workers", "2"], 2),
        (["evaluate", "DATASET", "--workers", "2"], 2),
        (["export", "DATASET", "--to", "bvh", "--out", "NEW", "--workers", "2"], 2),
        (["verify", "DATASET", "--repair"], 2),
        (["verify", "DATASET"], 0),
        (["embed", "DATASET", "--workers", "2"], 0),
    ],
    ids=lambda value: value[0] + value[-1] if isinstance(value, list) else "",
)
def test_a_command_starts_workers_of_loky_only(command: list[str], workers: int, small: Config, tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    if "DATASET" in command:
        samples = 2 * SAMPLES_PER_JOB if "evaluate" in command else 40
        posegen.generate(small, samples=samples, workers=1, out=dataset)
        if "--repair" in command:
            for path in (dataset / "sequences").glob("*.parquet"):
                path.write_bytes(path.read_bytes()[:-1] + b"x")
    places = {"DATASET": str(dataset), "NEW": str(tmp_path / "new")}
    seen = children_of([places.get(word, word) for word in command])
    assert [line for line in seen if WORKER not in line and TRACKER not in line] == []
    assert sum(WORKER in line for line in seen) >= workers
    assert workers or seen == []
