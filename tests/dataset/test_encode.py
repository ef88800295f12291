from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, Crc32cCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

from posegen.dataset.header import header_metadata
from posegen.dataset.layout import ArrayField, Header, shard_path
from posegen.dataset.shard_codec import COMPRESSION, encode_shard
from tests.dataset.tiny import make_header

TO_BUFFER = default_buffer_prototype().buffer.from_bytes


def open_with_zarr(header: Header, objects: dict[str, bytes]) -> zarr.Group:
    """Open the metadata of a dataset and some shards with zarr."""
    contents = header_metadata(header) | objects
    store = MemoryStore({name.removeprefix("motion.zarr/"): TO_BUFFER(data) for name, data in contents.items()})
    return zarr.open_group(store, mode="r")


def create_with_zarr(header: Header, field: ArrayField) -> zarr.Array[Any]:
    """Create the array for a field with zarr itself."""
    return zarr.create_array(
        MemoryStore(),
        shape=(header.samples, *field.shape),
        dtype=field.dtype,
        shards=(header.shard, *field.shape),
        chunks=(header.chunk, *field.chunk),
        compressors=[
            BloscCodec(
                typesize=np.dtype(field.dtype).itemsize,
                **COMPRESSION,
            ),
            Crc32cCodec(),
        ],
        fill_value=field.fill,
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=["sample", *field.dims],
        attributes=field.attributes,
    )


@st.composite
def fields_and_values(draw: st.DrawFn) -> tuple[Header, list[np.ndarray[Any, Any]]]:
    """Draw a header with one field, and values of its shards, some of them absent; the last shard may be partly filled."""
    dims = draw(st.integers(0, 3))
    chunk = [draw(st.integers(1, 3)) for _ in range(dims)]
    dtype, fill = draw(
        st.sampled_from([("float32", math.nan), ("uint16", 65535), ("uint8", 255), ("float64", 0.5), ("int8", -1)])
    )
    shape = tuple(step * draw(st.integers(1, 3)) for step in chunk)
    field = ArrayField("x", tuple("abc"[:dims]), shape, tuple(chunk), dtype, fill, {"unit": "°C"})
    samples = draw(st.integers(1, 9))
    header = make_header(chunk=2, shard=4, samples=samples, fields=(field,))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    values = random.integers(0, 100, (samples, *shape)).astype(dtype)
    values[random.random(values.shape) < draw(st.sampled_from([0, 0.5, 0.95, 1]))] = fill
    return header, [values[start : start + 4] for start in range(0, samples, 4)]


@given(fields_and_values())
def test_zarr_reads_what_was_encoded(case: tuple[Header, list[np.ndarray[Any, Any]]]) -> None:
    header, shards = case
    (field,) = header.fields
    encoded = {shard_path(field, shard): b"".join(encode_shard(field, values, 4, 2)) for shard, values in enumerate(shards)}
    array: Any = open_with_zarr(header, {name: data for name, data in encoded.items() if data})["x"]
    np.testing.assert_array_equal(array[:], np.concatenate(shards))
    assert array[:].dtype == field.dtype


@given(fields_and_values())
def test_zarr_writes_the_same_metadata(case: tuple[Header, list[np.ndarray[Any, Any]]]) -> None:
    header, _ = case
    (field,) = header.fields
    ours: Any = open_with_zarr(header, {})["x"]
    expected = create_with_zarr(header, field)
    assert json.dumps(ours.metadata.to_dict(), default=str) == json.dumps(expected.metadata.to_dict(), default=str)
    assert ours.metadata.dimension_names == ("sample", *field.dims)


def test_encoding_is_reproducible_for_any_memory_layout() -> None:
    header = make_header()
    field = header.field("joints")
    values = np.random.default_rng(1).normal(size=(6, *field.shape)).astype("f4")
    assert encode_shard(field, values, 6, 3) == encode_shard(field, values[:, ::1].copy(order="F"), 6, 3)
