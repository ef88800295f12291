"""Files in NumPy's format ``.npy``, written faster than by :func:`numpy.save`: headers of equal arrays are made once."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import numpy as np

from posegen.arrays import Array


def write_npy(path: str, values: Array) -> None:
    """Write an array to a file.

    Parameters
    ----------
    path : str
    values : ndarray
        In C order.
    """
    with open(path, "wb") as file:
        file.write(_header(values.shape, values.dtype.str))
        file.write(values.data)


@lru_cache(1024)
def _header(shape: tuple[int, ...], dtype: str) -> bytes:
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue()
