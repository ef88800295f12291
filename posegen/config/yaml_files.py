"""Reading YAML that anybody may have written.

Only plain data comes out: mappings with text as keys, lists, text, numbers, true, false and null. Tags, anchors and
aliases are refused, and so are duplicate keys, deep nesting and large files. Words such as ``no`` and ``on`` stay text and
``1e5`` is a number, as YAML 1.2 has it. The tree is built from the parser's events in a loop, so that no file, however
nested, reaches the limit of recursion.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from posegen.errors import UsageError
from posegen.wording import shown

__all__ = ["parse_yaml", "read_yaml"]

LARGEST_FILE = 1_000_000
"""Bytes."""

_DEEPEST = 32
_LONGEST_NUMBER = 40
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_UNBOUNDED = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class _Open:
    """A mapping or list that is being filled, and in a mapping the key that waits for its value."""

    value: dict[str, Any] | list[Any]
    key: str | None = None

    @property
    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


def read_yaml(path: Path) -> Any:
    """Read one YAML file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    object
        Plain data; None where the file is empty.

    Raises
    ------
    UsageError
        Where the file cannot be read or holds anything but plain data.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            # Nothing at all, not even an end, comes out of some files that are not really any.
            content = (file.read(LARGEST_FILE + 1) if plain else None) or b""
    except IsADirectoryError:
        msg = f"{path}: is a folder; name a YAML file in it"
        raise UsageError(msg) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"{path}: cannot be read ({reason}); check the path"
        raise UsageError(msg) from None
    if not plain:
        msg = f"{path}: is not a plain file; name a YAML file"
        raise UsageError(msg)
    if len(content) > LARGEST_FILE:
        msg = f"{path}: is larger than {LARGEST_FILE:,} bytes; no file of posegen's is: check the path"
        raise UsageError(msg)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: is not UTF-8 text (byte {error.start:,}); save it as UTF-8"
        raise UsageError(msg) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Parse YAML text.

    Parameters
    ----------
    text : str
        One document, or nothing.
    where : str
        What messages name as the place.

    Returns
    -------
    object
        Plain data; None where the text is empty.

    Raises
    ------
    UsageError
        Where the text holds anything but plain data.

    Examples
    --------
    >>> parse_yaml("{samples: 1e3, word: no}", "example")
    {'samples': 1000.0, 'word': 'no'}
    """
    try:
        return _build(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        msg = f"{where}: is not valid YAML: {error.problem}{line}"
    except yaml.YAMLError as error:
        msg = f"{where}: is not valid YAML: {getattr(error, 'reason', 'unreadable characters')}"
    except UnicodeEncodeError:  # half a character, as Python makes of bytes on the command line that are not UTF-8
        msg = f"{where}: is not valid text; write it in UTF-8"
    except _RefusedError as error:
        msg = f"{where}: {error}"
    raise UsageError(msg)


def _without_waiting(path: str, flags: int) -> int:
    # Opening a pipe that nobody writes to would wait for ever.
    return os.open(path, flags | os.O_NONBLOCK)


class _RefusedError(Exception):
    """Valid YAML, but not plain data."""


def _build(events: Iterator[Any]) -> Any:
    documents: list[Any] = []
    stack = [_Open(documents)]
    for event in events:
        _refuse_extras(event, len(documents))
        if isinstance(event, yaml.ScalarEvent) and stack[-1].wants_key:
            stack[-1].key = _new_key(event, stack[-1].value)
        elif isinstance(event, yaml.ScalarEvent):
            _put(stack[-1], _scalar(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            _open(stack, {} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
    return documents[0] if documents else None


def _refuse_extras(event: Any, documents: int) -> None:
    if isinstance(event, yaml.DocumentStartEvent) and documents:
        msg = f"holds more than one document (line {_line(event)}); keep one"
        raise _RefusedError(msg)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        msg = f"has an anchor or alias in line {_line(event)}, which posegen refuses; write the value out (or quote it)"
        raise _RefusedError(msg)
    if getattr(event, "tag", None) is not None:
        msg = f"has the tag {shown(event.tag)} in line {_line(event)}, which posegen refuses; leave it out (or quote it)"
        raise _RefusedError(msg)


def _open(stack: list[_Open], value: dict[str, Any] | list[Any], event: Any) -> None:
    if stack[-1].wants_key:
        msg = f"has a key in line {_line(event)} that is not plain text; write text before the colon"
        raise _RefusedError(msg)
    if len(stack) > _DEEPEST:
        msg = f"is nested more than {_DEEPEST} levels deep in line {_line(event)}; check the brackets"
        raise _RefusedError(msg)
    _put(stack[-1], value)
    stack.append(_Open(value))


def _put(parent: _Open, value: Any) -> None:
    if isinstance(parent.value, list):
        parent.value.append(value)
    elif parent.key is not None:
        parent.value[parent.key] = value
        parent.key = None


def _new_key(event: Any, mapping: Any) -> str:
    key = str(event.value)
    if key in mapping:
        msg = f"has the key {shown(key)} a second time, in line {_line(event)}; keep one of them"
        raise _RefusedError(msg)
    return key


def _scalar(event: Any) -> str | int | float | bool | None:
    text = str(event.value)
    plain = event.style in (None, "")
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    whole, number = _WHOLE.fullmatch(text), _NUMBER.fullmatch(text)
    if number and len(text) > _LONGEST_NUMBER:
        msg = f"has a number of {len(text)} characters in line {_line(event)}; shorten it"
        raise _RefusedError(msg)
    if whole:
        return int(text)
    if number:
        return float(text)
    return float(text.replace(".", "").lower()) if _UNBOUNDED.fullmatch(text) else text


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
