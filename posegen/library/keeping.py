"""Keeping what is made from a library for as long as the process lasts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from posegen.library import Library

__all__ = ["once_for_each_library"]

Made = TypeVar("Made")


def once_for_each_library(make: Callable[[Library], Made]) -> Callable[[Library], Made]:
    """Make `make` work once for each library and keep what it returns, which is not to be changed."""
    made: dict[int, tuple[Library, Made]] = {}

    @wraps(make)
    def kept(library: Library) -> Made:
        # A library holds mappings and so has no hash. The entry keeps it alive, so that its id is not given out again.
        if id(library) not in made:
            made[id(library)] = (library, make(library))
        return made[id(library)][1]

    return kept
