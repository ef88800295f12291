"""Put compiled kernels into a wheel: those of the kernel cache that ``POSEGEN_WHEEL_KERNELS`` names, as `make wheel` does.

The wheel is then for one version of Python and one platform, and posegen starts in seconds where it is installed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface):
    """The hook that hatchling calls before it writes a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files of kernels that the wheel brings."""
        named = os.environ.get("POSEGEN_WHEEL_KERNELS")
        if version != "standard" or not named:
            return
        kernels = Path(named).absolute()
        files = sorted(kernels.rglob("*.nb[ci]"))
        if not files:
            raise FileNotFoundError(f"{kernels}: no compiled kernels; `make wheel` compiles them")
        for file in files:
            # numba's own folder, which is named by the path of the sources, is left out.
            package = Path("posegen/compiled", *file.relative_to(kernels).parts[:-2])
            build_data["force_include"][str(file)] = (package / file.name).as_posix()
        build_data["pure_python"], build_data["infer_tag"] = False, True
