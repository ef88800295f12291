"""Sealed JSON documents: small files that carry a hash of themselves.

The first entry of a sealed document is the XXH3-128 hash of all bytes that follow it, so that any change of the file is
noticed, even one that JSON would not care about. What the document then says is still checked key by key: a seal keeps
out accidents, not forgeries. And it must be written as :func:`seal` writes it, byte by byte, which leaves no room for
what JSON lets pass: a key twice, a number without end, half a letter.
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
_MOST_ENTRIES = 100_000  # as Python objects, empty lists take 30 times the room of their text
_DEEPEST = 32


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
    if len(data) > MOST_BYTES or sum(map(data.count, (b",", b"[", b"{"))) > _MOST_ENTRIES:
        raise source.error(f"is {len(data)} bytes long or has more entries than posegen ever writes")
    for indent, start, separator in ((None, b'{"hash":"', b'",'), (2, b'{\n  "hash": "', b'",\n')):
        end = len(start) + _HASH_DIGITS
        body = data[end + len(separator) :]
        if data.startswith(start) and data[end:].startswith(separator):
            if data[len(start) : end] != xxhash.xxh3_128_hexdigest(body).encode():
                raise source.error("is damaged or was edited: its hash does not fit its content")
            return _parsed(data, indent, source)
    raise source.error("is not a document written by posegen: it does not begin with its own hash")


def _parsed(data: bytes, indent: int | None, source: Source) -> dict[str, Any]:
    try:
        document = json.loads(data)
        if _depth(document) > _DEEPEST:
            raise source.error(f"is nested more than {_DEEPEST} levels deep")
        del document["hash"]
        plain = seal(document, indent=indent) == data
    # A text that is no JSON, or says what JSON cannot: NaN, letters that are none.
    except (ValueError, RecursionError) as error:
        raise source.error(f"is not valid JSON ({error})") from error
    if not plain:
        raise source.error("is JSON, but not as posegen writes it")
    return document  # type: ignore[no-any-return]


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


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
    """Take a finite number of at most 2^64 if it is whole; a whole number stays one."""
    value = document[key]
    if not (type(value) is float and math.isfinite(value)) and not (type(value) is int and abs(value) <= 2**64):
        raise source.error(f"`{key}` must be a finite number, not {value!r:.60}")
    return value


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
