"""The library: the actions, themes and words that stories are made of, all of them data files."""

from __future__ import annotations

from posegen.library.load import Library, load_library, read_library

__all__ = ["Library", "load_library", "read_library"]
