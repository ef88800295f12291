"""Loading an encoder by its name, or from the folder that holds it."""

from __future__ import annotations

from collections.abc import Callable

from posegen.embedding.encoder import Encoder
from posegen.embedding.finding import DEFAULT, Found, find_encoder
from posegen.errors import UsageError
from posegen.wording import did_you_mean, shown

__all__ = ["load_encoder", "loaded"]


def load_encoder(
    name_or_path: str = DEFAULT,
    *,
    max_tokens: int | None = None,
    precision: str | None = "float32",
    workers: int | None = None,
    notify: Callable[[str], None] = print,
) -> Encoder:
    """Load an encoder.

    Parameters
    ----------
    name_or_path : str
        ``all-MiniLM-L6-v2`` and ``wordllama`` need no download; any other model of sentence-transformers by its name on the
        Hugging Face Hub, or by its folder.
    max_tokens : int, optional
        Look at no more tokens of a text.
    precision : str or None
        ``float32``, ``int8`` (CPU) or ``bf16`` (GPU); None for what suits the machine best.
    workers : int, optional
        Batches that are embedded at once.
    notify : callable
        Told when something is downloaded.

    Returns
    -------
    Encoder

    Raises
    ------
    UsageError
        If there is none of this name, or it cannot be loaded; says what to do.

    Examples
    --------
    >>> load_encoder("hashing-for-tests").dimension
    64
    """
    return loaded(find_encoder(name_or_path, max_tokens=max_tokens, notify=notify), precision, workers)


def loaded(found: Found, precision: str | None, workers: int | None) -> Encoder:
    """Load an encoder that was found, in a precision that it has.

    Raises
    ------
    UsageError
        If it does not have it.
    """
    if precision is not None and precision not in found.precisions:
        msg = f"{found.name}: has no precision {shown(precision)}{did_you_mean(precision, found.precisions)}"
        raise UsageError(msg)
    return found.load(precision, workers)
