"""Labels of a user's own data as a model of clips is trained on them: numbers or categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from posegen.foundations.arrays import Array

_LEAST_SPREAD = 1e-6
_NUMBER = re.compile(r"[-+]?(\d{1,3}([ ,.'\u00a0\u202f]\d{3})+|\d+)([.,]\d+)?")
_DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})([T ].*)?")
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Label:
    """A label that a model predicts.

    Attributes
    ----------
    name : str
    typical : float
        Median of the label in the training split, as a model of numbers is trained on it; 0 for categories.
    scale : float
        Number that an error of 1 in training corresponds to.
    is_ratio : bool
        Whether the label is a positive number, of which the logarithm is trained.
    """

    name: str
    typical: float = 0.0
    scale: float = 1.0
    is_ratio: bool = False


def fit_label(label: Label, values: Array, training: Array) -> Label:
    """Return a label with what is typical of its values, float [n], in the training split, int64 [m]."""
    own = values[training]
    if values.min() > 0:
        return replace(label, typical=float(np.median(np.log(own))), is_ratio=True)
    return replace(label, typical=float(np.median(own)), scale=max(float(own.std()), _LEAST_SPREAD))


def encode_label(values: Array, label: Label) -> Array:
    """Return numeric labels as a model is trained on them: deviations from the typical label, or from its logarithm."""
    return np.asarray(((np.log(values) if label.is_ratio else values) - label.typical) / label.scale)


def decode_label(output: Array, label: Label) -> Array:
    """Return numeric labels in their unit; the inverse of :func:`encode_label`.

    >>> label = Label("price", typical=1.0, is_ratio=True)
    >>> decode_label(encode_label(np.array([20.0, 0.5]), label), label).round(6).tolist()
    [20.0, 0.5]
    """
    values = output.astype(np.float64) * label.scale + label.typical
    return np.asarray(np.exp(values) if label.is_ratio else values)


def parse_labels(labels: Sequence[str], target: str | None) -> tuple[Array, tuple[str, ...]]:
    """Return labels as numbers, or as numbers of categories and the names of these.

    Parameters
    ----------
    labels : sequence of str
    target : str or None
        ``number`` or ``category``; None: numbers if all labels are finite numbers.

    Raises
    ------
    ValueError
        If numbers are required and a label is none.

    Examples
    --------
    >>> parse_labels(["1", "2.5"], None)[0].tolist(), parse_labels(["b", "a"], None)[1]
    ([1.0, 2.5], ('a', 'b'))
    """
    if target != "category":
        try:
            numbers = np.array([float(label) for label in labels])
        except ValueError:
            numbers = np.array([np.nan])
        if np.isfinite(numbers).all():
            return numbers, ()
        if target == "number":
            raise ValueError("a label is not a finite number")
    names, which = np.unique(np.array(labels), return_inverse=True)
    return which.astype(np.float64), tuple(names.tolist())


def label_notes(name: str, labels: Array, categories: Sequence[str], target: str | None) -> tuple[str, ...]:
    """Return whether a label is a number or a category, and warnings if its categories are probably a mistake.

    Parameters
    ----------
    name : str
    labels : float [n]
        Numbers, or numbers of categories, without NaN.
    categories : sequence of str
    target : str or None
        What the settings require.

    Examples
    --------
    >>> label_notes("mood", np.array([0, 1, 0, 1, 2]), ("calm", "gay", "sad"), None)
    ('mood: 3 categories',)
    """
    if not categories:
        return (f"{name}: numbers",)
    notes = [f"{name}: {len(categories):,} categories"]
    once = int((np.bincount(labels.astype(np.int64), minlength=len(categories)) == 1).sum())
    date, number = (None if target else _usual_example(pattern, categories) for pattern in (_DATE, _NUMBER))
    if date is not None:
        hint = "To estimate a time, store a number, such as that of the days since the first one"
        notes.append(f"warning: the categories of {name} look like dates, such as {date}. {hint}")
    elif number is not None and not all(map(str.isdecimal, categories)):
        hint = "To estimate a number, store numbers such as 1100.5, with a point and no other separator"
        notes.append(f"warning: the categories of {name} look like numbers, such as {number}. {hint}")
    if once * 2 > len(categories):
        problem = f"{once:,} of the {len(categories):,} categories of {name} occur once, so they cannot be learned and tested"
        notes.append(f"warning: {problem}. Merge rare categories, or choose another label")
    return tuple(notes)


def _usual_example(pattern: re.Pattern[str], names: Sequence[str]) -> str | None:
    """Return the first name that matches a pattern if nearly all match."""
    matching = [name for name in names if pattern.fullmatch(name)]
    return matching[0] if len(matching) >= _NEARLY_ALL * len(names) else None
