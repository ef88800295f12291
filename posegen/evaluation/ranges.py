"""Ranges of joints frame by frame: those that the actions then shown widen are wider."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.ranges import PASSING_SECONDS, angles_of
from posegen.library import Library, load_library
from posegen.library.ranges import widest
from posegen.skeleton import JOINT_LIMITS

__all__ = ["library_of", "ranges_of_frames"]

Array = NDArray[Any]


def library_of(config: Mapping[str, Any]) -> Library:
    """Give the library of a dataset's resolved config; posegen's own where the folder with the user's actions is not here."""
    story = config.get("story")
    folder = story.get("library") if isinstance(story, Mapping) else None
    return load_library(Path(folder) if isinstance(folder, str) and os.path.isdir(folder) else None)


def ranges_of_frames(library: Library, names: Sequence[str], labels: Array, fps: float) -> dict[str, Array]:
    """Ranges of the angles that some action widens.

    Parameters
    ----------
    library : Library
        Actions that it does not know widen nothing.
    names : sequence of str
        The action of each number in `labels`.
    labels : int [frame, part]
        What moves each part of the body; numbers beyond `names` are nothing.
    fps : float
        Frames a second.

    Returns
    -------
    dict of str to float64 [2, frame]
        Smallest and largest value in degrees, by ``side_joint_angle`` as :func:`posegen.evaluation.limits.joint_angles` has
        them; angles in their usual ranges throughout are left out.
    """
    found: dict[str, Array] = {}
    reach = int(PASSING_SECONDS * fps)
    for number in np.unique(labels[labels < len(names)]):
        name = names[number]
        if name not in library.entries:
            continue
        for channel, range_ in library.action(name).ranges.items():
            low, high = widest(channel, range_.min, range_.max)
            for angle, part in angles_of(channel):
                shown = np.flatnonzero(labels[:, part] == number)
                if not len(shown):
                    continue
                near = np.zeros(len(labels) + 2 * reach, bool)
                for shift in range(2 * reach + 1):
                    near[shown + shift] = True
                usual = np.repeat(np.array(JOINT_LIMITS[channel])[:, None], len(labels), axis=1)
                row, there = found.setdefault(angle, usual), near[reach : reach + len(labels)]
                row[0, there], row[1, there] = np.minimum(row[0, there], low), np.maximum(row[1, there], high)
    return found
