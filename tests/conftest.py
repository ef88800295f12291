"""How Hypothesis searches, and the reference motion."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from posegen import load_config, synthesize
from tests.masking import masked_environment
from tests.running import Programs

ROOT = Path(__file__).parents[1]

# Cold kernels and shared cores make any deadline a matter of luck.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# In CI the same examples every time: a red run says something about the change, not about the day.
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels before workers start, which would each compile the same ones at the same time, and so their tests.

    Where all tests run, they are compiled for the other processor of the tests of determinism at the same time.
    """
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    other = None
    if not config.getoption("file_or_dir") and platform.machine() in {"x86_64", "AMD64"}:
        command = [sys.executable, "-m", "tests.golden"]
        other = subprocess.Popen(command, cwd=ROOT, env=masked_environment(), stdout=subprocess.DEVNULL)
    synthesize(load_config("smoke"), [0])
    if other is not None:
        other.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker waits for another in the end.

    First what compiles all kernels once more, for another processor; then the files whose runs of training take most of a
    minute before the first of their tests.
    """
    training = {item.path for item in items if "programs" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: ("test_determinism" not in item.nodeid, item.path not in training))


@dataclass(frozen=True)
class Clip:
    """A stretch of mocap: what it shows, and float32 [frame, joint, axis] at 25 FPS."""

    label: str
    joints: NDArray[np.float32]


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """Runs modules that train; the process that they are forked from is started by the first."""
    found = Programs()
    yield found
    found.close()


@pytest.fixture(scope="session")
def reference() -> list[Clip]:
    """Motion captured from real people, to compare with, from the folder that POSEGEN_REFERENCE names."""
    folder = os.environ.get("POSEGEN_REFERENCE")
    if not folder:
        pytest.skip("needs motion capture to compare with: set POSEGEN_REFERENCE to its folder")
    clips = []
    for file in sorted(Path(folder).glob("*.npz")):
        with np.load(file, allow_pickle=False) as archive:
            parts = np.split(archive["joints"], archive["offsets"][1:-1])
            clips += [Clip(str(label), joints) for label, joints in zip(archive["classes"], parts, strict=True)]
    return clips
