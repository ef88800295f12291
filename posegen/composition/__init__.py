"""Composing: motion for a text, by the words that captions are made of."""

from posegen.composition.compose import Composition, compose

__all__ = ["Composition", "compose"]
