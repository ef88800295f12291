"""From a text that tells of two people at once, such as "two people shake hands", to a sample in which two of them do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posegen.captions.beats import kind_of_person
from posegen.captions.reading import Reading
from posegen.composition.scene import AGES, GROWN
from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library import Library
from posegen.planning.planning import plan
from posegen.scene import Persons
from posegen.synthesis import synthesize
from posegen.synthesis.batch import Batch
from posegen.wording import shown

__all__ = ["meeting_asked", "sample_of_two"]

_AT_ONCE, _MOST = 200, 2000
"""So many scenes are planned at a time, and in all, until two are found who are as asked."""


def meeting_asked(reading: Reading, library: Library) -> str | None:
    """Find the interaction that a text tells of; None where it tells of something else, or of more."""
    done: tuple[dict[str, None], dict[str, None]] = ({}, {})
    with_partner = {
        (claim["actor"], claim["segment"]) for claim in reading.statements if claim["kind"] == "partner" and claim["value"]
    }
    for claim in reading.statements:
        if claim["kind"] == "action":
            if (claim["actor"], claim["segment"]) not in with_partner:
                return None
            done[int(claim["actor"])][str(claim["action"])] = None
    wanted = tuple(done[0]), tuple(done[1])
    return next((name for name, interaction in library.interactions.items() if interaction.parts == wanted), None)


def sample_of_two(text: str, reading: Reading, name: str, library: Library, seed: int, seconds: float | None) -> Batch:
    """Find the first sample of a seed in which two people do an interaction and are who the text says.

    Parameters
    ----------
    text : str
    reading : Reading
    name : str
        Of the interaction.
    library : Library
    seed : int
    seconds : float or None

    Returns
    -------
    Batch
        Of one sample, its base variant alone.

    Raises
    ------
    UsageError
        If none is found: there is too little time for it, or bodies of such people do not fit one another.
    """
    kinds = {int(c["actor"]): str(c["value"]) for c in reading.statements if c["kind"] == "people" and int(c["actor"]) >= 0}
    config = _config(kinds, name, library, seed, seconds)
    for first in range(0, _MOST, _AT_ONCE):
        scenes = plan(config, library, np.arange(first, first + _AT_ONCE))
        fits = scenes.meets >= 0
        for actor, kind in kinds.items():
            fits &= [_kind(scenes.persons, i, actor) == kind for i in range(_AT_ONCE)]
        for sample in (first + np.flatnonzero(fits)).tolist():
            batch = synthesize(config, [sample])
            if batch.rows[0]["attempt"] == 0 and _tells(batch.rows[0], name, library):
                return batch
    msg = f"{shown(text)}: no two such people were found for it; ask for others, or for more time with --seconds"
    raise UsageError(msg)


def _config(kinds: Mapping[int, str], name: str, library: Library, seed: int, seconds: float | None) -> Config:
    ages = [AGES.get(kind, GROWN) for kind in kinds.values()] or [GROWN]
    asked: dict[str, Any] = {
        "seed": seed,
        "population": {"age": {"min": min(low for low, _ in ages), "max": max(high for _, high in ages)}},
        "story": {
            "actors": {"min": 2, "max": 2},
            "interactions": {"share": 1, "weights": {other: float(other == name) for other in library.interactions}},
        },
        "variants": {"speed": None, "position": None, "scale": None, "mirror": False},
    }
    if seconds is not None:
        asked["frames"] = max(round(seconds * Config().fps), 1)
    return Config.model_validate(asked)


def _kind(people: Persons, sample: int, actor: int) -> str:
    return kind_of_person(bool(people.male[sample, actor]), float(people.age[sample, actor]))


def _tells(row: Mapping[str, Any], name: str, library: Library) -> bool:
    """Whether all of the interaction is seen."""
    for actor, actions in zip(row["actors"], library.interactions[name].parts, strict=True):
        done = {
            segment["action"]
            for segment in actor["segments"]
            if any(claim["kind"] == "partner" for claim in segment["statements"])
        }
        if not done >= set(actions):
            return False
    return True
