"""Scenes of all variants, one behind the other, so that all are told and looked at at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from posegen.scene import Persons, Scenes

__all__ = ["end_to_end"]


def end_to_end(parts: Sequence[Scenes]) -> Scenes:
    """Join scenes that have room for the same actors and slots: first those of the first part, then those of the next."""
    persons = {field.name: np.concatenate([getattr(part.persons, field.name) for part in parts]) for field in fields(Persons)}
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Scenes)
        if field.name != "persons"
    }
    return replace(parts[0], persons=Persons(**persons), **columns)
