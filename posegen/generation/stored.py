"""From a dataset back to the config that makes it, if this posegen makes the same samples of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from posegen.config.schema import CONTENT_VERSION, Config
from posegen.dataset.layout import Header
from posegen.errors import PosegenError
from posegen.generation.fields import array_fields
from posegen.generation.plan import new_header
from posegen.library.load import load_library
from posegen.validation import validated

__all__ = ["stored_config"]


def stored_config(path: Path, header: Header) -> Config:
    """Take the config of a dataset from its header.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header

    Raises
    ------
    PosegenError
        If the dataset is of another content version, if its config or library give another dataset today, or if the header
        tells of other arrays than its config makes.
    """
    if header.content_version != CONTENT_VERSION:
        msg = (
            f"{path}: was made by content version {header.content_version}, and this posegen makes version {CONTENT_VERSION}, "
            "whose samples differ. Its bytes can be verified, but its samples not made again: use the posegen that made it"
        )
        raise PosegenError(msg)
    config = validated(Config, header.config, lambda key: f"{path}: in the config of its dataset.json: ")
    library = load_library(config.story.library)
    identity = config.identity(library)
    if identity != header.identity:
        place = config.story.library or "of this posegen"
        msg = (
            f"{path}: its config has the identity {identity[:8]} here, not {header.identity[:8]:.8} as when it was made: "
            f"the files of actions, themes or words ({place}) have changed since. Its bytes can be verified, but its samples "
            "not made again: bring the files back"
        )
        raise PosegenError(msg)
    made = _told(new_header(config, library, array_fields(config, library)))
    for key, value in _told(header).items():
        if value != made[key]:
            msg = (
                f"{path}: its dataset.json tells of {key} {value!r:.200}, where its config makes {made[key]!r:.200}. "
                "It was not written by posegen: make the dataset anew in another place"
            )
            raise PosegenError(msg)
    return config


def _told(header: Header) -> dict[str, Any]:
    """List what a header says that follows from its config."""
    told = {name: getattr(header, name) for name in ("seed", "fps", "frames", "variants", "shard", "chunk")}
    return told | {"fields": [(field.name, field.dims, field.shape, field.chunk, field.dtype) for field in header.fields]}
