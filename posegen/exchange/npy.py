"""Small files written with few calls of the system, which take most of the time of an export to many files.

Files in NumPy's format ``.npy`` are written faster than by :func:`numpy.save`: headers of equal arrays are made once.
"""

from __future__ import annotations

import os
from functools import lru_cache
from io import BytesIO

import numpy as np

from posegen.foundations.arrays import Array


def write_npy(path: str, values: Array) -> None:
    """Write an array to a file.

    Parameters
    ----------
    path : str
    values : ndarray
        In C order.
    """
    header = _header(values.shape, values.dtype.str)
    _write(path, [header, values.data], len(header) + values.nbytes)


def write_bytes(path: str, data: bytes) -> None:
    """Write a file at once: a buffered file of Python takes about twice as many calls of the system."""
    _write(path, [data], len(data))


def _write(path: str, parts: list[bytes | memoryview], size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        written = os.writev(descriptor, parts)
        if written < size:  # a full disk is reported by the next call
            rest = memoryview(b"".join(parts))[written:]
            while rest:
                rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


@lru_cache(1024)
def _header(shape: tuple[int, ...], dtype: str) -> bytes:
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue()
