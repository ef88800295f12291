"""The rows of the table of sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posegen.library import Library
from posegen.scene import Scenes
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
    columns = (
        persons.index,
        persons.stature,
        persons.age,
        persons.male,
        persons.left_handed,
        persons.style,
        scenes.seat_height,
    )
    actors = zip(*(column.ravel().tolist() for column in columns), strict=True)
    everybody = [
        {
            "person": person,
            "stature": stature,
            "age": age,
            "male": male,
            "left_handed": left_handed,
            "style": styles[style],
            "seat_height": seat_height,
        }
        for person, stature, age, male, left_handed, style, seat_height in actors
    ]
    most = scenes.action.shape[1]
    for i, cast in enumerate(segments):
        for a, told in enumerate(cast):
            everybody[i * most + a]["segments"] = told
    return [everybody[i * most : i * most + len(cast)] for i, cast in enumerate(segments)]


def sequence_rows(
    name: str, scenes: Scenes, library: Library, parameters: list[Row], described: Described, attempt: int, fps: int
) -> list[Row]:
    """Make the rows of one variant."""
    themes = list(library.themes)
    numbers = (scenes.sample, scenes.theme, scenes.length, (scenes.length / np.float32(fps)).astype(np.float32))
    columns = (*(column.tolist() for column in numbers), parameters)
    said = (described.captions, described.actors, described.dropped)
    return [
        {
            "sample": sample,
            "variant": name,
            "theme": themes[theme],
            "length": length,
            "duration": duration,
            "captions": captions,
            "actors": actors,
            "parameters": own_parameters,
            "attempt": attempt,
            "dropped": dropped,
        }
        for sample, theme, length, duration, own_parameters, captions, actors, dropped in zip(*columns, *said, strict=True)
    ]
