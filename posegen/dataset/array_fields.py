"""Arrays that a dataset has: those made with its samples, and layers of such that are derived from them later."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from posegen.dataset.documents import Source, check_keys, mapping, number, texts, whole, wholes, words
from posegen.dataset.limits import field_fault, layer_fault

__all__ = ["ArrayField", "Layer"]


@dataclass(frozen=True)
class ArrayField:
    """An array that every sample has.

    Attributes
    ----------
    name : str
    dims : tuple of str
        Names of the dimensions after the sample.
    shape, chunk : tuple of int
        Size along `dims` of a sample and of a chunk, which divides it.
    dtype : str
        Name of a NumPy type.
    fill : float or int
        What stands for absent.
    attributes : dict
        Plain data for the reader: units, names along a dimension.
    """

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: str
    fill: float | int
    attributes: dict[str, Any]

    def __post_init__(self) -> None:
        """Refuse what cannot be stored."""
        fault = field_fault(self)
        if fault:
            raise ValueError(fault)

    def to_json(self) -> dict[str, Any]:
        """Describe the field as plain data."""
        return {
            "name": self.name,
            "dims": list(self.dims),
            "shape": list(self.shape),
            "chunk": list(self.chunk),
            "dtype": self.dtype,
            "fill": "NaN" if math.isnan(self.fill) else self.fill,
            "attributes": self.attributes,
        }

    @classmethod
    def from_json(cls, data: object, source: Source) -> ArrayField:
        """Read what :meth:`to_json` wrote, checking it."""
        document = check_keys(data, frozenset(cls.__dataclass_fields__), source, "fields.")
        fill = math.nan if document["fill"] == "NaN" else number(document, "fill", source)
        try:
            return cls(
                name=words(document, "name", source),
                dims=texts(document, "dims", source),
                shape=wholes(document, "shape", source),
                chunk=wholes(document, "chunk", source),
                dtype=words(document, "dtype", source),
                fill=fill,
                attributes=mapping(document, "attributes", source),
            )
        except ValueError as error:
            raise source.error(f"`fields`: {error}") from error


@dataclass(frozen=True)
class Layer:
    """Arrays that are derived from what a dataset holds, all of them by one command, with receipts of their own.

    Attributes
    ----------
    name : str
        What they were asked for by.
    version : int
        Of what computes them.
    sources : tuple of str
        What they are derived from: names of the dataset's own fields, or `rows`.
    fields : tuple of ArrayField
    """

    name: str
    version: int
    sources: tuple[str, ...]
    fields: tuple[ArrayField, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot be stored."""
        fault = layer_fault(self)
        if fault:
            raise ValueError(fault)

    def to_json(self) -> dict[str, Any]:
        """Describe the layer as plain data."""
        return {
            "name": self.name,
            "version": self.version,
            "sources": list(self.sources),
            "fields": [entry.to_json() for entry in self.fields],
        }

    @classmethod
    def from_json(cls, data: object, source: Source) -> Layer:
        """Read what :meth:`to_json` wrote, checking it."""
        document = check_keys(data, frozenset(cls.__dataclass_fields__), source, "layers.")
        if not isinstance(document["fields"], list):
            raise source.error("`layers.fields` must be a list")
        fields = tuple(ArrayField.from_json(entry, source) for entry in document["fields"])
        try:
            return cls(
                name=words(document, "name", source),
                version=whole(document, "version", source, least=1),
                sources=texts(document, "sources", source),
                fields=fields,
            )
        except ValueError as error:
            raise source.error(f"`layers`: {error}") from error
