"""What a dataset on disk consists of: its header, its array fields, its receipts, and where each file lies.

A shard is a block of consecutive samples. It is one file per array field and one Parquet part, and its receipt, written
last, says that it is complete and what its files and its samples hash to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from posegen.dataset.array_fields import ArrayField, Layer
from posegen.dataset.documents import Source, check_keys, mapping, texts, whole, words
from posegen.dataset.limits import header_fault
from posegen.dataset.receipts import ROWS, Receipt, StoredFile

__all__ = [
    "COPY_FILE",
    "FORMAT_VERSION",
    "HEADER_FILE",
    "MOTION",
    "RECEIPTS",
    "REPAIR_FILE",
    "ROWS",
    "SEQUENCES",
    "ArrayField",
    "Header",
    "Layer",
    "Receipt",
    "StoredFile",
    "array_path",
    "group_path",
    "receipt_path",
    "rows_path",
    "shard_path",
]

FORMAT_VERSION = 1
"""Version of this layout; a reader refuses a later one."""

HEADER_FILE = "dataset.json"
COPY_FILE = "dataset.copy.json"
"""The header as it was when the dataset was made, without samples: what `dataset.json` is mended from.

How a dataset was made stands in no other file, so without it a single damaged byte would leave the shards to a user who still
knows the command. It changes only when a layer is added, so that publishing need not write two files as one."""
REPAIR_FILE = "repair.json"
"""Note of a repair that is under way."""
MOTION = "motion.zarr"
SEQUENCES = "sequences"
RECEIPTS = "receipts"


@dataclass(frozen=True)
class Header:
    """What `dataset.json` says.

    Attributes
    ----------
    format_version, content_version : int
        Of this layout, and of what makes the samples.
    identity : str
        Hash of everything that decides content.
    name : str
        Name of the config.
    config : dict
        The resolved config, as plain data.
    seed, samples : int
        `samples` alone decides how many samples the dataset has.
    fps, frames : int
    skeleton : dict
        Joint names, parents, units, up axis.
    licence : str
        Of the data.
    shard, chunk : int
        Samples in a shard and in a chunk, which divides it.
    variants : tuple of str
        The order of the variants, in arrays and in rows.
    fields : tuple of ArrayField
        Those that were made with the samples.
    layers : tuple of Layer
        What was derived from them later.
    """

    format_version: int
    content_version: int
    identity: str
    name: str
    config: dict[str, Any]
    seed: int
    samples: int
    fps: int
    frames: int
    skeleton: dict[str, Any]
    licence: str
    shard: int
    chunk: int
    variants: tuple[str, ...]
    fields: tuple[ArrayField, ...]
    layers: tuple[Layer, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be stored."""
        fault = header_fault(self)
        if fault:
            raise ValueError(fault)

    @property
    def all_fields(self) -> tuple[ArrayField, ...]:
        """The array fields, those of layers behind the others."""
        return (*self.fields, *(field for layer in self.layers for field in layer.fields))

    def field(self, name: str) -> ArrayField:
        """Look up the array field of this name; KeyError if there is none."""
        for entry in self.all_fields:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def with_samples(self, samples: int) -> Header:
        """Copy the header with another number of samples."""
        return replace(self, samples=samples)

    def shards(self) -> int:
        """Count the shards that `samples` fills or begins."""
        return -(-self.samples // self.shard)

    def count(self, shard: int) -> int:
        """Count the samples that are in this shard."""
        return min(self.shard, self.samples - shard * self.shard)

    def to_json(self) -> dict[str, Any]:
        """Describe the dataset as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data |= {"variants": list(self.variants), "fields": [entry.to_json() for entry in self.fields]}
        # Most datasets have none, and say nothing about them.
        return data | {"layers": [layer.to_json() for layer in self.layers]} if self.layers else _without(data, "layers")

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: Source) -> Header:
        """Read what :meth:`to_json` wrote, checking it."""
        version = data.get("format_version")
        if type(version) is int and version > FORMAT_VERSION:
            reason = f"the dataset has format {version}, this posegen reads up to {FORMAT_VERSION}"
            raise Source(source.file, "Use a newer posegen.").error(reason)
        document = check_keys({"layers": []} | dict(data), frozenset(cls.__dataclass_fields__), source)
        for name in ("fields", "layers"):
            if not isinstance(document[name], list):
                raise source.error(f"`{name}` must be a list")
        try:
            return cls(
                format_version=whole(document, "format_version", source, least=1),
                content_version=whole(document, "content_version", source),
                identity=words(document, "identity", source),
                name=words(document, "name", source),
                config=mapping(document, "config", source),
                seed=whole(document, "seed", source),
                samples=whole(document, "samples", source),
                fps=whole(document, "fps", source, least=1),
                frames=whole(document, "frames", source, least=1),
                skeleton=mapping(document, "skeleton", source),
                licence=words(document, "licence", source),
                shard=whole(document, "shard", source, least=1),
                chunk=whole(document, "chunk", source, least=1),
                variants=texts(document, "variants", source),
                fields=tuple(ArrayField.from_json(entry, source) for entry in document["fields"]),
                layers=tuple(Layer.from_json(entry, source) for entry in document["layers"]),
            )
        except ValueError as error:
            raise source.error(str(error)) from error


def group_path() -> str:
    """Path of the Zarr group's description inside the dataset."""
    return f"{MOTION}/zarr.json"


def array_path(field: str) -> str:
    """Path of an array's description inside the dataset."""
    return f"{MOTION}/{field}/zarr.json"


def shard_path(field: ArrayField, shard: int) -> str:
    """Path of a shard of a field.

    The key's parts are joined by dots, so that all shards of a field lie in one folder: a folder for each would cost more
    time to bring safely to the disk than the shard itself.

    Examples
    --------
    >>> shard_path(ArrayField("action", ("variant", "part"), (5, 5), (1, 5), "uint16", 65535, {}), 12)
    'motion.zarr/action/c.12.0.0'
    """
    return f"{MOTION}/{field.name}/" + ".".join(["c", str(shard), *("0" * len(field.dims))])


def rows_path(shard: int) -> str:
    """Path of the Parquet part with the shard's sequences."""
    return f"{SEQUENCES}/part-{shard:05}.parquet"


def receipt_path(shard: int, layer: Layer | None = None) -> str:
    """Path of the shard's receipt, or of that of a layer of it."""
    return f"{RECEIPTS}/{shard:05}.json" if layer is None else f"{RECEIPTS}/{layer.name}/{shard:05}.json"


def _without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}
