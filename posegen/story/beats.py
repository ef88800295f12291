"""Beats: what a caption has to say of each actor, one thing after another.

A beat is a base segment, together with the arm action that lies over it where they are best said in one breath ("walks
while waving"), or an arm action by itself ("waves", for someone who stands, or "waves while seated").
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from posegen.library import Library
from posegen.scene import Scenes
from posegen.story.grammar import Facts
from posegen.story.repertoire import repertoire
from posegen.story.telling import Told

__all__ = ["Actor", "Beat", "Segment", "actors_of", "facts_of"]

_GROWN, _OLDER = 16.0, 60.0


class Segment(NamedTuple):
    """A told segment: its number among the actor's, the number of its slot, and what is to be said of it."""

    number: int
    slot: int
    facts: Facts


class Beat(NamedTuple):
    """A segment, the one that lies over it, and the one that goes on meanwhile without being said again."""

    segment: Segment
    over: Segment | None
    during: Segment | None


class Actor(NamedTuple):
    """An actor of one sequence.

    `who` is boy, girl, man, woman, older_man or older_woman; `style` is empty for who has none, or where none of it is seen;
    `complete` is as :class:`Told` has it.
    """

    number: int
    who: str
    style: str
    complete: bool
    beats: tuple[Beat, ...]


def actors_of(scenes: Scenes, library: Library, told: Told) -> list[tuple[Actor, ...]]:
    """List the actors of each sequence with their beats."""
    known = repertoire(library)
    seated, standing = known.seated.tolist(), known.standing
    gaits = (known.gait > 0).tolist()
    bounds, most = told.bounds, scenes.action.shape[1]
    facts = facts_of(told, library)
    male, age = scenes.persons.male.tolist(), scenes.persons.age.tolist()
    styles = _styles_seen(scenes, library, told, [gait or action == standing for action, gait in enumerate(gaits)])
    return [
        tuple(
            Actor(
                a,
                _who(male[i][a], age[i][a]),
                styles[i * most + a],
                told.complete[i * most + a],
                _beats(told, facts, bounds[i * most + a], bounds[i * most + a + 1], (standing, seated, gaits)),
            )
            for a in range(actors)
        )
        for i, actors in enumerate(scenes.actors.tolist())
    ]


def _who(male: bool, age: float) -> str:
    if age < _GROWN:
        return "boy" if male else "girl"
    return ("older_" if age >= _OLDER else "") + ("man" if male else "woman")


def _styles_seen(scenes: Scenes, library: Library, told: Told, upright: list[bool]) -> list[str]:
    """Name the style of each actor who has one and is told to stand or go along, where it shows; empty for the others."""
    names, bounds, actions = ["", *list(library.styles)[1:]], told.bounds, told.action
    return [
        names[style] if style and any(upright[action] for action in actions[bounds[i] : bounds[i + 1]]) else ""
        for i, style in enumerate(scenes.persons.style.reshape(-1).tolist())
    ]


def facts_of(told: Told, library: Library) -> list[Facts]:
    """List what is to be said of each told segment."""
    seated = repertoire(library).seated.tolist()
    counted = [times if exact else 0 for times, exact in zip(told.repetitions, told.exact, strict=True)]
    ended = [end and seated[action] for action, end in zip(told.action, told.finished, strict=True)]
    rows = zip(told.action, told.side, counted, told.pace, told.path, told.direction, ended, told.together, strict=True)
    return [_facts(row) for row in rows]


@lru_cache(maxsize=1 << 13)
def _facts(row: tuple[int, int, int, int, int, int, bool, bool]) -> Facts:
    """Make facts; equal ones are one object, so that there are few."""
    return Facts(*row[:7], style="", together=row[7])


def _beats(
    told: Told, facts: list[Facts], first: int, last: int, known: tuple[int, list[bool], list[bool]]
) -> tuple[Beat, ...]:
    standing, seated, gaits = known
    beats: list[Beat] = []
    host, host_end, place = None, 0, 0
    for row in range(first, last):
        segment = Segment(row - first, told.slot[row], facts[row])
        if not told.layered[row]:
            host, host_end, place = segment, told.end[row], len(beats)
            # Who stands and waves is said to wave.
            if segment.facts.action != standing or not told.covered[row]:
                beats.append(Beat(segment, None, None))
        elif host is not None and told.start[row] < host_end and gaits[host.facts.action] and beats[place].over is None:
            beats[place] = Beat(host, segment, None)
        elif host is not None and told.start[row] < host_end and seated[host.facts.action]:
            # The seat is not left before the arm action is over, so that getting up is not told with sitting down.
            beats[place] = Beat(host._replace(facts=host.facts._replace(finished=False)), None, None)
            beats.append(Beat(segment, None, host))
        else:
            beats.append(Beat(segment, None, None))
    return tuple(beats)
