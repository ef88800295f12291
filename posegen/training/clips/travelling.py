"""What can be measured of how somebody travels, in the first stretch of a clip in which they do.

A stretch is a segment that is told of, with a speed: a walk, a run, a crawl. Its measures are those of the stored joints and
contacts in its frames, not what the motion was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.dataset.layout import ROWS
from posegen.library.terms import SPEEDS
from posegen.skeleton import JOINTS
from posegen.training.clips.recipes import Recipe, View
from posegen.training.clips.spelling import MOST_CAPTIONS

__all__ = ["MEASURED", "MEASURES", "NUMBERS", "WORDS", "energy_of", "speed_of", "steps_of"]

Array = NDArray[Any]

MEASURES = ("speed", "cadence", "energy", "duration")
"""Metres a second, steps a minute, joules a kilogram, seconds."""

_ABOUT_HALF = 0.5
_NAMES = 1 << 15
_FEET = ((0, 1), (2, 3))
_FEWEST_STEPS = 3


def speed_of(pelvis: Array, fps: float) -> float:
    """Mean speed in the plane, by places half a second apart, so that swaying from foot to foot is no travel.

    Parameters
    ----------
    pelvis : float [frame, 3]
        Metres, y up; two frames at least.
    fps : float
        Frames a second.

    Returns
    -------
    float
        Metres a second.
    """
    apart = min(round(fps * _ABOUT_HALF), len(pelvis) - 1)
    moved = (pelvis[apart:] - pelvis[:-apart])[:, [0, 2]]
    return float(np.sqrt((moved**2).sum(axis=1)).mean() * fps / apart)


def steps_of(contact: Array, fps: float) -> float:
    """Steps a minute: of the times at which a foot comes down, from the first to the last; NaN with fewer than three.

    Parameters
    ----------
    contact : uint8 [frame, point]
        Left heel, left toe, right heel, right toe, ...; 1 = touching.
    fps : float
        Frames a second.
    """
    down = np.stack([(contact[:, foot] == 1).any(axis=1) for foot in _FEET], axis=1)
    landed = np.flatnonzero((down[1:] & ~down[:-1]).any(axis=1))
    if len(landed) < _FEWEST_STEPS:
        return float("nan")
    return float(60 * fps * (len(landed) - 1) / (landed[-1] - landed[0]))


def energy_of(joints: Array, fps: float) -> float:
    """Mean kinetic energy of each kilogram, were all joints of one mass: half the mean of the squared speeds of all joints.

    Parameters
    ----------
    joints : float [frame, joint, 3]
        Metres; two frames at least.
    fps : float
        Frames a second.

    Returns
    -------
    float
        Joules a kilogram.
    """
    velocity = np.diff(joints.astype(np.float64), axis=0) * fps
    return float((velocity**2).sum(axis=-1).mean() / 2)


def _stretch(row: Mapping[str, Any]) -> int | None:
    """Find the first segment of the first actor that travels."""
    segments = row["actors"][0]["segments"]
    travels = [
        place for place, segment in enumerate(segments) if segment["speed"] > 0 and segment["end"] - segment["start"] > 1
    ]
    return min(travels, key=lambda place: segments[place]["start"], default=None)


def _measured(fields: Mapping[str, Array], view: View) -> Array:
    fps = view.fps * view.stride
    found = np.full((len(fields[ROWS]), len(MEASURES)), np.nan, np.float32)
    for clip, row in enumerate(fields[ROWS]):
        place = _stretch(row)
        if place is None:
            continue
        segment = row["actors"][0]["segments"][place]
        frames = slice(segment["start"], segment["end"])
        joints = fields["joints"][clip, 0, frames]
        steps = steps_of(fields["contact"][clip, 0, frames], fps)
        speed = speed_of(joints[:, JOINTS.index("pelvis")], fps)
        found[clip] = speed, steps, energy_of(joints, fps), len(joints) / fps
    return found


def _numbers(fields: Mapping[str, Array], view: View) -> Array:
    fps = view.fps * view.stride
    actors = [row["actors"][0] for row in fields[ROWS]]
    told = [
        [actor["stature"], actor["age"], actor["male"], row["length"] / fps]
        for actor, row in zip(actors, fields[ROWS], strict=True)
    ]
    return np.array(told, np.float32).reshape(-1, 4)


def _words(fields: Mapping[str, Array], view: View) -> Array:
    """For each caption what it says of the stretch: its action, the person's style, its pace; numbers that stand for words, 0
    where it does not say, -1 where there is no caption.
    """
    del view
    found = np.full((len(fields[ROWS]), MOST_CAPTIONS, 3), -1, np.int32)
    for clip, row in enumerate(fields[ROWS]):
        stretch = _stretch(row)
        for number, caption in enumerate(row["captions"][:MOST_CAPTIONS]):
            said = [word for word in caption["statements"] if word["actor"] == 0]
            of_stretch = {word["kind"]: word for word in said if word["segment"] == stretch}
            action = of_stretch["action"]["action"] if "action" in of_stretch else ""
            style = next((word["value"] for word in said if word["kind"] == "style"), "")
            pace = SPEEDS.index(of_stretch["speed"]["value"]) if "speed" in of_stretch else 0
            found[clip, number] = _number(action), _number(style), pace
    return found


def _number(word: str) -> int:
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % _NAMES if word else 0


MEASURED = Recipe("measured", 1, ("joints", "contact", ROWS), "float32", (len(MEASURES),), _measured)
"""Of the first stretch of the first actor; see :data:`MEASURES`. NaN where there is none, or nothing to measure."""

NUMBERS = Recipe("numbers", 1, (ROWS,), "float32", (4,), _numbers)
"""What is known without seeing: the first actor's stature in metres, years, whether he is a man, seconds of the clip."""

WORDS = Recipe("words", 1, (ROWS,), "int32", (MOST_CAPTIONS, 3), _words)
"""What each caption says of the stretch, by which the least error is computed that one who knows no more can have."""
