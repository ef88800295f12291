"""Beats: what a caption has to say of each actor, one thing after another.

A beat is a base segment, together with the arm action that lies over it where they are best said in one breath ("walks
while waving"), or an arm action by itself ("waves", for someone who stands, or "waves while seated").
"""

from __future__ import annotations

from typing import NamedTuple

from posegen.library import Library
from posegen.scene import Scenes
from posegen.story.facts import Facts, facts_from, unfinished
from posegen.story.repertoire import repertoire
from posegen.story.telling import Told

__all__ = ["Actor", "Beat", "Casts", "Segment", "facts_of", "kind_of_person"]

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


class Casts:
    """The actors of each of some sequences, made when they are asked for."""

    def __init__(self, scenes: Scenes, library: Library, told: Told) -> None:
        known = repertoire(library)
        gaits = (known.gait > 0).tolist()
        self._told, self._most = told, scenes.action.shape[1]
        self._known = (known.standing, known.seated.tolist(), gaits)
        self._facts = facts_of(told, library)
        self._upright = [gait or action == known.standing for action, gait in enumerate(gaits)]
        self._styles = ["", *list(library.styles)[1:]]
        persons = scenes.persons
        self._people = (scenes.actors.tolist(), persons.male.tolist(), persons.age.tolist(), persons.style.tolist())
        self._themes = scenes.theme.tolist()

    def all_of(self, i: int) -> tuple[object, ...]:
        """Give all that the words of a sequence depend on, beside the draws: sequences where it is equal are worded alike."""
        told, first = self._told, i * self._most
        bounds = told.bounds[first : first + self._most + 1]
        low, high = bounds[0], bounds[-1]
        columns = (self._facts, told.slot, told.layered, told.covered, told.start, told.end)
        return (
            *[column[low:high] for column in columns],
            [bound - low for bound in bounds],
            told.complete[first : first + self._most],
            [column[i] for column in self._people],
            self._themes[i],
        )

    def actors(self, i: int) -> tuple[Actor, ...]:
        """List the actors of a sequence with their beats."""
        told, (actors, male, age, style) = self._told, self._people
        cast = []
        for a in range(actors[i]):
            row = i * self._most + a
            first, last = told.bounds[row], told.bounds[row + 1]
            beats = _beats(told, self._facts, first, last, self._known)
            who = kind_of_person(male[i][a], age[i][a])
            cast.append(Actor(a, who, self._style(style[i][a], first, last), told.complete[row], beats))
        return tuple(cast)

    def _style(self, style: int, first: int, last: int) -> str:
        """Name the style of who has one and is told to stand or go along, where it shows; empty for the others."""
        if not style:
            return ""
        seen = any(self._upright[action] for action in self._told.action[first:last])
        return self._styles[style] if seen else ""


def kind_of_person(male: bool, age: float) -> str:
    """Give boy, girl, man, woman, older_man or older_woman."""
    if age < _GROWN:
        return "boy" if male else "girl"
    return ("older_" if age >= _OLDER else "") + ("man" if male else "woman")


def facts_of(told: Told, library: Library) -> list[Facts]:
    """List what is to be said of each told segment."""
    seated = repertoire(library).seated.tolist()
    counted = [times if exact else 0 for times, exact in zip(told.repetitions, told.exact, strict=True)]
    ended = [end and seated[action] for action, end in zip(told.action, told.finished, strict=True)]
    rows = zip(told.action, told.side, counted, told.pace, told.path, told.direction, ended, told.together, strict=True)
    return [facts_from(row) for row in rows]


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
            beats[place] = Beat(host._replace(facts=unfinished(host.facts)), None, None)
            beats.append(Beat(segment, None, host))
        else:
            beats.append(Beat(segment, None, None))
    return tuple(beats)
