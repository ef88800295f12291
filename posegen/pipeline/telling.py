"""Who is told on the road: each stage has its own way of telling how far it is, and one place makes them all alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from posegen.progress import Progress

__all__ = ["Telling"]


class Telling(Protocol):
    """What a road tells."""

    def stage(self, number: int, of: int, name: str) -> None:
        """A stage begins."""

    def say(self, text: str) -> None:
        """Tell something in words."""

    def generation(self) -> Progress:
        """Who is told how generating goes."""

    def embedding(self) -> Progress:
        """Return the display of embedding's progress and messages."""

    def training(self) -> Progress:
        """Who is told how training goes."""
