"""Changing single keys of a config from the command line: ``--set story.actors.max=2``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from posegen.config.validation import dotted
from posegen.config.yaml_files import parse_yaml
from posegen.errors import UsageError
from posegen.wording import shown

__all__ = ["apply_overrides"]

_DEEPEST = 32


def apply_overrides(data: Mapping[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Set keys in nested data; later ones win.

    Parameters
    ----------
    data : mapping
        The config as read; left as it is.
    overrides : sequence of str
        Each ``KEY=VALUE``, the key a dotted path, the value YAML.

    Returns
    -------
    data : dict
        With the values set.
    origins : dict of str to str
        For each key that was set, the words that say so before it in a message.

    Raises
    ------
    UsageError
        Where an override is not of that form, or leads through something that is not a group of keys.

    Examples
    --------
    >>> apply_overrides({"story": {"layering": 0}}, ["story.actors.max=2"])[0]
    {'story': {'layering': 0, 'actors': {'max': 2}}}
    """
    changed = dict(data)
    origins = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        path = key.strip().split(".")
        if not equals or not all(path) or len(path) > _DEEPEST:
            msg = f"--set {shown(override)}: must be KEY=VALUE, such as story.actors.max=2"
            raise UsageError(msg)
        # As messages name the key, which may be a strange one.
        key = dotted(path)
        option = f"--set {key}"
        changed = _with_value(changed, path, parse_yaml(text, f"{option}: {shown(text)}"), option)
        origins[key] = "--set "
    return changed, origins


def _with_value(data: Mapping[str, Any], path: Sequence[str], value: Any, option: str) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {**data, name: value}
    # What is switched off by null is switched on by setting a key in it.
    group = {} if data.get(name) is None else data[name]
    if not isinstance(group, Mapping):
        msg = f"{option}: {name} is {shown(group)}, not a group of keys"
        raise UsageError(msg)
    return {**data, name: _with_value(group, rest, value, option)}
