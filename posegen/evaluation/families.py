"""Families: names of mocap classes, and the actions of the library with the same content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from posegen.foundations.yaml_files import read_yaml

_FAMILIES = read_yaml(Path(__file__).with_name("families.yaml"))
ACTIONS: Mapping[str, Sequence[str]] = _FAMILIES["actions"]
"""Actions of the library for each class of the reference, as far as they exist."""
PERIODIC = frozenset(_FAMILIES["periodic"])
"""Families without a begin and an end: windows of two performances are compared instead of their whole courses."""
_FAMILY = {action: family for family, actions in ACTIONS.items() for action in actions}


def family_of(name: str) -> str:
    """Return the family of a mocap class or an action; a name without an entry is a family of its own.

    >>> family_of("squat"), family_of("crouch"), family_of("bow")
    ('crouch', 'crouch', 'bow')
    """
    return name if name in ACTIONS else _FAMILY.get(name, name)


def family_of_action(action: str) -> str:
    """Return the family of an action of the library; without an entry it is a family of its own, also if a class has its name.

    >>> family_of_action("squat"), family_of_action("bow"), family_of_action("crouch")
    ('crouch', 'bow', 'action crouch')
    """
    return _FAMILY.get(action, f"action {action}" if action in ACTIONS else action)
