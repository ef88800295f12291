"""Excerpts of one action: from default samples that prefer it, or from scripted scenes if no theme contains it."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.motion.clips import JOINTS_OF_MOCAP, made, segments
from benchmarks.motion.scripted import animated, shown
from posegen.evaluation.recording import Recording
from posegen.library.load import Library

__all__ = ["excerpts", "themes_with"]

FAVOUR = 1000
FPS = 25


def themes_with(library: Library, action: str) -> list[str]:
    """Return the themes that contain an action."""
    return [name for name, theme in library.themes.items() if theme.actions.get(action, 0.0) > 0]


def excerpts(library: Library, action: str, samples: int) -> Iterator[Recording]:
    """Yield excerpts of an action, from its begin to its end."""
    themes = themes_with(library, action)
    if themes:
        where = ", ".join(f"{name}: 1" for name in themes)
        overrides = [JOINTS_OF_MOCAP, f"story.actions={{{action}: {FAVOUR}}}", f"story.themes={{{where}}}"]
        for _config, recording in made(overrides, samples):
            yield from segments(recording, [action])
    else:
        for recording in animated(shown(library, action, samples, FPS), library, FPS):
            yield from segments(recording, [action])
