"""What a header may say: names, shapes and sizes that can be stored, and read again in a sane amount of memory.

A header is believed only within these bounds, since whoever reads a dataset takes memory by what its header says.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from posegen.dataset.receipts import ROWS

if TYPE_CHECKING:
    from posegen.dataset.array_fields import ArrayField, Layer
    from posegen.dataset.layout import Header

__all__ = ["bytes_of_sample", "chunks_in_shard", "field_fault", "header_fault", "layer_fault"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_MOST_DIMENSIONS = 16
_MOST_CHUNK_BYTES = 2**31 - 17  # the most that Blosc takes at once
_MOST_SAMPLE_BYTES = 2**30  # the largest that a config makes has a tenth of it
_MOST_CHUNKS = 2**22  # so the index of a shard has at most 64 MiB


def bytes_of_sample(field: ArrayField) -> int:
    """Count the bytes that a sample takes in memory."""
    return math.prod(field.shape) * np.dtype(field.dtype).itemsize


def chunks_in_shard(header: Header, field: ArrayField) -> int:
    """Count the chunks of a field in a shard."""
    steps = (size // step for size, step in zip(field.shape, field.chunk, strict=True))
    return header.shard // header.chunk * math.prod(steps)


def field_fault(field: ArrayField) -> str | None:
    """Say what is wrong with a field; None if nothing is."""
    if not _NAME.fullmatch(field.name) or field.name == ROWS:
        return f"a field cannot be called {field.name!r:.80}"
    if not all(_NAME.fullmatch(name) for name in field.dims) or len({"sample", *field.dims}) != len(field.dims) + 1:
        return f"field {field.name}: dimensions need names, each its own and none of them `sample`, not {field.dims!r:.200}"
    if not len(field.dims) == len(field.shape) == len(field.chunk) <= _MOST_DIMENSIONS:
        return f"field {field.name}: dims, shape and chunk must have the same length, at most {_MOST_DIMENSIONS}"
    if any(size < 1 or step < 1 or size % step for size, step in zip(field.shape, field.chunk, strict=True)):
        return f"field {field.name}: each size in shape {field.shape} must be a multiple of that in chunk {field.chunk}"
    if field.dtype not in _DTYPES:
        return f"field {field.name}: cannot store {field.dtype!r:.40}, only {', '.join(_DTYPES)}"
    return _fill_fault(field)


def layer_fault(layer: Layer) -> str | None:
    """Say what is wrong with a layer; None if nothing is."""
    if not _NAME.fullmatch(layer.name):
        return f"a layer cannot be called {layer.name!r:.80}"
    if not layer.fields or not layer.sources:
        return f"layer {layer.name}: needs fields, and sources that they are derived from"
    both = {field.name for field in layer.fields}.intersection(layer.sources)
    return f"layer {layer.name}: {', '.join(sorted(both))} cannot be derived from itself" if both else None


def header_fault(header: Header) -> str | None:
    """Say what is wrong with a header; None if nothing is."""
    if header.shard < 1 or header.chunk < 1 or header.shard % header.chunk:
        return f"the shard size {header.shard} must be a multiple of the chunk size {header.chunk}"
    if not header.variants or len(set(header.variants)) != len(header.variants):
        return f"variants need names, each its own, not {header.variants!r:.200}"
    names = [field.name for field in header.all_fields]
    if not header.fields or len(set(names)) != len(names):
        return f"fields need names, each its own, not {names!r:.200}"
    layers = [layer.name for layer in header.layers]
    if len(set(layers)) != len(layers):
        return f"layers need names, each its own, not {layers!r:.200}"
    unknown = {source for layer in header.layers for source in layer.sources} - {ROWS, *(f.name for f in header.fields)}
    if unknown:
        return f"layers are derived from {', '.join(sorted(unknown))!r:.200}, which the dataset does not have"
    return _size_fault(header) or _variants_fault(header)


def _size_fault(header: Header) -> str | None:
    for field in header.all_fields:
        if math.prod(field.chunk) * header.chunk * np.dtype(field.dtype).itemsize > _MOST_CHUNK_BYTES:
            return f"field {field.name}: a chunk of {header.chunk} samples is larger than 2 GB; make `chunk` smaller"
        if chunks_in_shard(header, field) > _MOST_CHUNKS:
            return f"field {field.name}: a shard of {header.shard} samples has more than {_MOST_CHUNKS:,} chunks"
    if sum(map(bytes_of_sample, header.all_fields)) > _MOST_SAMPLE_BYTES:
        return f"a sample takes more than {_MOST_SAMPLE_BYTES:,} bytes, which no config asks for"
    return None


def _variants_fault(header: Header) -> str | None:
    for field in header.all_fields:
        for name, size in zip(field.dims, field.shape, strict=True):
            if name == "variant" and size != len(header.variants):
                return f"field {field.name}: has {size} variants, and the dataset {len(header.variants)}"
    return None


def _fill_fault(field: ArrayField) -> str | None:
    dtype = np.dtype(field.dtype)
    if dtype.kind == "f":
        fits = abs(field.fill) <= np.finfo(dtype).max
        exact = math.isnan(field.fill) or (fits and float(dtype.type(field.fill)) == field.fill)
    else:
        limits = np.iinfo(dtype)
        exact = type(field.fill) is int and limits.min <= field.fill <= limits.max
    return None if exact else f"field {field.name}: the fill value {field.fill!r:.40} does not fit {field.dtype}"
