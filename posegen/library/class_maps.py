"""Classes of published datasets as actions and interactions of the library, and quotas that generate them in equal numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from posegen.foundations.yaml_files import read_yaml


@dataclass(frozen=True)
class ClassMap:
    """The classes of a dataset.

    Attributes
    ----------
    title : str
    first : int
        Number of the first class.
    classes : tuple of str
        In the order of their numbers.
    actions, interactions : mapping of str to tuple of str
        Names of the library by class; each class is in one of both at most.
    """

    title: str
    first: int
    classes: tuple[str, ...]
    actions: Mapping[str, tuple[str, ...]]
    interactions: Mapping[str, tuple[str, ...]]

    def names(self, label: str) -> tuple[str, ...]:
        """Return the actions or interactions of a class; none if the library does not have it."""
        return self.actions.get(label) or self.interactions.get(label, ())


@lru_cache(maxsize=1)
def class_maps() -> Mapping[str, ClassMap]:
    """Return the maps by the name of the dataset.

    Examples
    --------
    >>> maps = class_maps()
    >>> maps["utd_mhad"].names("basketball shot"), maps["ntu60"].names("drop")
    (('shooting',), ())
    """
    return {name: _class_map(entry) for name, entry in read_yaml(Path(__file__).with_name("class_maps.yaml")).items()}


def _class_map(entry: Mapping[str, Any]) -> ClassMap:
    actions, interactions = (
        {label: tuple(names.split()) for label, names in entry.get(kind, {}).items()} for kind in ("actions", "interactions")
    )
    return ClassMap(entry["title"], entry["first"], tuple(entry["classes"]), actions, interactions)


def equal_quotas(classes: ClassMap, samples: int) -> list[dict[str, Any]]:
    """Return exact numbers, as under ``quotas.exact`` of a config, that give each class as many samples.

    A class with several actions has as many samples of each. Classes that are shown by the same action share its samples.

    Parameters
    ----------
    classes : ClassMap
    samples : int
        Of a class, at least: it is raised to a multiple of the numbers of actions.

    Examples
    --------
    >>> small = ClassMap("", 0, ("nod or bow", "wave"), {"nod or bow": ("nod", "bow"), "wave": ("wave",)}, {})
    >>> equal_quotas(small, 3)
    [{'samples': 2, 'actions': ['nod', 'bow']}, {'samples': 4, 'actions': ['wave']}]
    """
    whole = math.lcm(*(len(classes.names(label)) for label in classes.classes if classes.names(label)))
    each = -(-samples // whole) * whole
    quotas = []
    for kind, table in (("actions", classes.actions), ("interactions", classes.interactions)):
        for label in classes.classes:
            if names := [*table.get(label, ())]:
                quotas.append({"samples": each // len(names), kind: names})
    return [quota for number, quota in enumerate(quotas) if quota not in quotas[:number]]
