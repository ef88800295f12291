"""What can be wrong with a dataset, as :mod:`posegen.dataset.verify` tells it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a dataset.

    Attributes
    ----------
    shard : int or None
        The shard that it concerns; None if it concerns none or all.
    file : str
        Path inside the dataset.
    what : str
        What is wrong with it; a sentence that goes on from the file's name.
    curable : bool
        Whether making shards again and writing descriptions anew puts it right. If not, `what` says what does.
    layer : str or None
        The layer that it concerns, if not the samples themselves: then only that is derived again.
    """

    shard: int | None
    file: str
    what: str
    curable: bool = True
    layer: str | None = None

    def __str__(self) -> str:
        return f"{'' if self.shard is None else f'shard {self.shard}: '}{self.file}: {self.what}"
