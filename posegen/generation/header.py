"""The header of a dataset and the config that it follows from: built from a config, compared, and turned back into one.

Reading and writing headers is left to :mod:`posegen.dataset`.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

from posegen import __version__
from posegen.config.identity import decides_content, differences
from posegen.config.schema import CONTENT_VERSION, Config
from posegen.dataset.documents import FORMAT_VERSION
from posegen.dataset.header import read_config
from posegen.dataset.layout import ArrayField, Creation, Header, Layer
from posegen.dataset.storage.address import AnyPath
from posegen.fields.field import ABSENT, AXES, DerivedField, FieldArray, select_fields
from posegen.foundations.constants import ABSENT_ACTION, ABSENT_CONTACT
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.plugins import STORED_ARRAYS
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, PARTS
from posegen.foundations.wording import counted
from posegen.library.load import Library, load_library

LICENCE = "CC0-1.0"
"""Licence of data without imported clips: public domain."""


def data_licence(library: Library) -> str:
    """Return the licence of data that is generated with a library: that of its imported clips, if it has any."""
    return "; ".join(f"{licence} (motion imported from: {source})" for licence, source in library.clip_terms) or LICENCE


def array_fields(config: Config, library: Library) -> tuple[ArrayField, ...]:
    """Return the arrays of a dataset of `config`, in the order of ``config.store.fields``.

    A chunk holds one variant and one actor, so that a reader of the base variant decodes nothing else, and absent actors take
    almost no space.
    """
    stored = {
        "joints": FieldArray("joints", {"joint": JOINTS, "axis": AXES}, "float32", ABSENT, {"units": "m"}),
        "action": FieldArray("action", {"part": PARTS}, "uint16", ABSENT_ACTION, {"names": list(library.actions)}),
        "contact": FieldArray("contact", {"point": CONTACTS}, "uint8", ABSENT_CONTACT),
    }
    arrays = [stored[name] for name in config.store.fields if name in stored]
    derived = select_fields(name for name in config.store.fields if name not in STORED_ARRAYS)
    arrays += [array for field in derived for array in field.arrays]
    return tuple(_array_field(config, array) for array in arrays)


def field_layer(config: Config, field: DerivedField) -> Layer:
    """Return a derived field as a layer of a dataset of `config`."""
    return Layer(field.name, field.version, field.sources, tuple(_array_field(config, array) for array in field.arrays))


def _array_field(config: Config, array: FieldArray) -> ArrayField:
    sizes = {"actor": config.story.actors.max, "frame": config.frames}
    ends = {axis: names if isinstance(names, int) else len(names) for axis, names in array.axes.items()}
    inner = tuple(sizes[name] if name == "frame" else 1 for name in array.per)
    return ArrayField(
        name=array.name,
        dims=("variant", *array.per, *ends),
        shape=(len(config.variants.names), *(sizes[name] for name in array.per), *ends.values()),
        chunk=(1, *inner, *ends.values()),
        dtype=array.dtype,
        fill=array.fill,
        attributes={
            **array.attributes,
            **{axis: list(names) for axis, names in array.axes.items() if not isinstance(names, int)},
            "variant": list(config.variants.names),
            "fps": config.fps,
        },
    )


def new_header(config: Config, library: Library) -> Header:
    """Return the header of an empty dataset of `config`."""
    return Header(
        format_version=FORMAT_VERSION,
        content_version=CONTENT_VERSION,
        identity=config.identity(library),
        name=config.name,
        config=config.as_data(),
        seed=config.seed,
        samples=0,
        fps=config.fps,
        frames=config.frames,
        skeleton={"name": "SMPL-22", "joints": list(JOINTS), "parents": list(PARENTS), "unit": "metre", "up": "y"},
        licence=data_licence(library),
        shard=config.store.shard,
        chunk=config.store.chunk,
        variants=config.variants.names,
        fields=array_fields(config, library),
    )


def new_creation() -> Creation:
    """Return this version of posegen and the time; ``SOURCE_DATE_EPOCH`` sets the time, so that datasets have equal bytes."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    time = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return Creation(__version__, time.strftime("%Y-%m-%dT%H:%M:%SZ"))


def bytes_per_sample(header: Header) -> int:
    """Return the uncompressed bytes of the arrays of a sample, including those of layers."""
    return sum(field.sample_bytes for field in header.all_fields)


def settings_kept(existing: Header, expected: Header, path: AnyPath) -> str:
    """Return a message about fields and shards that a dataset does not get although a config asks for them; empty if none."""
    own, notes = {field.name for field in existing.all_fields}, []
    if absent := ", ".join(field.name for field in expected.fields if field.name not in own):
        notes.append(f"it has no {absent}, and none is added: use posegen derive --add, or generate it into another folder")
    if existing.shard != expected.shard:
        notes.append(f"its shards keep {counted(existing.shard, 'sample')}")
    return f"{path}: {'; '.join(notes)}" if notes else ""


def check_same_dataset(existing: Header, expected: Header, path: AnyPath) -> None:
    """Check that the dataset at `path` can be extended with the samples of `expected`.

    Shard size and stored fields may differ: the existing ones stay.

    Raises
    ------
    PosegenError
        If another content version made it.
    UsageError
        If it is another dataset. The message names the difference.
    """
    _check_content_version(path, existing, "not extended: choose another folder with --out, or")
    if existing.identity != expected.identity:
        different = "; ".join(
            f"{key}: {json.dumps(old)} -> {json.dumps(new)}"
            for key, old, new in differences(existing.config, expected.config)
            if decides_content(key)
        )
        msg = (
            f"{path}: holds another dataset ({existing.identity[:8]}, not {expected.identity[:8]}). Differences, existing -> "
            f"requested: {different or 'the files of actions, themes or words'}. Choose another folder with --out, or the same "
            "config"
        )
        raise UsageError(msg)


def _check_content_version(path: AnyPath, header: Header, consequence: str) -> None:
    if header.content_version != CONTENT_VERSION:
        msg = (
            f"{path}: made with content version {header.content_version}; this posegen makes version {CONTENT_VERSION}, "
            f"whose samples differ. The dataset can be read and verified, but {consequence} use the posegen that made it"
        )
        raise PosegenError(msg)


def stored_config(path: AnyPath, header: Header) -> Config:
    """Return the config that makes the samples of a dataset.

    Parameters
    ----------
    path : Path
        Dataset folder.
    header : Header

    Raises
    ------
    PosegenError
        If the dataset has another content version, if its config or library have another identity today, or if the header
        describes other arrays than its config.
    """
    _check_content_version(path, header, "its samples cannot be made again:")
    config = read_config(path, header)
    library = load_library(config.story.library)
    expected = new_header(config, library)
    if expected.identity != header.identity:
        folder = config.story.library or "of this posegen"
        msg = (
            f"{path}: its config has the identity {expected.identity[:8]} here, not {header.identity[:8]:.8} as in its "
            f"dataset.json: the files of actions, themes or words ({folder}) have changed, or its samples are recordings "
            "(posegen import --as scene). The bytes can be verified, but the samples cannot be made again: restore the files"
        )
        raise PosegenError(msg)
    for key, value in _derived_entries(header).items():
        if value != (made := _derived_entries(expected)[key]):
            msg = (
                f"{path}: its dataset.json has {key} {value!r:.200}, but its config gives {made!r:.200}. "
                "posegen did not write it: generate the dataset again in another folder"
            )
            raise PosegenError(msg)
    return config


def _derived_entries(header: Header) -> dict[str, Any]:
    """Return the entries of a header that follow from its config."""
    entries = {name: getattr(header, name) for name in ("seed", "fps", "frames", "variants", "shard", "chunk")}
    return entries | {"fields": [(field.name, field.dims, field.shape, field.chunk, field.dtype) for field in header.fields]}
