"""Beats: what a caption has to say of each actor, one thing after another.

A beat is a base segment, together with the arm action that lies over it where they are best said in one breath ("walks
while waving"), or an arm action by itself ("waves", for someone who stands, or "waves while seated").
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.captions.facts import Facts, Known, facts_of, place_of
from posegen.captions.telling import Told
from posegen.library import Library
from posegen.planning.repertoire import NO_GAIT, Repertoire, repertoire
from posegen.scene import Scenes

__all__ = ["Actor", "Beats", "Casts", "casts_of", "kind_of_person"]

Array = NDArray[Any]

_GROWN, _OLDER = 16.0, 60.0
_WHO = ("girl", "boy", "woman", "man", "older_woman", "older_man")
_NONE = -1


class Beats(NamedTuple):
    """The told segments of some sequences as beats; arrays [segments].

    Attributes
    ----------
    opens : whether a beat begins with it; else it is told with another one, or not: who stands and waves is said to wave
    over : number of the segment that lies over it and is told in one breath with it, -1 for none
    during : number of the segment that goes on meanwhile without being said again, -1 for none
    """

    opens: Array
    over: Array
    during: Array


class Actor(NamedTuple):
    """An actor of one sequence.

    `who` is boy, girl, man, woman, older_man or older_woman; `style` is empty for who has none, or where none of it is seen;
    `complete` is as :class:`Told` has it. Its segments are those from number `first` on; `beats` are those that open a beat.
    """

    number: int
    who: str
    style: str
    complete: bool
    first: int
    beats: list[int]


class Casts(NamedTuple):
    """The actors of some sequences.

    Attributes
    ----------
    bounds : where the segments of each sequence begin
    facts : of the segments
    slot, place, over, during : of each segment; see :class:`Told`, :func:`place_of` and :class:`Beats`
    styled : whether a style shows in each sequence
    scene : of each sequence, what its words depend on beside its segments, as bytes
    shape, whole : of each segment, 8 bytes: in which slot it is, and how it is told as a beat; and that with its facts
    people : all actors, of whom each sequence has room for `most` and has `present`
    """

    bounds: list[int]
    facts: Known
    slot: Array
    place: list[int]
    over: list[int]
    during: list[int]
    styled: list[bool]
    scene: list[bytes]
    shape: bytes
    whole: bytes
    people: list[Actor]
    most: int
    present: list[int]

    def facts_of(self, segment: int) -> Facts:
        """Give what is to be said of a segment."""
        distinct, number = self.facts
        return distinct[int(number[segment])]

    def actors(self, i: int) -> list[Actor]:
        """List the actors of a sequence."""
        return self.people[i * self.most : i * self.most + self.present[i]]


def casts_of(scenes: Scenes, library: Library, told: Told) -> Casts:
    """Gather who acts in sequences, and what is to be said of them."""
    known, most, owner = repertoire(library), scenes.action.shape[1], told.owner
    beats = _beats(told, owner, known)
    unfinished = np.zeros(len(owner), bool)
    # The seat is not left before the arm action is over, so that getting up is not told with sitting down.
    unfinished[beats.during[beats.during >= 0]] = True
    who, style = _people(scenes, told, owner, known)
    cast = np.stack([who, style, told.complete], axis=-1).reshape(len(scenes), most * 3)
    scene = np.stack([scenes.sample, scenes.theme, scenes.actors], axis=1).astype(np.int64)
    facts, names = facts_of(told, library, unfinished), ["", *list(library.styles)[1:]]
    shape = (((told.slot * most + owner % most) * 2 + beats.opens) * 2 + (beats.over >= 0)) * 2 + (beats.during >= 0)
    return Casts(
        bounds=told.bounds[::most].tolist(),
        facts=facts,
        slot=told.slot,
        place=place_of(told, owner, most).tolist(),
        over=beats.over.tolist(),
        during=beats.during.tolist(),
        styled=[any(styles) for styles in style.reshape(-1, most).tolist()],
        scene=[row.tobytes() for row in np.concatenate([scene, cast], axis=1)],
        shape=shape.tobytes(),
        whole=(shape * len(facts.distinct) + facts.number).tobytes(),
        people=_actors(told, beats, who, [names[number] for number in style.tolist()], most),
        most=most,
        present=scenes.actors.tolist(),
    )


def _actors(told: Told, beats: Beats, who: Array, styles: list[str], most: int) -> list[Actor]:
    opening = np.flatnonzero(beats.opens)
    begins, opens = np.searchsorted(opening, told.bounds).tolist(), opening.tolist()
    own = [opens[first:last] for first, last in pairwise(begins)]
    numbers = list(range(most)) * (len(styles) // max(most, 1))
    people = [_WHO[number] for number in who.tolist()]
    return list(map(Actor, numbers, people, styles, told.complete.tolist(), told.bounds.tolist(), own))


def _beats(told: Told, owner: Array, known: Repertoire) -> Beats:
    gait = known.gait[told.action] != NO_GAIT
    # The base segment before, over which it may lie.
    host = np.maximum.accumulate(np.where(told.layered, _NONE, np.arange(len(owner))))
    inside = told.layered & (host != _NONE) & (owner[host] == owner) & (told.start < told.end[host])
    walking = np.flatnonzero(inside & gait[host])
    hosts, first = np.unique(host[walking], return_index=True)
    over, opens = np.full(len(owner), _NONE), told.layered | (told.action != known.standing) | ~told.covered
    over[hosts] = walking[first]
    opens[walking[first]] = False
    return Beats(opens, over, np.where(inside & known.seated[told.action[host]] & opens, host, _NONE))


def _people(scenes: Scenes, told: Told, owner: Array, known: Repertoire) -> tuple[Array, Array]:
    """Who each actor is, and of which style, 0 where none shows: it does on who is told to stand or go along."""
    people = scenes.persons
    upright = (known.gait != NO_GAIT) | (np.arange(len(known.gait)) == known.standing)
    shows = np.zeros(len(told.complete), bool)
    shows[owner[upright[told.action]]] = True
    grown = (people.age >= _GROWN).astype(np.int64) + (people.age >= _OLDER)
    return (2 * grown + people.male).ravel(), np.where(shows, people.style.ravel(), 0)


def kind_of_person(male: bool, age: float) -> str:
    """Give boy, girl, man, woman, older_man or older_woman."""
    return _WHO[2 * ((age >= _GROWN) + (age >= _OLDER)) + male]
