"""Base scenes transformed by a variant of a name."""

from __future__ import annotations

from posegen.foundations.plugins import VARIANTS
from posegen.foundations.scene import Scenes
from posegen.variants.variant import Parameters

__all__ = ["apply_variant"]


def apply_variant(scenes: Scenes, name: str, parameters: Parameters) -> Scenes:
    return VARIANTS.load(name).transform(scenes, parameters)
