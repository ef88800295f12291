"""How many tokens go into a batch: as many as free memory holds, up to where more of them are no faster."""

from __future__ import annotations

from posegen.embedding.encoder import Encoder
from posegen.machine import available_memory

__all__ = ["suited_budget"]

LEAST, MOST_CPU, MOST_GPU = 256, 512, 65536
"""Tokens in a batch. On a CPU, larger ones leave its caches and are slower."""
_SHARE = 4
"""Of free memory, batches take one part in so many: others need some, too."""


def suited_budget(encoder: Encoder, workers: int, free: int | None = None) -> int:
    """Tokens in a batch that this machine has room for: a power of two.

    Parameters
    ----------
    encoder : Encoder
    workers : int
        Batches at once.
    free : int, optional
        Bytes of memory; as many as there are unless given.
    """
    most = MOST_CPU
    if encoder.told.get("device") == "cuda":
        import torch

        most, free = MOST_GPU, torch.cuda.mem_get_info()[0] if free is None else free
    room = (available_memory().free if free is None else free) // _SHARE // (workers * encoder.token_bytes)
    budget = LEAST
    while budget * 2 <= min(room, most):
        budget *= 2
    return budget
