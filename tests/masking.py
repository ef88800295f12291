"""Another processor, by pretending: the same machine with the newer features of its processor hidden.

NumPy, numba, OpenBLAS and the C library each choose code by what the processor can do, and their results differ in the last
bit. Each has a switch to hide features from it; all of them are read when a process starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xxhash
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from posegen.foundations.kernels import cache_folder

__all__ = ["machine_arithmetic", "masked_environment"]

C_LIBRARY = ("AVX", "AVX2", "AVX512F", "AVX_Fast_Unaligned_Load", "BMI2", "ERMS", "FMA", "FMA4", "FSRM")


def masked_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Copy an environment, hiding from processes that start in it whatever the processor has beyond the first of its kind."""
    present = [feature for feature in __cpu_dispatch__ if __cpu_features__.get(feature)]
    hidden = {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NPY_DISABLE_CPU_FEATURES": " ".join(present),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{feature}" for feature in C_LIBRARY),
        # numba's caches know no locks, and both kinds of processes may run at once.
        "POSEGEN_KERNEL_CACHE": str(Path(cache_folder()).parent.with_name("kernels-masked")),
    }
    return {**environment, **hidden}


def machine_arithmetic() -> dict[str, str]:
    """Hash results that posegen must not depend on: they tell processors apart, and show that a mask took."""
    numbers = np.linspace(0.0, 10.0, 10_001)
    square = np.outer(numbers[:100], numbers[100:200])
    results = {"sine": np.sin(numbers), "exponential": np.exp(numbers), "product": square @ np.sin(square)}
    return {name: xxhash.xxh3_128_hexdigest(np.ascontiguousarray(values)) for name, values in results.items()}
