"""Identities: which keys decide content, canonical JSON and hashes of plain data, and differences between mappings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

NOT_IDENTITY = ("name", "samples", "workers", "story.library", "store")
"""Keys that do not affect the content of samples. The library counts by its content, not by its path."""

_EXACT = 2.0**53


def decides_content(key: str) -> bool:
    """Return whether a key, a dotted path, affects the content of samples."""
    return not any(key == free or key.startswith(f"{free}.") for free in NOT_IDENTITY)


def canonical(data: object) -> str:
    """Return plain data as JSON that does not depend on the order of keys, nor on 1 or 1.0.

    Parameters
    ----------
    data : object
        Mappings, lists, text, finite numbers, booleans and None.

    Returns
    -------
    str

    Examples
    --------
    >>> canonical({"b": 1.0, "a": [0.5, -0.0, True]})
    '{"a":[0.5,0,true],"b":1}'
    """
    return json.dumps(_plain(data), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(data: object) -> str:
    """Hash plain data.

    Parameters
    ----------
    data : object
        As for :func:`canonical`.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> digest({"a": 1}) == digest({"a": 1.0}), len(digest(None))
    (True, 32)
    """
    return text_digest(canonical(data))


def text_digest(text: str) -> str:
    """Return the :func:`digest` of data by its canonical JSON."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the keys in which two nested mappings differ.

    Parameters
    ----------
    first, second : mapping
        Plain data; a missing key is the same as None.

    Returns
    -------
    list of (str, object, object)
        Dotted path, value in `first`, value in `second`.

    Examples
    --------
    >>> differences({"a": 1, "b": {"c": 2}}, {"a": 1.0, "b": {"c": 3}})
    [('b.c', 2, 3)]
    """
    different: list[tuple[str, Any, Any]] = []
    for key in dict.fromkeys((*first, *second)):
        one, other = first.get(key), second.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            different += [(f"{key}.{path}", a, b) for path, a, b in differences(one, other)]
        elif canonical(one) != canonical(other):
            different.append((key, one, other))
    return different


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    # Beyond 2^53, a float represents several integers.
    if isinstance(data, float) and data.is_integer() and abs(data) <= _EXACT:
        return int(data)
    return data
