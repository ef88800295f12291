"""Make expensive test data once for all workers of pytest-xdist, which share the tests of a file."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import posegen

__all__ = ["generated_once", "made_once", "own_copy"]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` has filled in this or another worker of the session; tests must not change it."""
    own = factory.getbasetemp()
    root = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, done = root / name, root / f"{name}.done"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def own_copy(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a copy, for this worker, of what :func:`made_once` makes: what two of them cannot work on at the same time."""
    return Path(shutil.copytree(made_once(factory, name, make), factory.mktemp(name) / "own"))


def generated_once(factory: pytest.TempPathFactory, name: str, samples: int, *overrides: str, preset: str = "smoke") -> Path:
    """Return a dataset of a preset, made once; tests must not change it."""
    config = posegen.load_config(preset, overrides)
    return (
        made_once(factory, name, lambda folder: posegen.generate(config, samples=samples, workers=1, out=folder / "motion"))
        / "motion"
    )
