"""Content hashes of samples, independent of their representation on disk.

The hash of a sample in a field is XXH3-128 over its decoded values, little-endian in C order, with -0 hashed as 0 and every
NaN as the same one. It does not depend on shards, chunks or compression, so that datasets can be compared by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import xxhash

from posegen.foundations.arrays import Array


def byte_hash(pieces: Iterable[bytes | memoryview]) -> str:
    """Return the XXH3-128 hash of concatenated bytes as 32 hexadecimal digits."""
    digest = xxhash.xxh3_128()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def canonical(array: Array) -> Array:
    """Return values in the form in which they are hashed and stored.

    Parameters
    ----------
    array : ndarray
        Numbers of any kind.

    Returns
    -------
    ndarray
        C-contiguous and little-endian, with no -0 and one kind of NaN. The array itself if it has this form; the argument is
        never modified.

    Examples
    --------
    >>> bool(np.signbit(canonical(np.array([-0.0]))[0]))
    False
    """
    contiguous = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    if contiguous.dtype.kind != "f" or contiguous.size == 0:
        return contiguous
    from posegen.foundations.canonical_floats import (  # with numba, which reading does not need
        count_noncanonical,
        fill_canonical,
    )

    bits = contiguous.reshape(-1).view(f"<u{contiguous.dtype.itemsize}")
    patterns = _patterns(contiguous.dtype)
    if not count_noncanonical(bits, *patterns):
        return contiguous
    plain = np.empty_like(contiguous)
    fill_canonical(bits, plain.reshape(-1).view(bits.dtype), *patterns)
    return plain


def content_hashes(array: Array) -> str:
    """Hash each sample of a canonical array [sample, ...].

    Parameters
    ----------
    array : ndarray
        As :func:`canonical` returns it.

    Returns
    -------
    str
        32 hexadecimal digits for each sample, one after another.
    """
    return "".join(xxhash.xxh3_128_hexdigest(np.atleast_1d(sample).data) for sample in array)


def _patterns(dtype: np.dtype[Any]) -> tuple[Any, Any, Any, Any]:
    """Return the bits of -0, of infinity and of the canonical NaN, and the mask of all bits but the sign."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    special = np.array([-0.0, np.inf, np.nan], dtype).view(unsigned)
    return special[0], special[1], special[2], unsigned.type(special[0] - 1)
