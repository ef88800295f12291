"""What a family of fields is: arrays described as data, and the function that computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.library import Library

__all__ = ["ABSENT", "AXES", "Description", "Family", "Sequences"]

Array = NDArray[Any]

ABSENT = float("nan")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Sequences:
    """What n samples hold in all their variants, as it is stored.

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
        See :func:`posegen.synthesis.rows_schema`. A number in them may have more digits than are stored: take it as float32.
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
        """Samples, variants, actors and frames."""
        samples, variants, actors, frames = self.joints.shape[:4]
        return samples, variants, actors, frames

    def part(self, start: int, stop: int) -> Sequences:
        """Take the samples from `start` to `stop`."""
        variants, chosen = self.shape[1], slice(start, stop)
        return Sequences(
            self.config,
            self.library,
            self.samples[chosen],
            self.joints[chosen],
            self.action[chosen],
            self.contact[chosen],
            self.rows[start * variants : stop * variants],
        )

    @property
    def present(self) -> Array:
        """Whether an actor is there; bool [n, variant, actor, frame]."""
        return ~np.isnan(self.joints[..., 0, 0])

    def parameter(self, name: str) -> Array:
        """Take a parameter of the variants; float64 [n, variant]."""
        values = np.array([row["parameters"][name] for row in self.rows], np.float32)
        return values.reshape(self.shape[:2]).astype(np.float64)

    def of_actors(self, name: str, absent: float = 0.0) -> Array:
        """Take what the rows say of each actor; float64 [n, variant, actor]."""
        values = np.full(self.shape[:3], absent, np.float32)
        for row, (sample, variant) in zip(self.rows, np.ndindex(self.shape[:2]), strict=True):
            for actor, told in enumerate(row["actors"]):
                values[sample, variant, actor] = told[name]
        return values.astype(np.float64)


@dataclass(frozen=True)
class Description:
    """An array of a family.

    Attributes
    ----------
    name : str
    axes : mapping of str to sequence of str, or int
        Name of each dimension behind those of `of`, and the names along it, or its size where they have none.
    dtype : str
    fill : float or int
        What stands for absent.
    attributes : mapping
        Plain data for the reader, `units` above all.
    of : tuple of str
        What there is one of for each: ("actor", "frame"), ("frame",), ("actor",) or ().
    """

    name: str
    axes: Mapping[str, Sequence[str] | int]
    dtype: str = "float32"
    fill: float | int = ABSENT
    attributes: Mapping[str, Any] = field(default_factory=dict)
    of: tuple[str, ...] = ("actor", "frame")


@dataclass(frozen=True)
class Family:
    """Arrays that are asked for by one name.

    Attributes
    ----------
    name : str
    version : int
        Goes up whenever any of its values would come out differently for the same joints.
    summary : str
        What it is, in one line.
    fields : tuple of Description
    compute : callable
        From :class:`Sequences` to each array by its name, of the shape [n, variant, ...].
    sources : tuple of str
        What it is computed from: joints, action, contact, rows.
    needs : tuple of str
        Other families without which it means nothing.
    """

    name: str
    version: int
    summary: str
    fields: tuple[Description, ...]
    compute: Callable[[Sequences], dict[str, Array]]
    sources: tuple[str, ...] = ("joints",)
    needs: tuple[str, ...] = ()
