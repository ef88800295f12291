"""Sealed JSON documents: small files that carry a hash of themselves.

The first entry of a sealed document is the XXH3-128 hash of all bytes that follow it, so that any change of the file is
noticed, even one that JSON would not care about. What the document then says is still checked key by key: a seal keeps
out accidents, not forgeries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xxhash

from posegen.errors import PosegenError

__all__ = ["Source", "mapping", "number", "seal", "texts", "unseal", "whole", "wholes", "words"]

MOST_BYTES = 64 * 2**20
_HASH_DIGITS = 32


@dataclass(frozen=True)
class Source:
    """Where a document came from, for messages.

    Attributes
    ----------
    file : str
        The file as the user would name it.
    cure : str
        What to do if the file is bad: a whole sentence.
    """

    file: str
    cure: str

    def error(self, reason: str) -> PosegenError:
        """Make the error that says `reason` about this document."""
        return PosegenError(f"{self.file}: {reason}. {self.cure}")


def seal(content: Mapping[str, Any], *, indent: int | None = None) -> bytes:
    """Write a document with the hash of itself as its first entry.

    Parameters
    ----------
    content : mapping
        Plain data without the key ``hash`` and without NaN.
    indent : int, optional
        As for `json.dumps`; by default the document is as short as it can be.

    Examples
    --------
    >>> seal({"shard": 3})
    b'{"hash":"3f1962f123c6ff9b426e5e424700a097","shard":3}'
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(content, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    start, separator = ('{"hash":"', '",') if indent is None else ('{\n  "hash": "', '",\n')
    body = (text[1:] if indent is None else text[2:] + "\n").encode()
    return start.encode() + xxhash.xxh3_128_hexdigest(body).encode() + separator.encode() + body


def unseal(data: bytes, source: Source) -> dict[str, Any]:
    """Read a document, checking its hash.

    Parameters
    ----------
    data : bytes
        What :func:`seal` returned, if all is well.
    source : Source
        For messages.

    Returns
    -------
    dict
        The document without its hash.

    Raises
    ------
    PosegenError
        If the document is not what was written.
    """
    if len(data) > MOST_BYTES:
        raise source.error(f"is {len(data)} bytes long, more than posegen ever writes")
    for start, separator in ((b'{"hash":"', b'",'), (b'{\n  "hash": "', b'",\n')):
        end = len(start) + _HASH_DIGITS
        body = data[end + len(separator) :]
        if data.startswith(start) and data[end:].startswith(separator):
            if data[len(start) : end] != xxhash.xxh3_128_hexdigest(body).encode():
                raise source.error("is damaged or was edited: its hash does not fit its content")
            break
    else:
        raise source.error("is not a document written by posegen: it does not begin with its own hash")
    try:
        document = json.loads(data.decode(), parse_constant=_refuse_constant)
        if b"\\u" in data:  # half a character may be written so, too, and could not be written again
            json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise source.error(f"is not valid JSON ({error})") from error
    if not isinstance(document, dict):
        raise source.error("must be a JSON object")
    del document["hash"]
    return document


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def check_keys(document: object, keys: frozenset[str], source: Source, where: str = "") -> Mapping[str, Any]:
    """Check that a document is an object with exactly these keys, and return it."""
    if not isinstance(document, dict):
        raise source.error(f"{where or 'the document'} must be a JSON object")
    for key in sorted(keys - document.keys()):
        raise source.error(f"the key `{where}{key}` is missing")
    for key in sorted(document.keys() - keys):
        raise source.error(f"the key `{where}{key}` is not known")
    return document


def whole(document: Mapping[str, Any], key: str, source: Source, *, least: int = 0) -> int:
    """Take a whole number of at least `least`, below 2^53."""
    value = document[key]
    if type(value) is not int or not least <= value < 2**53:
        raise source.error(f"`{key}` must be a whole number from {least} to 2^53, not {value!r:.60}")
    return value


def number(document: Mapping[str, Any], key: str, source: Source) -> float:
    """Take a finite number; a whole number stays one."""
    value = document[key]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise source.error(f"`{key}` must be a finite number, not {value!r:.60}")
    return value  # type: ignore[no-any-return]


def words(document: Mapping[str, Any], key: str, source: Source) -> str:
    """Take a text."""
    value = document[key]
    if not isinstance(value, str):
        raise source.error(f"`{key}` must be text, not {value!r:.60}")
    return value


def mapping(document: Mapping[str, Any], key: str, source: Source) -> dict[str, Any]:
    """Take a JSON object."""
    value = document[key]
    if not isinstance(value, dict):
        raise source.error(f"`{key}` must be a JSON object, not {value!r:.60}")
    return value


def texts(document: Mapping[str, Any], key: str, source: Source) -> tuple[str, ...]:
    """Take a list of texts."""
    value = document[key]
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise source.error(f"`{key}` must be a list of texts, not {value!r:.60}")
    return tuple(value)


def wholes(document: Mapping[str, Any], key: str, source: Source) -> tuple[int, ...]:
    """Take a list of whole numbers from 1 to 2^31."""
    value = document[key]
    if not isinstance(value, list) or not all(type(entry) is int and 1 <= entry < 2**31 for entry in value):
        raise source.error(f"`{key}` must be a list of whole numbers from 1, not {value!r:.60}")
    return tuple(value)
