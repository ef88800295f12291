"""Kernels for x86-64-v3 give the same, and those that a wheel brings are not compiled again."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from llvmlite import binding as llvm

import posegen
from posegen.foundations.kernels import PORTABLE_VARIABLE as VARIABLE
from posegen.foundations.kernels import choose_processor

ROOT = Path(__file__).parents[1]
CODE = """
import numba
import numpy as np
from posegen.motion.stances import standing_ankle_ahead
ahead = standing_ankle_ahead(np.linspace(0, 0.2, 32), 0.5, 0.375)
print(numba.config.CPU_NAME, ahead.hex(), sum(standing_ankle_ahead.stats.cache_misses.values()))
"""

needs_avx2 = pytest.mark.skipif(
    platform.machine() != "x86_64" or not llvm.get_host_cpu_features().get("avx2"), reason="no x86-64 processor with AVX2"
)


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings of numba, without a processor that the user has chosen."""
    monkeypatch.setattr(numba.config, "CPU_NAME", None)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    monkeypatch.delenv(VARIABLE, raising=False)
    return numba.config


@needs_avx2
def test_numba_compiles_for_this_processor_unless_portable_kernels_are_requested(
    processor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (choose_processor(), processor.CPU_NAME, processor.CPU_FEATURES) == ("", None, None)
    monkeypatch.setenv(VARIABLE, "1")
    assert (choose_processor(), processor.CPU_NAME, processor.CPU_FEATURES) == ("x86-64-v3", "x86-64-v3", "")


@pytest.mark.parametrize(("family", "missing"), [("x86_64", "avx2"), ("x86_64", "movbe"), ("aarch64", "")])
def test_a_processor_that_cannot_run_portable_kernels_compiles_its_own(
    family: str, missing: str, processor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = {**llvm.get_host_cpu_features(), missing: False}
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    monkeypatch.setattr(platform, "machine", lambda: family)
    monkeypatch.setenv(VARIABLE, "1")
    assert choose_processor() == ""
    assert processor.CPU_NAME is None


def test_a_processor_that_the_user_has_chosen_stays(processor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "CPU_NAME", "generic")
    monkeypatch.setenv(VARIABLE, "1")
    assert choose_processor() == "generic"
    assert processor.CPU_FEATURES is None


def ran(installation: Path, cache: Path, **variables: str) -> list[str]:
    """Run a kernel of the installation; return the processor, the result and the number of compilations."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(installation), "POSEGEN_KERNEL_CACHE": str(cache)} | variables
    command = [sys.executable, "-c", CODE]
    return subprocess.run(command, cwd=cache.parent, env=environment, check=True, capture_output=True, text=True).stdout.split()


@needs_avx2
@pytest.mark.slow
def test_kernels_that_a_wheel_brings_are_not_compiled_again(tmp_path: Path) -> None:
    native = ran(ROOT, tmp_path / "native")
    portable = ran(ROOT, tmp_path / "portable", **{VARIABLE: "1"})
    assert (native[0], portable[0]) == ("None", "x86-64-v3")
    assert portable[1:] == [native[1], "1"]

    wheels, installed = tmp_path / "wheels", tmp_path / "installed"
    pip, alone = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"], ["--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "POSEGEN_WHEEL_KERNELS": str(tmp_path / "portable")}
    subprocess.run([*pip, "wheel", *alone, str(ROOT), "-w", str(wheels)], env=environment, check=True)
    (wheel,) = wheels.iterdir()
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name == f"posegen-{posegen.__version__}-{python}-{python}-linux_x86_64.whl"
    subprocess.run([*pip, "install", *alone, "--target", str(installed), str(wheel)], check=True)
    brought = {file.relative_to(installed / "posegen" / "compiled").parts[1:-1] for file in installed.rglob("*.nbi")}
    assert brought == {("motion",)}

    assert ran(installed, tmp_path / "first") == ["x86-64-v3", native[1], "0"]
    assert ran(installed, tmp_path / "bounds", NUMBA_BOUNDSCHECK="1") == ["None", native[1], "1"]
    with (installed / "posegen" / "foundations" / "constants.py").open("a") as file:
        file.write("\nEDITED = 1\n")
    assert ran(installed, tmp_path / "first") == ["x86-64-v3", native[1], "1"]


@pytest.mark.slow
def test_a_wheel_without_the_kernels_that_were_named_is_not_built(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", str(ROOT), "-w", str(tmp_path)]
    environment = {**os.environ, "POSEGEN_WHEEL_KERNELS": str(tmp_path)}
    built = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode != 0
    assert f"{tmp_path}: no compiled kernels; `make wheel` compiles them" in built.stdout + built.stderr
