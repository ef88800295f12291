"""Finding an encoder by its name, or by the folder that holds it."""

from __future__ import annotations

from typing import Any

from posegen.embedding.encoder import Encoder
from posegen.embedding.hashing import HASHING, hashing_encoder
from posegen.errors import UsageError
from posegen.wording import did_you_mean, shown

__all__ = ["DEFAULT", "load_encoder"]

DEFAULT = HASHING


def load_encoder(name_or_path: str = DEFAULT, **options: Any) -> Encoder:
    """Load an encoder.

    Parameters
    ----------
    name_or_path : str
    **options
        ``max_tokens``: look at no more tokens of a text.

    Returns
    -------
    Encoder

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name_or_path == HASHING:
        return hashing_encoder(options.get("max_tokens"))
    msg = f"there is no encoder {shown(name_or_path)}{did_you_mean(name_or_path, [HASHING])}"
    raise UsageError(msg)
