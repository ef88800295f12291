"""Kernels of motion are vectorised: their machine code computes in the widest registers of the processor.

Cached machine code cannot be inspected, so a few kernels are compiled again, with the options of
:func:`posegen.foundations.kernels.kernel`.
"""

from __future__ import annotations

import platform
import re
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba import float32, float64, int64

from posegen.motion.clearance import is_near_thigh
from posegen.motion.legs import nominal_leg, place_foot, solve_knee
from posegen.motion.trunk import compose_rotations, trunk_rotation

ROW, ROWS = float32[::1], float32[:, ::1]
KERNELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "product of rotations": (compose_rotations, (ROWS, ROWS, ROWS)),
    "rotation from angles": (trunk_rotation, (ROW, ROW, ROW, float64, ROWS)),
    "a leg from its angles": (nominal_leg, (ROWS, int64, ROWS, float64[::1], ROWS)),
    "a foot, in some of the frames": (place_foot, (int64, int64, float64[::1], ROWS)),
    "a knee, in some of the frames": (solve_knee, (int64, int64, float32, float32, ROWS)),
    "a forearm near a thigh": (is_near_thigh, (ROWS, ROWS, ROWS, ROWS, float64, float64, int64, int64, ROW)),
}

# Multiplications of packed numbers: those of single ones (vmulss) take the same registers, and moving is no work.
WIDE = {
    "avx": re.compile(r"^\s*v(?:mul|fn?m(?:add|sub)\d+)ps\s.*%[yz]mm\d", re.MULTILINE),
    "neon": re.compile(r"^\s*fm(?:ul|la|ls)(?:\.4s\s|\s+v\d+\.4s)", re.MULTILINE),
}


def registers() -> str:
    """The kind of wide registers that kernels are compiled for here; skips the test where there are none."""
    if numba.config.CPU_NAME or numba.config.CPU_FEATURES or numba.config.BOUNDSCHECK:
        pytest.skip("numba is set to compile for another processor, or to check bounds")
    machine = platform.machine().lower()
    if machine in {"x86_64", "amd64"} and llvm.get_host_cpu_features().get("avx2"):
        return "avx"
    if machine in {"aarch64", "arm64"}:
        return "neon"
    pytest.skip(f"no wide registers are known of a processor of the kind {machine} without AVX2")


def assembly(kernel: Any, signature: tuple[Any, ...]) -> str:
    """Compile a kernel once more, past the cache."""
    fresh = numba.jit(**kernel.targetoptions)(kernel.py_func)
    fresh.compile(signature)
    (text,) = fresh.inspect_asm().values()
    return str(text)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_vectorised(name: str) -> None:
    wide = WIDE[registers()]
    kernel, signature = KERNELS[name]
    found = len(wide.findall(assembly(kernel, signature)))
    assert found >= 9, f"{name} has {found} multiplications in wide registers: the compiler works on one frame after another"


def test_a_recurrence_is_not_vectorised() -> None:
    wide = WIDE[registers()]

    @numba.jit(**compose_rotations.targetoptions)
    def decay(rows: Any) -> None:
        for f in range(1, rows.shape[1]):
            rows[0, f] = rows[0, f - 1] * np.float32(0.5) + rows[1, f] * rows[2, f] * rows[0, f - 1]

    assert not wide.findall(assembly(decay, (ROWS,)))
