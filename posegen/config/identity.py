"""What makes two datasets the same: canonical text of plain data, and the differences between two such data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["canonical", "differences", "digest"]

_EXACT = 2.0**53


def canonical(data: object) -> str:
    """Write plain data as JSON that depends on nothing but its meaning: not on the order of keys, nor on 1 or 1.0.

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
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:32]


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """List where two nested mappings differ.

    Parameters
    ----------
    first, second : mapping
        Plain data; a key that is missing counts as None.

    Returns
    -------
    list of (str, object, object)
        Dotted path, value in `first`, value in `second`.

    Examples
    --------
    >>> differences({"a": 1, "b": {"c": 2}}, {"a": 1.0, "b": {"c": 3}})
    [('b.c', 2, 3)]
    """
    found: list[tuple[str, Any, Any]] = []
    for key in dict.fromkeys((*first, *second)):
        one, other = first.get(key), second.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += [(f"{key}.{path}", a, b) for path, a, b in differences(one, other)]
        elif canonical(one) != canonical(other):
            found.append((key, one, other))
    return found


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    # Beyond 2^53 a float stands for more than one whole number.
    if isinstance(data, float) and data.is_integer() and abs(data) <= _EXACT:
        return int(data)
    return data
