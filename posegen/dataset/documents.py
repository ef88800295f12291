"""Read and write sealed JSON documents: headers, receipts and other small files that contain a hash of themselves.

The first entry of a sealed document is the XXH3-128 hash of all bytes that follow it, so that any change of the file is
detected, even one that has no meaning in JSON. A seal detects accidents, not forgeries: :func:`parse` validates every value
against a type. A document must also be byte for byte what :func:`seal` writes, which excludes duplicate keys, huge numbers and
invalid Unicode.

Not responsible for where documents are stored and what they mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

import xxhash
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from posegen.foundations.errors import PosegenError

MAX_BYTES = 64 * 2**20
"""Largest document that is read, in bytes."""

LOST_COUNT = (
    "Delete it and run the same `posegen generate` command again, with as many samples as before: complete shards are kept"
)
"""What to do if a document is damaged that holds how many samples a dataset will have."""

STRICT = ConfigDict(strict=True, extra="forbid")
"""Validation of a document's dataclass: no conversions, no unknown keys."""

Count = Annotated[int, Field(ge=0, lt=2**53)]
"""A non-negative integer that every JSON reader represents exactly."""

FORMAT_VERSION = 1
"""Version of all formats of datasets and what lies beside them; a reader refuses a later one."""

T = TypeVar("T")

_SEAL = re.compile(rb'{(?P<indent>\n  )?"hash": ?"(?P<hash>.{32})",\n?', re.DOTALL)
_MAX_ENTRIES = 100_000  # empty lists take 30 times as much memory as their text
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


class Document:
    """Base of the dataclasses of documents, which are validated without conversions and unknown keys."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT


@dataclass(frozen=True)
class Origin:
    """The file that a document was read from, for error messages.

    Attributes
    ----------
    file : str
        Path as the user would write it.
    hint : str
        What to do if the file is damaged: a complete sentence.
    """

    file: str
    hint: str

    def error(self, reason: str) -> PosegenError:
        """Return the error that states `reason` for this file."""
        return PosegenError(f"{self.file}: {reason}. {self.hint}")


def seal(content: object, *, indent: int | None = None) -> bytes:
    """Encode a document with the hash of itself as its first entry.

    Parameters
    ----------
    content : mapping or dataclass
        Plain data without the key ``hash`` and without NaN, or a document's dataclass.
    indent : int, optional
        As for `json.dumps`; by default the document is as short as possible.

    Examples
    --------
    >>> seal({"shard": 3})
    b'{"hash":"3f1962f123c6ff9b426e5e424700a097","shard":3}'
    """
    content = content if isinstance(content, Mapping) else plain_data(content)
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(content, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False).encode()
    start, body = (b'{"hash":"%s",', text[1:]) if indent is None else (b'{\n  "hash": "%s",\n', text[2:] + b"\n")
    return start % xxhash.xxh3_128_hexdigest(body).encode() + body


def unseal(data: bytes, origin: Origin) -> dict[str, Any]:
    """Decode a document and check its hash.

    Parameters
    ----------
    data : bytes
        Content of the file; what :func:`seal` returned if the file is intact.
    origin : Origin
        For error messages.

    Returns
    -------
    dict
        The document without its hash.

    Raises
    ------
    PosegenError
        If the document is not exactly what :func:`seal` writes.
    """
    if len(data) > MAX_BYTES or sum(map(data.count, (b",", b"[", b"{"))) > _MAX_ENTRIES:
        raise origin.error(f"is too large for a document of posegen ({len(data)} bytes)")
    seal_of_data = _SEAL.match(data)
    if seal_of_data is None:
        raise origin.error("is not a document written by posegen: it does not begin with its own hash")
    if seal_of_data["hash"] != xxhash.xxh3_128_hexdigest(data[seal_of_data.end() :]).encode():
        raise origin.error("is damaged or was edited: its hash does not match its content")
    try:
        document: dict[str, Any] = json.loads(data)
        del document["hash"]
        is_canonical = seal(document, indent=2 if seal_of_data["indent"] else None) == data
    # Text that is not JSON, or a value that JSON cannot represent: NaN, half of a surrogate pair.
    except (ValueError, RecursionError) as error:
        raise origin.error(f"is not valid JSON ({error})") from error
    if not is_canonical:
        raise origin.error("is JSON, but not as posegen writes it")
    return document


def parse(kind: type[T], document: Mapping[str, Any], origin: Origin) -> T:
    """Validate plain data as an instance of `kind`.

    Parameters
    ----------
    kind : type
        A :class:`Document`, or another type that pydantic validates.
    document : mapping
        What :func:`unseal` returned.
    origin : Origin
        For error messages.

    Raises
    ------
    PosegenError
        If it has a later format version, a key is missing or unknown, or a value has another type or range; names the first
        such key.
    """
    version = document.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        msg = f"has format version {version}, this posegen reads versions up to {FORMAT_VERSION}"
        raise Origin(origin.file, "Use a newer posegen.").error(msg)
    try:
        return _adapter(kind).validate_json(json.dumps(document, allow_nan=False))  # type: ignore[no-any-return]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    except ValueError as error:  # a number that JSON cannot represent
        raise origin.error(f"is not valid JSON ({error})") from error
    key, reason = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    raise origin.error(f"`{key}`: {reason} (got {first['input']!r:.60})" if key else reason)


def read_sealed(kind: type[T], data: bytes, origin: Origin) -> T:
    """Decode a sealed document and validate it as an instance of `kind`; raises as :func:`unseal` and :func:`parse` do."""
    return parse(kind, unseal(data, origin), origin)


def plain_data(value: object) -> dict[str, Any]:
    """Return a document's dataclass as plain data, ready for :func:`seal`."""
    return _adapter(type(value)).dump_python(value, mode="json", by_alias=True)  # type: ignore[no-any-return]
