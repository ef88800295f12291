"""All that captions depend on: the actors of each sequence, their segments, and the events that these form.

An event is a base segment, together with the arm action that overlays it where one clause states both ("walks while waving"),
or an arm action alone ("waves", of someone who stands, or "waves while seated").
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from posegen.captions.segments import SegmentFacts, Segments, segment_facts, segment_keys
from posegen.foundations.arrays import Array
from posegen.foundations.scene import Persons, Scenes
from posegen.library.load import Library
from posegen.planning.repertoire import NO_GAIT, repertoire

_GROWN, _OLDER = 16.0, 60.0
KINDS_OF_PEOPLE = ("girl", "boy", "woman", "man", "older_woman", "older_man")
_NONE = -1


class Actor(NamedTuple):
    """An actor of one sequence.

    `who` is boy, girl, man, woman, older_man or older_woman; `style` is empty for none, or where it is not visible; `complete`
    is as in :class:`posegen.captions.segments.Segments`. Its segments begin at number `first`; `events` are those with which an
    event begins, `major` those of them that a short caption states.
    """

    number: int
    who: str
    style: str
    complete: bool
    first: int
    events: list[int]
    major: list[int]


class CaptionInputs(NamedTuple):
    """All that the captions of some sequences depend on.

    Attributes
    ----------
    bounds : where the segments of each sequence begin
    facts, planned : of each segment; see :class:`posegen.captions.segments.Segments`
    key : of each segment; see :func:`posegen.captions.segments.segment_keys`
    over : for each segment, the number of the one that overlays it and is stated in the same clause; -1 for none
    during : for each segment, the number of the one that continues meanwhile without being stated again; -1 for none
    scene : of each sequence, what its words depend on in addition to its segments, as bytes
    whole : of each segment, 8 bytes: its planned segment, its role in an event, and its facts
    people : actors of all sequences, each of which has room for `most` and has `present`
    """

    bounds: list[int]
    facts: SegmentFacts
    planned: Array
    key: list[int]
    over: Array
    during: Array
    scene: list[bytes]
    whole: bytes
    people: list[Actor]
    most: int
    present: list[int]


def collect_inputs(scenes: Scenes, library: Library, segments: Segments) -> CaptionInputs:
    """Collect what captions depend on.

    Parameters
    ----------
    scenes : Scenes
    library : Library
    segments : Segments
        Of these scenes.

    Returns
    -------
    CaptionInputs
    """
    most, owner = scenes.action.shape[1], segments.owner
    opens, over, during = _events(segments, owner, library)
    unfinished = np.zeros(len(owner), bool)
    # The actor does not leave the seat before the arm action is over, so getting up is not stated with sitting down.
    unfinished[during[during >= 0]] = True
    who, style = _people(scenes, segments, owner, library)
    cast = np.stack([who, style, segments.complete], axis=-1).reshape(len(scenes), most * 3)
    scene = np.stack([scenes.sample, scenes.theme, scenes.actors], axis=1).astype(np.int64)
    facts, names = segment_facts(segments, library, unfinished), ["", *list(library.styles)[1:]]
    shape = (((segments.planned * most + owner % most) * 2 + opens) * 2 + (over >= 0)) * 2 + (during >= 0)
    minor = opens & _minor(library)[segments.action] & (over < 0)
    events, major = _by_actor(opens, segments.bounds), _by_actor(opens & ~minor, segments.bounds)
    people = map(
        Actor,
        list(range(most)) * len(scenes),
        [KINDS_OF_PEOPLE[number] for number in who.tolist()],
        [names[number] for number in style.tolist()],
        segments.complete.tolist(),
        segments.bounds.tolist(),
        events,
        # A short caption omits minor events, unless there are no others.
        [own or every for own, every in zip(major, events, strict=True)],
    )
    return CaptionInputs(
        bounds=segments.bounds[::most].tolist(),
        facts=facts,
        planned=segments.planned,
        key=segment_keys(segments, owner, most).tolist(),
        over=over,
        during=during,
        scene=[row.tobytes() for row in np.concatenate([scene, cast], axis=1)],
        whole=(shape * len(facts.distinct) + facts.number).tobytes(),
        people=list(people),
        most=most,
        present=scenes.actors.tolist(),
    )


def _by_actor(chosen: Array, bounds: Array) -> list[list[int]]:
    """Return the numbers of the chosen segments of each actor, whose segments begin at `bounds`."""
    rows = np.flatnonzero(chosen)
    begins, numbers = np.searchsorted(rows, bounds).tolist(), rows.tolist()
    return [numbers[first:last] for first, last in pairwise(begins)]


@lru_cache(maxsize=8)
def _minor(library: Library) -> Array:
    """Return which actions of a library a short caption may omit."""
    return np.array([bool(library.words["actions"][name].get("minor")) for name in library.actions])


def _events(segments: Segments, owner: Array, library: Library) -> tuple[Array, Array, Array]:
    """Return whether each segment begins an event, and the columns `over` and `during` of :class:`CaptionInputs`."""
    actions = repertoire(library)
    gait = actions.gait[segments.action] != NO_GAIT
    # The base segment before, which it may overlay.
    host = np.maximum.accumulate(np.where(segments.layered, _NONE, np.arange(len(owner))))
    inside = segments.layered & (host != _NONE) & (owner[host] == owner) & (segments.start < segments.end[host])
    walking = np.flatnonzero(inside & gait[host])
    hosts, first = np.unique(host[walking], return_index=True)
    over = np.full(len(owner), _NONE)
    # Standing while doing something with the arms is not stated.
    opens = segments.layered | (segments.action != actions.standing) | ~segments.covered
    over[hosts] = walking[first]
    opens[walking[first]] = False
    return opens, over, np.where(inside & actions.seated[segments.action[host]] & opens, host, _NONE)


def _people(scenes: Scenes, segments: Segments, owner: Array, library: Library) -> tuple[Array, Array]:
    """Return the kind of person and the style of each actor; 0 for no style, which is visible in standing and gaits only."""
    actions = repertoire(library)
    upright = (actions.gait != NO_GAIT) | (np.arange(len(actions.gait)) == actions.standing)
    visible = np.zeros(len(segments.complete), bool)
    visible[owner[upright[segments.action]]] = True
    return kinds_of_people(scenes.persons).ravel(), np.where(visible, scenes.persons.style.ravel(), 0)


def kinds_of_people(people: Persons) -> Array:
    """Return the index into :data:`KINDS_OF_PEOPLE` of each person."""
    return np.asarray(2 * ((people.age >= _GROWN).astype(np.int64) + (people.age >= _OLDER)) + people.male)
