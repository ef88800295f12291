"""The rows of the table of sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posegen.library import Library
from posegen.scene import Scenes
from posegen.story.variants import VariantParameters
from posegen.synthesis.batch import Row

__all__ = ["Described", "actor_rows", "sequence_rows"]


@dataclass(frozen=True)
class Described:
    """What is said of the sequences of one variant: captions, actors, and the statements that were dropped, each [n]."""

    captions: list[list[Row]]
    actors: list[list[Row]]
    dropped: list[list[Row]]


def actor_rows(scenes: Scenes, library: Library, segments: list[list[list[Row]]]) -> list[list[Row]]:
    """Say who plays each actor of each sequence, and what it does: its told segments."""
    persons, styles = scenes.persons, list(library.styles)
    columns = {
        "person": persons.index.tolist(),
        "stature": persons.stature.tolist(),
        "age": persons.age.tolist(),
        "male": persons.male.tolist(),
        "left_handed": persons.left_handed.tolist(),
        "style": [[styles[style] for style in row] for row in persons.style.tolist()],
        "seat_height": scenes.seat_height.tolist(),
    }
    names = list(columns)
    return [
        [
            {**dict(zip(names, (columns[name][i][a] for name in names), strict=True)), "segments": told}
            for a, told in enumerate(cast)
        ]
        for i, cast in enumerate(segments)
    ]


def sequence_rows(
    name: str, scenes: Scenes, library: Library, parameters: VariantParameters, described: Described, attempt: int, fps: int
) -> list[Row]:
    """Make the rows of one variant."""
    one, zero = np.ones_like(parameters.speed), np.zeros_like(parameters.speed)
    speed = (parameters.speed if name == "speed" else one).tolist()
    scale = (parameters.scale if name == "scale" else one).tolist()
    x, z = ((o if name == "position" else zero).tolist() for o in (parameters.offset_x, parameters.offset_z))
    lengths, seconds = scenes.length.tolist(), (scenes.length / np.float32(fps)).astype(np.float32).tolist()
    themes, theme = list(library.themes), scenes.theme.tolist()
    return [
        {
            "sample": sample,
            "variant": name,
            "theme": themes[theme[i]],
            "length": lengths[i],
            "duration": seconds[i],
            "captions": described.captions[i],
            "actors": described.actors[i],
            "parameters": {
                "speed": speed[i],
                "scale": scale[i],
                "offset_x": x[i],
                "offset_z": z[i],
                "mirrored": name == "mirror",
            },
            "attempt": attempt,
            "dropped": described.dropped[i],
        }
        for i, sample in enumerate(scenes.sample.tolist())
    ]
