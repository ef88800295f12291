"""The rules of planning, as ``rules.yaml`` has them, and the factors of age. What each key means is written there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.yaml_files import read_yaml


def _rules(node: Any) -> Any:
    """Return a group of keys as an object with these attributes, a list as a tuple, and a number as float."""
    if isinstance(node, dict):
        return SimpleNamespace(**{key: _rules(value) for key, value in node.items()})
    return tuple(map(_rules, node)) if isinstance(node, list) else float(node)


RULES = _rules(read_yaml(Path(__file__).with_name("rules.yaml")))
"""The content of ``rules.yaml``, such as ``RULES.segment.straight``."""


def of_age(curve: Sequence[tuple[float, float]], age: Array) -> Array:
    """Return the factor of each age by a curve.

    Parameters
    ----------
    curve : sequence of (years, factor)
        In ascending order; constant beyond its ends.
    age : float [...]
        Years.

    Returns
    -------
    float64 [...]

    Examples
    --------
    >>> of_age(RULES.age.running, np.array([30.0, 65.0]))
    array([1.  , 0.76])
    """
    years = np.asarray(age, np.float64)
    factor = np.full(years.shape, curve[0][1])
    for (young, more), (old, less) in pairwise(curve):
        part = np.clip((years - young) / (old - young), 0.0, 1.0)
        factor = factor + part * (less - more)
    return factor
