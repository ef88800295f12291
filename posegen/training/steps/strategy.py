"""How processes that train together bring together what they found, by Lightning's data-parallel strategy.

posegen starts the processes itself (:mod:`posegen.training.steps.members`), so that only the first one holds the run's folder:
it alone checks, logs and writes.
"""

from __future__ import annotations

from typing import Any

import torch
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor, distributed

from posegen.training.steps.place import Place

__all__ = ["gathered", "strategy_at"]


def strategy_at(place: Place, device: str) -> Any:
    """Tell Lightning how gradients come together: by NCCL on GPUs, by Gloo on a CPU, not at all in a process alone."""
    if place.of == 1:
        return "auto"
    backend = "nccl" if device == "cuda" else "gloo"
    return DDPStrategy(cluster_environment=_Environment(place), process_group_backend=backend)


def gathered(said: Tensor, place: Place) -> Tensor:
    """Put together what all processes say of their shares of a batch, in the order of the shares.

    On the way back each process gets the gradients that all of them have for its share: their sum. As Lightning then takes the
    mean over the processes, and each computed the same loss, the gradient is that of one process alone.
    """
    if place.of == 1:
        return said
    together: Tensor = _Gathered.apply(said, place)  # type: ignore[no-untyped-call]
    return together


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, said: Tensor, place: Place) -> Tensor:
        ctx.place = place
        shares = [torch.empty_like(said) for _ in range(place.of)]
        distributed.all_gather(shares, said.contiguous())
        return torch.cat(shares)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = gradients
        whole = gradient.contiguous()
        distributed.all_reduce(whole)
        return whole.chunk(ctx.place.of)[ctx.place.rank], None


class _Environment(ClusterEnvironment):
    """What Lightning asks of whoever starts the processes."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return "127.0.0.1"

    @property
    def main_port(self) -> int:
        return self._place.port

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self._place.of

    def set_world_size(self, size: int) -> None:
        """It is as it is."""

    def global_rank(self) -> int:
        return self._place.rank

    def set_global_rank(self, rank: int) -> None:
        """It is as it is."""

    def local_rank(self) -> int:
        return self._place.rank

    def node_rank(self) -> int:
        return 0
