"""What training sets in torch for the whole process, put back afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["torch_put_back"]


@contextmanager
def torch_put_back() -> Iterator[None]:
    """Put back the number of threads and how float32 is multiplied, whatever was set meanwhile.

    Sums of one thread and of two differ in their last bits, so what a model says later in the same process would depend on
    whether it was trained there, or had been trained before that process began.
    """
    threads, products = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(products)
