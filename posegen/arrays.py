"""The type of NumPy arrays in annotations; shapes and element types are stated in docstrings."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any shape and type."""
