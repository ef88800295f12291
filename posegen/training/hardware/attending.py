"""How attention is computed while a model learns: on a CPU as products of matrices, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["attending_by_products"]


@contextmanager
def attending_by_products(device: str) -> Iterator[None]:
    """Have torch's attention in blocks turned off meanwhile, where the device is a CPU.

    It saves memory where sequences are long. Clips and captions are short, and in bf16 its way back takes most of a step on a
    CPU that multiplies bf16 matrices itself: without it, and so in bf16, steps of `motion` took 144 instead of 200 ms, and of
    `text` 1.0 instead of 1.45 s, while float32 was as fast either way. A model in use answers by torch's own way, whatever
    was trained in the same process before.
    """
    # By the name of CUDA, yet for CPUs as well.
    before = torch.backends.cuda.flash_sdp_enabled()  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_flash_sdp(device == "cuda" and before)
    try:
        yield
    finally:
        torch.backends.cuda.enable_flash_sdp(before)
