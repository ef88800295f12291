"""Which arrays a dataset of a config has, as the store needs to know them, and how those beside the motion are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.constants import ABSENT_ACTION, ABSENT_CONTACT
from posegen.dataset.layout import ArrayField, Layer
from posegen.fields.families import FAMILIES, compute, families_asked_for
from posegen.fields.family import ABSENT, AXES, Description, Family, Sequences
from posegen.library import Library
from posegen.skeleton import CONTACTS, JOINTS, PARTS

if TYPE_CHECKING:
    from posegen.synthesis import Batch

__all__ = ["array_fields", "families_of", "layer_of_family", "made_arrays"]


def array_fields(config: Config, library: Library) -> tuple[ArrayField, ...]:
    """List the arrays that a dataset of `config` has, in the order of ``config.store.fields``.

    A chunk holds one variant and one actor: who reads only the base decodes only the base, and actors who are not there cost
    nothing.
    """
    own = {
        "joints": Description("joints", {"joint": JOINTS, "axis": AXES}, "float32", ABSENT, {"units": "m"}),
        "action": Description("action", {"part": PARTS}, "uint16", ABSENT_ACTION, {"names": list(library.actions)}),
        "contact": Description("contact", {"point": CONTACTS}, "uint8", ABSENT_CONTACT),
    }
    wanted = [own[name] for name in config.store.fields if name in own]
    families = families_asked_for(name for name in config.store.fields if name in FAMILIES)
    wanted += [description for family in families for description in family.fields]
    return tuple(_array_field(config, description) for description in wanted)


def layer_of_family(config: Config, family: Family) -> Layer:
    """Describe a family as a layer of a dataset of `config`."""
    fields = tuple(_array_field(config, description) for description in family.fields)
    return Layer(family.name, family.version, family.sources, fields)


def families_of(names: Iterable[str]) -> list[str]:
    """Name the families that have arrays of these names."""
    wanted = {*names}
    return [name for name, family in FAMILIES.items() if any(field.name in wanted for field in family.fields)]


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
        from posegen.library import load_library

        library = load_library(config.story.library)
        sequences = Sequences(config, library, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
        arrays |= compute(sequences, families_of(wanted))
    return {name: arrays[name] for name in wanted}


def _array_field(config: Config, description: Description) -> ArrayField:
    sizes = {"actor": config.story.actors.max, "frame": config.frames}
    ends = {axis: names if isinstance(names, int) else len(names) for axis, names in description.axes.items()}
    inner = tuple(sizes[name] if name == "frame" else 1 for name in description.of)
    return ArrayField(
        name=description.name,
        dims=("variant", *description.of, *ends),
        shape=(len(config.variants.names), *(sizes[name] for name in description.of), *ends.values()),
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
