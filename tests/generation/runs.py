"""Runs of ``posegen generate`` in processes, and what they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import zarr

from tests.running import hear_interrupts

ROOT = Path(__file__).parents[2]
PATIENCE = 300
"""Seconds after which a run counts as hanging; compiling kernels on a busy machine takes most of two minutes."""
SMALL = ("frames=40", "store.shard=4", "store.chunk=2")


def content(path: Path) -> dict[str, Any]:
    """Return all arrays and rows of a dataset, read without posegen."""
    group = zarr.open_group(str(path / "motion.zarr"), mode="r")
    arrays = {name: np.asarray(array[:]) for name, array in group.arrays()}
    parts = sorted((path / "sequences").glob("*.parquet"))
    return arrays | {"rows": [row for part in parts for row in pq.read_table(part).to_pylist()]}


def assert_equal_content(one: Path, other: Path) -> None:
    a, b = content(one), content(other)
    assert a.keys() == b.keys() >= {"joints", "action", "contact", "rows"}
    assert len(a["joints"]) > 0
    assert a.pop("rows") == b.pop("rows")
    for name, values in a.items():
        np.testing.assert_array_equal(values.view(np.uint8), b[name].view(np.uint8), name)


class Runs:
    """Processes of the command, each in a process group of its own, which are killed at the end of the test."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, out: Path, *options: str, fault: str = "") -> subprocess.Popen[str]:
        """Start ``posegen generate`` of the small config."""
        settings = [part for setting in SMALL for part in ("--set", setting)]
        process = subprocess.Popen(
            [sys.executable, "-m", "posegen", "generate", "--config", "smoke", *settings, "--out", str(out), *options],
            cwd=ROOT,
            env=os.environ | {"POSEGEN_FAULT": fault},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        )
        self._processes.append(process)
        return process

    def finish(self, out: Path, *options: str, fault: str = "") -> tuple[int, str, str]:
        """Run the command and return its exit code, standard output and standard error."""
        process = self.start(out, *options, fault=fault)
        stdout, stderr = process.communicate(timeout=PATIENCE)
        return process.returncode, stdout, stderr

    def kill_all(self) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def receipts(path: Path) -> list[str]:
    """Return the names of the receipts."""
    return sorted(file.name for file in (path / "receipts").glob("*.json")) if path.exists() else []


def wait_for(process: subprocess.Popen[str], path: Path, shards: int) -> None:
    """Wait until a run has completed a number of shards."""
    limit = time.monotonic() + PATIENCE
    while len(receipts(path)) < shards:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.005)


def workers_of(process: int) -> list[psutil.Process]:
    """Return the live workers of a process."""
    found = []
    for child in psutil.Process(process).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended, or is a zombie
            if "popen_loky" in " ".join(child.cmdline()):
                found.append(child)
    return found
