"""Read YAML from files and text that may come from anyone.

The result is plain data: mappings with text as keys, lists, text, numbers, true, false and null. Tags, anchors, aliases,
duplicate keys, control characters, deep nesting and large files are refused. As in YAML 1.2, words such as ``no`` and ``on``
are text, and ``1e5`` is a number.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from posegen.foundations.errors import UsageError
from posegen.foundations.wording import hidden_character, shown

LARGEST_FILE = 1_000_000
"""Bytes."""

_DEEPEST = 32
_LONGEST_NUMBER = 40
_KINDS = {
    "null": re.compile(r"(~|null|Null|NULL|)\Z"),
    "bool": re.compile(r"(true|True|TRUE|false|False|FALSE)\Z"),
    "int": re.compile(r"[-+]?[0-9]+\Z"),
    "float": re.compile(
        r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z",
    ),
}
"""Plain scalars that are no text. YAML 1.1 has more words for true and false, and numbers such as 1_000."""
_CONVERTERS: Mapping[str, Callable[[str], str | int | float | bool | None]] = {
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": lambda text: float(text.replace(".", "") if text[-1].isalpha() else text),  # .inf and .nan
    "str": str,
}
_BEGINNINGS = frozenset("~nNtTfF-+.0123456789")


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    object
        Plain data; None for an empty file.

    Raises
    ------
    UsageError
        If the file cannot be read or holds anything but plain data.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            # Some files of the kernel claim to be regular but return None.
            content = (file.read(LARGEST_FILE + 1) if is_regular else None) or b""
    except IsADirectoryError:
        raise UsageError(f"{path}: is a folder; name a YAML file in it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path}: cannot be read ({reason}); check the path") from None
    if not is_regular:
        raise UsageError(f"{path}: is not a regular file; name a YAML file")
    if len(content) > LARGEST_FILE:
        raise UsageError(f"{path}: is larger than {LARGEST_FILE:,} bytes, the limit for YAML files; check the path")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text (byte {error.start:,}); save it as UTF-8") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, source: str) -> Any:
    """Parse YAML text.

    Parameters
    ----------
    text : str
        One document, or nothing.
    source : str
        Name of the source in messages.

    Returns
    -------
    object
        Plain data; None for empty text.

    Raises
    ------
    UsageError
        If the text holds anything but plain data.

    Examples
    --------
    >>> parse_yaml("{samples: 1e3, word: no}", "example")
    {'samples': 1000.0, 'word': 'no'}
    """
    try:
        return _document(yaml.parse(text, Loader=yaml.CSafeLoader))
    except ConstructorError as error:
        msg = f"{source}: {error.problem} (line {_line(error)})"
    except yaml.MarkedYAMLError as error:
        msg = f"{source}: is not valid YAML: {error.problem} (line {_line(error)})"
    except yaml.YAMLError as error:
        msg = f"{source}: is not valid YAML: {getattr(error, 'reason', 'unreadable characters')}"
    except UnicodeEncodeError:  # a lone surrogate, as Python makes of bytes on the command line that are not UTF-8
        msg = f"{source}: is not valid text; write it in UTF-8"
    raise UsageError(msg)


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a pipe that has no writer would block.
    return os.open(path, flags | os.O_NONBLOCK)


def _line(error: yaml.MarkedYAMLError) -> int:
    return error.problem_mark.line + 1 if error.problem_mark else 1


def _document(events: Iterator[Any]) -> Any:
    """Construct the only document while its events are read, without the nodes that PyYAML puts between: half of the time."""
    next(events)  # begin of the stream
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    value = _value(next(events), events, 0)
    next(events)  # end of the document
    more = next(events)
    if not isinstance(more, yaml.StreamEndEvent):
        raise yaml.MarkedYAMLError(problem="but found another document", problem_mark=more.start_mark)
    return value


def _value(event: Any, events: Iterator[Any], depth: int) -> Any:
    """Construct the value that begins with `event`, which lies in `depth` others."""
    _check_plain(event)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth == _DEEPEST:
        raise _refused(f"is nested more than {_DEEPEST} levels deep; check the brackets", event)
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_value(item, events, depth + 1))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        _check_plain(key)
        if not isinstance(key, yaml.ScalarEvent):
            raise _refused("has a key that is not plain text; write text before the colon", key)
        if key.value in mapping:
            raise _refused(f"has the key {shown(key.value)} a second time; keep one of them", key)
        mapping[key.value] = _value(next(events), events, depth + 1)
    return mapping


def _check_plain(event: Any) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise _refused("has an anchor or alias, which posegen refuses; write the value out (or quote it)", event)
    if event.tag is not None:
        raise _refused(f"has the tag {shown(event.tag)}, which posegen refuses; leave it out (or quote it)", event)
    if isinstance(event, yaml.ScalarEvent) and (hidden := hidden_character(event.value, "\n\t")):
        raise _refused(f"has the character {hidden}, which nobody sees; remove it", event)


def _scalar(event: Any) -> str | int | float | bool | None:
    text: str = event.value
    is_quoted = not event.implicit[0]
    if is_quoted or (text and text[0] not in _BEGINNINGS):
        return text
    kind = next((kind for kind, pattern in _KINDS.items() if pattern.match(text)), "str")
    if kind in ("int", "float") and len(text) > _LONGEST_NUMBER:
        raise _refused(f"has a number of {len(text)} characters; shorten it", event)
    return _CONVERTERS[kind](text)


def _refused(problem: str, event: Any) -> ConstructorError:
    return ConstructorError(None, None, problem, event.start_mark)


class _Dumper(yaml.SafeDumper):
    """Quotes text that a version of YAML reads as something else: 1.1 has more words for true, 1.2 more numbers, as 1e3."""


def dump_yaml(data: Any) -> str:
    """Return plain data as YAML that :func:`parse_yaml` reads back equal."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False))


for _kind, _pattern in _KINDS.items():
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", _pattern, None)
