"""Read YAML from files and text that may come from anyone.

The result is plain data: mappings with text as keys, lists, text, numbers, true, false and null. Tags, anchors, aliases,
duplicate keys, deep nesting and large files are refused. As in YAML 1.2, words such as ``no`` and ``on`` are text, and ``1e5``
is a number.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor

from posegen.errors import UsageError
from posegen.wording import shown

LARGEST_FILE = 1_000_000
"""Bytes."""

_DEEPEST = 32
_LONGEST_NUMBER = 40


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
        msg = f"{path}: is a folder; name a YAML file in it"
        raise UsageError(msg) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"{path}: cannot be read ({reason}); check the path"
        raise UsageError(msg) from None
    if not is_regular:
        msg = f"{path}: is not a regular file; name a YAML file"
        raise UsageError(msg)
    if len(content) > LARGEST_FILE:
        msg = f"{path}: is larger than {LARGEST_FILE:,} bytes, the limit for YAML files; check the path"
        raise UsageError(msg)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: is not UTF-8 text (byte {error.start:,}); save it as UTF-8"
        raise UsageError(msg) from None
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
        return _Loader(text).get_single_data()
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


class _Loader(Composer, yaml.CSafeLoader):
    """A safe loader for plain data. Nodes are composed in Python, which bounds the depth, from events of libyaml's parser."""

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _refused("has an anchor or alias, which posegen refuses; write the value out (or quote it)", event)
        if event.tag is not None:
            raise _refused(f"has the tag {shown(event.tag)}, which posegen refuses; leave it out (or quote it)", event)
        nested = isinstance(event, yaml.CollectionStartEvent)
        self._depth += nested
        if self._depth > _DEEPEST:
            raise _refused(f"is nested more than {_DEEPEST} levels deep; check the brackets", event)
        node = super().compose_node(parent, index)
        self._depth -= nested
        return node

    def construct_plain_mapping(self, node: Any) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refused("has a key that is not plain text; write text before the colon", key)
            if key.value in mapping:
                raise _refused(f"has the key {shown(key.value)} a second time; keep one of them", key)
            mapping[key.value] = self.construct_object(value, deep=True)
        return mapping

    def construct_list(self, node: Any) -> list[Any]:
        return [self.construct_object(item, deep=True) for item in node.value]

    def construct_whole(self, node: Any) -> int:
        return int(_short_number(node))

    def construct_number(self, node: Any) -> float:
        text = _short_number(node)
        return float(text.replace(".", "") if text[-1:].isalpha() else text)  # .inf and .nan

    def construct_flag(self, node: Any) -> bool:
        return str(node.value).lower() == "true"


def _short_number(node: Any) -> str:
    if len(node.value) > _LONGEST_NUMBER:
        raise _refused(f"has a number of {len(node.value)} characters; shorten it", node)
    return str(node.value)


def _refused(problem: str, source: Any) -> ConstructorError:
    return ConstructorError(None, None, problem, source.start_mark)


class _Dumper(yaml.SafeDumper):
    """Quotes text that a version of YAML reads as something else: 1.1 has more words for true, 1.2 more numbers, as 1e3."""


def dump_yaml(data: Any) -> str:
    """Return plain data as YAML that :func:`parse_yaml` reads back equal."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False))


_Loader.yaml_implicit_resolvers = {}  # YAML 1.1 has more words for true and false, and numbers such as 1_000
for _kind, _pattern, _construct in (
    ("null", r"(~|null|Null|NULL|)\Z", SafeConstructor.construct_yaml_null),
    ("bool", r"(true|True|TRUE|false|False|FALSE)\Z", _Loader.construct_flag),
    ("int", r"[-+]?[0-9]+\Z", _Loader.construct_whole),
    (
        "float",
        r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z",
        _Loader.construct_number,
    ),
    ("map", None, _Loader.construct_plain_mapping),
    ("seq", None, _Loader.construct_list),
):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _construct)
    if _pattern is not None:
        for _reader in (_Loader, _Dumper):
            _reader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(_pattern), None)
