"""The format of a dataset on disk: its header, array fields, layers, and the path of each file.

A shard is a block of consecutive samples. It consists of one file per array field, one Parquet file with its sequences, and a
receipt, written last; see :mod:`posegen.dataset.receipts`.

A header is accepted only within fixed bounds, because readers allocate memory according to it. Not responsible for reading and
writing files.
"""

from __future__ import annotations

import math
import re
from dataclasses import field as dataclass_field
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer
from pydantic.dataclasses import dataclass

from posegen.dataset.documents import STRICT, Count, plain_data, seal
from posegen.dataset.files import check_real_folders
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.constants import MAX_SEED
from posegen.foundations.wording import counted

HEADER_FILE = "dataset.json"
COPY_FILE = "dataset.copy.json"
"""Backup of the header as it was when the dataset was created, without samples.

The config of a dataset is in no other file, so that one damaged byte of `dataset.json` would otherwise lose it. The copy
changes
only when a layer is added; therefore publishing does not have to write two files atomically."""
COPY_KEY = "copy_of"
"""Key that only the header's copy has: in place of the header, the copy would describe a dataset without samples."""
REPAIR_FILE = "repair.json"
"""Record of a repair in progress."""
PARTS_FILE = "parts.json"
"""Record of what a run, or several jobs together, are to make; removed once they are finished."""
MANIFEST_FILE = "manifest.json"
"""What the receipts of a large dataset state together; see :mod:`posegen.dataset.manifest`."""
MOTION = "motion.zarr"
GROUP_FILE = "motion.zarr/zarr.json"
SEQUENCES = "sequences"
RECEIPTS = "receipts"
OVERLAYS = {"embeddings": "embed", "paraphrases": "paraphrase", "training": "train"}
"""Folders in a dataset with the results of later stages, which check their own files, and the command that writes each."""
ROWS = "rows"
"""Name of the table of sequences in receipts, next to the names of array fields."""

_SHARD_FILE = re.compile(r"(?:.*/)?(?:c\.|part-)?([0-9]{1,15})[.0a-z]+")
_MAX_DIMENSIONS = 16
_MAX_CHUNK_BYTES = 2**31 - 17  # the maximum of Blosc
_MAX_SAMPLE_BYTES = 2**30  # ten times the largest that a config makes
_MAX_CHUNKS = 2**22  # so that the index of a shard has at most 64 MiB
_INDEX_ENTRY_BYTES = 16
_CHECKSUM_BYTES = 4
_BLOSC_OVERHEAD_BYTES = 16

Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")]
Dtype = Annotated[str, Field(pattern="^(float(16|32|64)|u?int(8|16|32|64))$")]
Size = Annotated[int, Field(ge=1, lt=2**31)]
Positive = Annotated[int, Field(ge=1, lt=2**53)]
Fill = Annotated[
    Annotated[int, Field(ge=-(2**64), le=2**64)] | float,
    BeforeValidator(lambda value: math.nan if value == "NaN" else value),
    PlainSerializer(lambda value: "NaN" if math.isnan(value) else value),
]


@dataclass(frozen=True, config=STRICT)
class ArrayField:
    """An array with values for every sample.

    Attributes
    ----------
    name : str
    dims : tuple of str
        Names of the dimensions after the sample.
    shape, chunk : tuple of int
        Size of a sample and of a chunk along `dims`; each size in `shape` is a multiple of that in `chunk`.
    dtype : str
        Name of a NumPy type.
    fill : float or int
        Value that marks absent data.
    attributes : dict
        Plain data for the reader: units, names along a dimension.
    """

    name: Name
    dims: tuple[Name, ...]
    shape: tuple[Size, ...]
    chunk: tuple[Size, ...]
    dtype: Dtype
    fill: Fill
    attributes: dict[str, Any]

    def __post_init__(self) -> None:
        """Raise ValueError if the field cannot be stored."""
        if self.name == ROWS:
            raise ValueError(f"{self.name!r} is not a valid name of a field")
        if len({"sample", *self.dims}) != len(self.dims) + 1:
            raise ValueError(f"field {self.name}: dimensions need distinct names other than `sample`, not {self.dims!r:.200}")
        if not len(self.dims) == len(self.shape) == len(self.chunk) <= _MAX_DIMENSIONS:
            raise ValueError(f"field {self.name}: dims, shape and chunk must have the same length, at most {_MAX_DIMENSIONS}")
        if any(size % step for size, step in zip(self.shape, self.chunk, strict=True)):
            msg = f"field {self.name}: each size in shape {self.shape} must be a multiple of that in chunk {self.chunk}"
            raise ValueError(msg)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "f":
            fits = abs(self.fill) <= np.finfo(dtype).max
            is_exact = math.isnan(self.fill) or (fits and float(dtype.type(self.fill)) == self.fill)
        else:
            limits = np.iinfo(dtype)
            is_exact = type(self.fill) is int and limits.min <= self.fill <= limits.max
        if not is_exact:
            raise ValueError(f"field {self.name}: the fill value {self.fill!r:.40} does not fit {self.dtype}")

    @property
    def sample_bytes(self) -> int:
        """Bytes of a sample in memory."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def chunk_grid(self) -> tuple[int, ...]:
        """Number of chunks of a sample along each of `dims`."""
        return tuple(size // step for size, step in zip(self.shape, self.chunk, strict=True))

    def chunk_bytes(self, samples: int) -> int:
        """Return the bytes of a chunk of some samples in memory."""
        return math.prod(self.chunk) * samples * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, config=STRICT)
class Layer:
    """Array fields that one command derives from a complete dataset, with receipts of their own.

    Attributes
    ----------
    name : str
    version : int
        Version of the algorithm.
    sources : tuple of str
        What the fields are derived from: names of fields made with the samples, or `rows`.
    fields : tuple of ArrayField
    """

    name: Name
    version: Positive
    sources: Annotated[tuple[str, ...], Field(min_length=1)]
    fields: Annotated[tuple[ArrayField, ...], Field(min_length=1)]

    def __post_init__(self) -> None:
        """Raise ValueError if the layer cannot be stored."""
        if own := {field.name for field in self.fields}.intersection(self.sources):
            raise ValueError(f"layer {self.name}: {', '.join(sorted(own))} cannot be derived from itself")


@dataclass(frozen=True, config=STRICT)
class Creation:
    """What created a dataset.

    Attributes
    ----------
    posegen : str
        Version of the program.
    date : str
        Time in UTC, such as ``2026-11-25T20:15:00Z``.
    """

    posegen: Annotated[str, Field(pattern="^[0-9A-Za-z.+!-]{1,64}$")]
    date: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]


@dataclass(frozen=True, config=STRICT)
class Header:
    """Content of `dataset.json`.

    Attributes
    ----------
    format_version, content_version : int
        Version of this format, and of the code that decides the content of samples.
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
        Licence of the data.
    shard, chunk : int
        Samples in a shard and in a chunk; the shard is a multiple of the chunk.
    variants : tuple of str
        Order of the variants, in arrays and in rows.
    fields : tuple of ArrayField
        Fields that are made with the samples.
    layers : tuple of Layer
        Fields that were derived from them later.
    created : Creation or None
        A record for people: it is in no identity, and headers that differ in nothing else are equal.
    """

    format_version: Positive
    content_version: Count
    identity: str
    name: str
    config: dict[str, Any]
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]
    samples: Count
    fps: Positive
    frames: Positive
    skeleton: dict[str, Any]
    licence: str
    shard: Positive
    chunk: Positive
    variants: tuple[str, ...]
    fields: tuple[ArrayField, ...]
    layers: tuple[Layer, ...] = ()
    created: Creation | None = dataclass_field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<Header {self.name}: {counted(self.samples, 'sample')}, seed {self.seed}, identity {self.identity}>"

    def __post_init__(self) -> None:
        """Raise ValueError if such a dataset cannot be stored, or cannot be read in a bounded amount of memory."""
        if self.shard % self.chunk:
            raise ValueError(f"the shard size {self.shard} must be a multiple of the chunk size {self.chunk}")
        for kind, names in (
            ("variants", self.variants),
            ("fields", [field.name for field in self.all_fields] if self.fields else []),
            ("layers", [layer.name for layer in self.layers]),
        ):
            if len(set(names)) != len(names) or (not names and kind != "layers"):
                raise ValueError(f"{kind} need distinct names, not {names!r:.200}")
        known = {ROWS, *(field.name for field in self.fields)}
        if unknown := {source for layer in self.layers for source in layer.sources} - known:
            raise ValueError(f"layers are derived from {', '.join(sorted(unknown))!r:.200}, which the dataset does not have")
        for field in self.all_fields:
            self._check_size(field)
        if sum(field.sample_bytes for field in self.all_fields) > _MAX_SAMPLE_BYTES:
            raise ValueError(f"a sample takes more than {_MAX_SAMPLE_BYTES:,} bytes, which no config makes")

    @property
    def all_fields(self) -> tuple[ArrayField, ...]:
        """All array fields, those of layers last."""
        return (*self.fields, *(field for layer in self.layers for field in layer.fields))

    def shards(self) -> int:
        """Return the number of shards; the last one may be partly filled."""
        return -(-self.samples // self.shard)

    def field(self, name: str) -> ArrayField:
        """Return the array field of this name; KeyError if there is none."""
        return {field.name: field for field in self.all_fields}[name]

    def field_of(self, path: str) -> ArrayField | None:
        """Return the array field that a shard belongs to, by its path inside the dataset; None for another file."""
        return next((field for field in self.all_fields if path.startswith(f"{MOTION}/{field.name}/")), None)

    def layer_of(self, path: str) -> Layer | None:
        """Return the layer that a file belongs to, by its path inside the dataset; None if it belongs to none."""
        field = self.field_of(path)
        return next((layer for layer in self.layers if field in layer.fields), None)

    def with_samples(self, samples: int) -> Header:
        """Return a copy with another number of samples."""
        return replace(self, samples=samples)

    def count(self, shard: int) -> int:
        """Return the number of samples in a shard."""
        return min(self.shard, self.samples - shard * self.shard)

    def chunks_in_shard(self, field: ArrayField) -> int:
        """Return the number of chunks of a field in a shard."""
        return self.shard // self.chunk * math.prod(field.chunk_grid)

    def max_shard_bytes(self, field: ArrayField) -> int:
        """Return the largest size of the file of a field in a shard, in bytes."""
        extra = _BLOSC_OVERHEAD_BYTES + _CHECKSUM_BYTES + _INDEX_ENTRY_BYTES
        return self.chunks_in_shard(field) * (field.chunk_bytes(self.chunk) + extra) + _CHECKSUM_BYTES

    def to_json(self) -> dict[str, Any]:
        """Return the header as plain data; ``layers`` and ``created`` are left out if there are none."""
        data = plain_data(self)
        for name in ("layers", "created"):
            if not getattr(self, name):
                del data[name]
        return data

    def to_bytes(self) -> bytes:
        """Return the content of `dataset.json`."""
        return seal(self.to_json(), indent=2)

    def copy_bytes(self) -> bytes:
        """Return the content of `dataset.copy.json`."""
        return seal({COPY_KEY: HEADER_FILE} | self.with_samples(0).to_json(), indent=2)

    def _check_size(self, field: ArrayField) -> None:
        if field.chunk_bytes(self.chunk) > _MAX_CHUNK_BYTES:
            raise ValueError(f"field {field.name}: a chunk of {self.chunk} samples is larger than 2 GB; make `chunk` smaller")
        if self.chunks_in_shard(field) > _MAX_CHUNKS:
            raise ValueError(f"field {field.name}: a shard of {self.shard} samples has more than {_MAX_CHUNKS:,} chunks")
        for name, size in zip(field.dims, field.shape, strict=True):
            if name == "variant" and size != len(self.variants):
                raise ValueError(f"field {field.name}: has {size} variants, the dataset has {len(self.variants)}")


def array_path(field: str) -> str:
    """Return the path of an array's metadata inside the dataset."""
    return f"{MOTION}/{field}/zarr.json"


def shard_path(field: ArrayField, shard: int, group: str = MOTION) -> str:
    """Return the path of a shard of a field, inside the folder that holds the Zarr group.

    The parts of the Zarr key are joined by dots, so that all shards of a field are in one folder: to sync a folder per shard
    would take longer than to sync the shard itself.

    Examples
    --------
    >>> shard_path(ArrayField("action", ("variant", "part"), (5, 5), (1, 5), "uint16", 65535, {}), 12)
    'motion.zarr/action/c.12.0.0'
    """
    return f"{group}/{field.name}/c.{shard}{'.0' * len(field.dims)}"


def rows_path(shard: int) -> str:
    """Return the path of the Parquet file with the shard's sequences."""
    return f"{SEQUENCES}/part-{shard:05}.parquet"


def content_of(path: str) -> str:
    """Return the name of the field that a file of a shard belongs to, or `rows`, by its path inside the dataset."""
    folder, _, rest = path.partition("/")
    return ROWS if folder == SEQUENCES else rest.partition("/")[0]


def receipt_path(shard: int, layer: Layer | None = None) -> str:
    """Return the path of the receipt of a shard, or of a layer of the shard."""
    return f"{RECEIPTS}/{shard:05}.json" if layer is None else f"{RECEIPTS}/{layer.name}/{shard:05}.json"


def shard_files(header: Header, shard: int) -> list[str]:
    """List the files that a shard can have besides its receipt, including those of layers and their receipts."""
    layers = (receipt_path(shard, layer) for layer in header.layers)
    return [*layers, *(shard_path(field, shard) for field in header.all_fields), rows_path(shard)]


def shard_of(header: Header, name: str) -> int | None:
    """Return the shard that a file or receipt belongs to, by its path inside the dataset; None if it belongs to none."""
    match = _SHARD_FILE.fullmatch(name)
    if match is None:
        return None
    shard = int(match[1])
    return shard if name in (*shard_files(header, shard), receipt_path(shard)) else None


def dataset_folders(header: Header) -> list[str]:
    """List the folders of a dataset, by their path inside it."""
    arrays = [f"{MOTION}/{field.name}" for field in header.all_fields]
    return [MOTION, SEQUENCES, RECEIPTS, *arrays, *(f"{RECEIPTS}/{layer.name}" for layer in header.layers)]


def check_folders(path: AnyPath, header: Header) -> None:
    """Raise PosegenError if a link or a file is in place of a folder of the dataset, so that nothing outside it is used."""
    check_real_folders(*(path / name for name in dataset_folders(header)))
