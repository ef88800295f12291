"""Packages that others would import only to see whether they are there.

pyarrow imports pandas when it makes its first array, in case somebody hands it a series; numba imports scipy to see whether
there are matrix products. Where both are installed, as they are with those who train models, that takes a fifth of the time
that `posegen generate` takes to begin. Neither is asked for anything there, nor in the workers that make samples.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["UNASKED", "hide_unasked"]

UNASKED = ("pandas", "scipy")


class _Hiding(MetaPathFinder):
    """Says of packages that they are not there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in UNASKED:
            msg = f"No module named {fullname!r} is looked for in this process"
            raise ModuleNotFoundError(msg, name=fullname)
        return None


def hide_unasked() -> None:
    """From here on nobody in this process finds the packages; only for one that ends with a command that needs neither."""
    sys.meta_path.insert(0, _Hiding())
