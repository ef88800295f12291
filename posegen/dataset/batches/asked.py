"""What users ask batches for, checked."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from posegen.dataset.batches.source import Source, Wanted
from posegen.errors import UsageError
from posegen.wording import did_you_mean, shown

__all__ = ["chosen_variants", "count_samples", "wanted_of", "whole"]


def count_samples(source: Source) -> int:
    """Count the samples; UsageError if there are none."""
    if source.samples < 1:
        msg = f"{source.name} has no samples yet, so there are no batches"
        raise UsageError(msg)
    return source.samples


def whole(name: str, value: Any, least: int = 0, below: int | None = None) -> int:
    """Take a whole number; UsageError, by its name, if it is none or out of its range."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (below is not None and number >= below):
        bounds = f"from {least} on" if below is None else f"from {least} to {below - 1}"
        msg = f"{name} must be a whole number {bounds} (got {shown(value)})"
        raise UsageError(msg)
    return number


def _names(what: str, names: Sequence[str] | str) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    twice = sorted({str(name) for name in listed if listed.count(name) > 1})
    if twice or not listed:
        msg = f"{what} must name something, and nothing twice (got {f'{twice[0]!r} twice' if twice else 'an empty list'})"
        raise UsageError(msg)
    return listed


def chosen_variants(source: Source, variants: Sequence[str] | str | None) -> tuple[int, ...]:
    """Find the positions of variants by their names; UsageError if there is none of a name."""
    names = _names("variants", source.variants if variants is None else variants)
    for name in names:
        if name not in source.variants:
            guess = did_you_mean(str(name), source.variants)
            msg = f"{source.name} has no variant {shown(name)}{guess}. There are: {', '.join(source.variants)}"
            raise UsageError(msg)
    return tuple(i for i, name in enumerate(source.variants) if name in names)


def wanted_of(source: Source, fields: Sequence[str] | str | None, variants: tuple[int, ...]) -> Wanted:
    """Tell arrays from columns of the table of sequences; UsageError if there is neither of a name."""
    arrays = source.arrays()
    names = list(arrays) if fields is None else _names("fields", fields)
    others = [name for name in names if name not in arrays and name not in ("sample", "variant")]
    columns = source.columns() if others else ()
    for name in others:
        if name not in columns:
            known = [*arrays, *columns]
            msg = f"{source.name} has no field {shown(name)}{did_you_mean(str(name), known)}. There are: {', '.join(known)}"
            raise UsageError(msg)
    return Wanted({name: arrays[name] for name in names if name in arrays}, tuple(others), variants)
