"""A small archive of a user's clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FRAMES = (10, 21, 3, 16)


def archive_of(path: Path, **changes: object) -> Path:
    """Write an archive of four clips with other arrays than usual, or without those that are None."""
    arrays = {
        "joints": np.cumsum(np.ones((sum(FRAMES), 22, 3), np.float32), axis=0),
        "offsets": np.cumsum([0, *FRAMES]),
        "fps": np.float64(50),
        "classes": np.array(["walk", "run", "walk", "run"]),
    }
    np.savez(path, **{name: value for name, value in (arrays | changes).items() if value is not None})  # type: ignore[arg-type]
    return path
