"""Stretches of one action: out of default samples in which it is favoured, or, where no theme has it, out of written scenes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.motion.clips import made, segments
from benchmarks.motion.written import animated, shown
from posegen.evaluation.recording import Recording
from posegen.library import Library

__all__ = ["in_stories", "stretches"]

FAVOUR = 1000
FPS = 25


def in_stories(library: Library, action: str) -> bool:
    """Whether samples can show an action."""
    return any(theme.actions.get(action, 0.0) > 0 for theme in library.themes.values())


def stretches(library: Library, action: str, samples: int) -> Iterator[Recording]:
    """Give stretches of an action, from its begin to its end."""
    if in_stories(library, action):
        for _config, recording in made([f"story.actions={{{action}: {FAVOUR}}}"], samples):
            yield from segments(recording, [action])
    else:
        for recording in animated(shown(library, action, samples, FPS), library, FPS):
            yield from segments(recording, [action])
