"""Derived fields: what one consists of, which ones a request needs, and their computation.

A derived field is a pure function of what samples hold and of counter-based draws. Storing the arrays is left to
:mod:`posegen.generation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.errors import require_known
from posegen.foundations.plugins import FIELDS
from posegen.library.load import Library

ABSENT = float("nan")
AXES = ("x", "y", "z")

BLOCK_BYTES = 4 << 20
"""Bytes of joints that are processed at once. Temporary arrays are twenty times as large, and small ones stay in the cache."""


@dataclass(frozen=True)
class Sequences:
    """The stored content of n samples in all their variants.

    Attributes
    ----------
    config : Config
    library : Library
    samples : int64 [n]
    joints : float32 [n, variant, actor, frame, 22, 3]
        Metres; NaN where absent.
    action : uint16 [n, variant, actor, frame, part]
    contact : uint8 [n, variant, actor, frame, point]
    rows : sequence of mappings, n * variants
        See :func:`synthesis.synthesize.rows_schema`. A number may have more digits than are stored: round it to float32.
    """

    config: Config
    library: Library
    samples: Array
    joints: Array
    action: Array
    contact: Array
    rows: Sequence[Mapping[str, Any]]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of samples, variants, actors and frames."""
        samples, variants, actors, frames = self.joints.shape[:4]
        return samples, variants, actors, frames

    def slice(self, start: int, stop: int) -> Sequences:
        """Return the samples from position `start` to `stop`."""
        arrays = {name: getattr(self, name)[start:stop] for name in ("samples", "joints", "action", "contact")}
        return replace(self, **arrays, rows=self.rows[start * self.shape[1] : stop * self.shape[1]])

    @property
    def lengths(self) -> Array:
        """Number of frames of each sequence; int64 [n, variant]."""
        return np.asarray(self.present.any(axis=2).sum(axis=2, dtype=np.int64))

    @property
    def present(self) -> Array:
        """Whether an actor is present; bool [n, variant, actor, frame]."""
        return ~np.isnan(self.joints[..., 0, 0])

    def parameter(self, name: str) -> Array:
        """Return a parameter of the variants; float64 [n, variant]."""
        values = np.array([row["parameters"][name] for row in self.rows], np.float32)
        return values.reshape(self.shape[:2]).astype(np.float64)

    def actor_values(self, name: str, number: Callable[[Any], float] = float) -> Array:
        """Return what the rows hold for each actor as numbers; float64 [n, variant, actor], 0 for absent actors."""
        # The table holds float32, too. It represents integers up to 2^24, thus the numbers of all persons.
        values = np.zeros(self.shape[:3], np.float32)
        for row, (sample, variant) in zip(self.rows, np.ndindex(self.shape[:2]), strict=True):
            for position, actor in enumerate(row["actors"]):
                values[sample, variant, position] = number(actor[name])
        return values.astype(np.float64)


@dataclass(frozen=True)
class FieldArray:
    """Description of one array of a field.

    Attributes
    ----------
    name : str
    axes : mapping of str to sequence of str, or int
        Each dimension after those of `per`: the names along it, or its size where they have none.
    dtype : str
    fill : float or int
        Value that means absent.
    attributes : mapping
        Plain data for the reader, such as `units`.
    per : tuple of str
        Leading dimensions after sample and variant: ("actor", "frame"), ("frame",), ("actor",) or ().
    """

    name: str
    axes: Mapping[str, Sequence[str] | int]
    dtype: str = "float32"
    fill: float | int = ABSENT
    attributes: Mapping[str, Any] = field(default_factory=dict)
    per: tuple[str, ...] = ("actor", "frame")


@dataclass(frozen=True)
class DerivedField:
    """A field: one or more arrays that are requested by one name.

    Attributes
    ----------
    name : str
    version : int
        Increases whenever any value would differ for the same joints.
    summary : str
        One line for users.
    arrays : tuple of FieldArray
    compute : callable
        Takes :class:`Sequences` and returns each array by name, of the shape [n, variant, ...]. Values of any type are
        converted to that of the array, and replaced by its fill value where nobody is present.
    sources : tuple of str
        Inputs: joints, action, contact, rows.
    requires : tuple of str
        Other fields that a reader of this one needs.
    """

    name: str
    version: int
    summary: str
    arrays: tuple[FieldArray, ...]
    compute: Callable[[Sequences], dict[str, Array]]
    sources: tuple[str, ...] = ("joints",)
    requires: tuple[str, ...] = ()


def select_fields(names: Iterable[str]) -> tuple[DerivedField, ...]:
    """Return fields by name, each once and after those that it requires.

    Raises
    ------
    UsageError
        If there is no field of a name.

    Examples
    --------
    >>> [field.name for field in select_fields(["keypoints", "keypoints"])]
    ['camera', 'keypoints']
    """
    selected: dict[str, DerivedField] = {}
    for name in names:
        require_known("unknown field", name, FIELDS.names())
        record: DerivedField = FIELDS.load(name)
        selected |= {required.name: required for required in select_fields(record.requires)}
        selected[name] = record
    return tuple(selected.values())


def fields_with_arrays(names: Iterable[str]) -> list[str]:
    """Return the names of the fields that hold any of these arrays."""
    arrays = {*names}
    return [name for name in FIELDS.names() if any(array.name in arrays for array in FIELDS.load(name).arrays)]


def compute_fields(sequences: Sequences, names: Iterable[str]) -> dict[str, Array]:
    """Compute fields.

    Parameters
    ----------
    sequences : Sequences
    names : iterable of str
        Names of fields. Fields that they require are computed as well.

    Returns
    -------
    dict of str to ndarray [n, variant, ...]
        Every array of every field by its own name.
    """
    fields = select_fields(names)
    step = max(1, BLOCK_BYTES // max(sequences.joints[:1].nbytes, 1))
    blocks = [sequences.slice(start, start + step) for start in range(0, len(sequences.samples), step)]
    computed = [{name: values for field in fields for name, values in _compute(field, block).items()} for block in blocks]
    return {name: np.concatenate([arrays[name] for arrays in computed]) for name in computed[0]}


def _compute(field: DerivedField, sequences: Sequences) -> dict[str, Array]:
    computed, present = field.compute(sequences), sequences.present
    arrays = {}
    for array in field.arrays:
        arrays[array.name] = computed[array.name].astype(array.dtype, order="C")
        others = tuple(axis for axis, name in ((2, "actor"), (3, "frame")) if name not in array.per)
        arrays[array.name][~present.any(axis=others)] = array.fill
    return arrays


def weighted_neighbours(values: Array, last: Array, weights: Mapping[int, float]) -> Array:
    """Return weighted sums of the values at neighbouring frames; the first and the last frame are repeated beyond the ends.

    Parameters
    ----------
    values : float64 [n, k, frame, ...]
    last : int64 [n, k] or [n, 1]
        Last frame of each sequence.
    weights : mapping of int to float
        Weight of each neighbour by its distance in frames.
    """
    frames = np.arange(values.shape[2])
    total = np.zeros(values.shape)
    for step, weight in weights.items():
        at = np.clip(np.minimum(frames + step, last[..., None]), 0, None)
        total += weight * np.take_along_axis(values, at.reshape(*at.shape, *(1,) * (values.ndim - 3)), axis=2)
    return total


def minimum_jerk(x: Array) -> Array:
    """Return a smooth rise from 0 at x = 0 to 1 at x = 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x * x * x * (10.0 + x * (-15.0 + 6.0 * x)))
