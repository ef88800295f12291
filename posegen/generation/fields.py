"""Which arrays a dataset of a config has, as the store needs to know them, and how those beside the motion are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.constants import ABSENT_ACTION, ABSENT_CONTACT
from posegen.dataset.layout import ArrayField, Layer
from posegen.fields.field import (
    ABSENT,
    AXES,
    DerivedField,
    FieldArray,
    Sequences,
    compute_fields,
    fields_with_arrays,
    select_fields,
)
from posegen.library.load import Library
from posegen.plugins import STORED_ARRAYS
from posegen.skeleton import CONTACTS, JOINTS, PARTS

if TYPE_CHECKING:
    from posegen.synthesis import Batch

__all__ = ["array_fields", "layer_of_family", "made_arrays"]


def array_fields(config: Config, library: Library) -> tuple[ArrayField, ...]:
    """List the arrays that a dataset of `config` has, in the order of ``config.store.fields``.

    A chunk holds one variant and one actor: who reads only the base decodes only the base, and actors who are not there cost
    nothing.
    """
    own = {
        "joints": FieldArray("joints", {"joint": JOINTS, "axis": AXES}, "float32", ABSENT, {"units": "m"}),
        "action": FieldArray("action", {"part": PARTS}, "uint16", ABSENT_ACTION, {"names": list(library.actions)}),
        "contact": FieldArray("contact", {"point": CONTACTS}, "uint8", ABSENT_CONTACT),
    }
    wanted = [own[name] for name in config.store.fields if name in own]
    families = select_fields(name for name in config.store.fields if name not in STORED_ARRAYS)
    wanted += [description for family in families for description in family.arrays]
    return tuple(_array_field(config, description) for description in wanted)


def layer_of_family(config: Config, family: DerivedField) -> Layer:
    """Describe a family as a layer of a dataset of `config`."""
    fields = tuple(_array_field(config, description) for description in family.arrays)
    return Layer(family.name, family.version, family.sources, fields)


def made_arrays(config: Config, batch: Batch, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Take arrays from a batch, and compute those that it does not have itself.

    Parameters
    ----------
    config : Config
    batch : Batch
    names : iterable of str
        Of arrays.
    """
    wanted = list(names)
    arrays = {name: getattr(batch, name) for name in ("joints", "action", "contact")}
    if any(name not in arrays for name in wanted):
        from posegen.library.load import load_library

        library = load_library(config.story.library)
        sequences = Sequences(config, library, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
        arrays |= compute_fields(sequences, fields_with_arrays(wanted))
    return {name: arrays[name] for name in wanted}


def _array_field(config: Config, description: FieldArray) -> ArrayField:
    sizes = {"actor": config.story.actors.max, "frame": config.frames}
    ends = {axis: names if isinstance(names, int) else len(names) for axis, names in description.axes.items()}
    inner = tuple(sizes[name] if name == "frame" else 1 for name in description.per)
    return ArrayField(
        name=description.name,
        dims=("variant", *description.per, *ends),
        shape=(len(config.variants.names), *(sizes[name] for name in description.per), *ends.values()),
        chunk=(1, *inner, *ends.values()),
        dtype=description.dtype,
        fill=description.fill,
        attributes={
            **description.attributes,
            **{axis: list(names) for axis, names in description.axes.items() if not isinstance(names, int)},
            "variant": list(config.variants.names),
            "fps": config.fps,
        },
    )
