"""Which arrays a dataset of a config has, as the store needs to know them."""

from __future__ import annotations

from typing import Any

from posegen.config import Config
from posegen.library import Library
from posegen.motion.engine import ABSENT_ACTION, ABSENT_CONTACT
from posegen.skeleton import CONTACTS, JOINTS, PARTS
from posegen.store.layout import ArrayField

__all__ = ["array_fields"]


def array_fields(config: Config, library: Library) -> tuple[ArrayField, ...]:
    """List the arrays that a dataset of `config` has, in the order of ``config.store.fields``.

    A chunk holds one variant and one actor: who reads only the base decodes only the base, and actors who are not there cost
    nothing.
    """
    variants, actors, frames = config.variants.names, config.story.actors.max, config.frames
    ends: dict[str, tuple[dict[str, tuple[str, ...]], str, float, dict[str, Any]]] = {
        "joints": (
            {"joint": JOINTS, "axis": ("x", "y", "z")},
            "float32",
            float("nan"),
            {"units": "m"},
        ),
        "action": ({"part": PARTS}, "uint16", ABSENT_ACTION, {"names": list(library.actions)}),
        "contact": ({"point": CONTACTS}, "uint8", ABSENT_CONTACT, {}),
    }
    fields = []
    for name in config.store.fields:
        axes, dtype, fill, attributes = ends[name]
        shape = tuple(len(names) for names in axes.values())
        fields.append(
            ArrayField(
                name=name,
                dims=("variant", "actor", "frame", *axes),
                shape=(len(variants), actors, frames, *shape),
                chunk=(1, 1, frames, *shape),
                dtype=dtype,
                fill=fill,
                attributes={
                    **attributes,
                    **{axis: list(names) for axis, names in axes.items()},
                    "variant": list(variants),
                    "fps": config.fps,
                },
            )
        )
    return tuple(fields)
