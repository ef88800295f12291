"""From a text to what it claims: the longest known phrase at each word, taken from left to right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from posegen.captions.grammar import Statement
from posegen.captions.reading.lexicon import ANY, PIECES, Lexicon, Mark, lexicon_of
from posegen.library import Library

__all__ = ["Reading", "Unknown", "read_caption"]

_ENDS = frozenset(".;!?")


class Unknown(NamedTuple):
    """Words that were not understood, as written; `about` is the action that they were said of, or empty."""

    text: str
    about: str


class Reading(NamedTuple):
    """What a text says.

    Attributes
    ----------
    statements : list of dict
        As captions make them; segments are numbered as mentioned, for each actor from 0.
    unknown : list of str
        Stretches of the text that were not understood, as written.
    misplaced : list of Unknown
        Phrases that are known, but cannot be said of the action that they stand with; they are in `unknown`, too.
    place : str
        The theme of the place that is named, or empty.
    """

    statements: list[Statement]
    unknown: list[str]
    misplaced: list[Unknown]
    place: str


@dataclass
class _State:
    """Where the reader is: who does what, and what was said before its verb."""

    lexicon: Lexicon
    text: str
    claims: list[Statement] = field(default_factory=list)
    unknown: list[tuple[int, int]] = field(default_factory=list)
    misplaced: list[Unknown] = field(default_factory=list)
    place: str = ""
    actor: int = 0
    subject: Mark | None = None
    named: bool = False
    several: int = 0
    # Whether what comes next is told of two at once, who the two are, and whether they have met.
    both: bool = False
    pair: tuple[str, str] = ("", "")
    met: bool = False
    # Of the clause that is being read:
    link: str = ""
    subordinate: bool = False
    open: bool = False
    waiting: list[tuple[tuple[int, int], list[Mark]]] = field(default_factory=list)
    # Of each actor: actions of its segments, the last one told for itself, and what was claimed of that.
    actions: dict[int, list[str]] = field(default_factory=dict)
    current: dict[int, int] = field(default_factory=dict)
    hosts: dict[int, int] = field(default_factory=dict)


def read_caption(text: str, library: Library) -> Reading:
    """Read a caption, or a text like one, by the words of the library's language.

    Parameters
    ----------
    text : str
    library : Library

    Returns
    -------
    Reading

    Examples
    --------
    >>> from posegen.library import load_library
    >>> reading = read_caption("a man walks slowly, then frobs", load_library())
    >>> reading.unknown
    ['frobs']
    >>> [(s["kind"], s["value"]) for s in reading.statements if s["action"] == "walk"]
    [('action', ''), ('speed', 'slow')]
    """
    pieces = [(match.group().lower(), match.span()) for match in PIECES.finditer(text)]
    words = [word for word, _ in pieces]
    state = _State(lexicon_of(library), text)
    at = 0
    while at < len(words):
        length = state.lexicon.longest(words, at)
        span = pieces[at][1][0], pieces[at + max(length, 1) - 1][1][1]
        marks = state.lexicon.phrases[tuple(words[at : at + length])] if length else []
        if words[at] in _ENDS and length <= 1:
            _end(state)
        elif not _take(state, marks, span) and words[at][0].isalnum():
            state.unknown.append(span)
        at += max(length, 1)
    _settle(state)
    for span, _ in state.waiting:
        state.unknown.append(span)
    return Reading(_with_people(state), _quoted(state), state.misplaced, state.place)


def _take(state: _State, marks: list[Mark], span: tuple[int, int]) -> bool:
    """Take a phrase for the first thing that it can mean here; whether there is one."""
    by_sort = {mark.sort: mark for mark in reversed(marks)}
    if _take_both(state, by_sort):
        return True
    if "verb" in by_sort:
        _act(state, by_sort["verb"].action, by_sort["verb"].claims)
        return True
    if "goes_on" in by_sort:
        return _go_on(state)
    details = [mark for mark in marks if mark.sort == "detail"]
    if details:
        state.waiting.append((span, details))
        if state.open:
            _settle(state)
        return True
    if "during" in by_sort:
        return _meanwhile(state, by_sort["during"].action)
    if "subject" in by_sort and state.subject is None and state.actor == 0:
        state.subject, state.named = by_sort["subject"], True
        return _begin(state, _next_link(state, state.link))
    if "person" in by_sort:
        state.actor, state.several = by_sort["person"].number, max(state.several, by_sort["person"].number + 1)
        state.both = False
        return _begin(state, "then" if state.met else "")
    return _take_link(state, by_sort, [mark.who for mark in marks if mark.sort in ("again", "subject")])


def _take_both(state: _State, by_sort: dict[str, Mark]) -> bool:
    """Take a phrase for something told of two at once; whether it is."""
    if "joint" in by_sort and state.both:
        return _meet(state, by_sort["joint"].action)
    if "pair" in by_sort and not state.actions:
        state.both, state.several = True, 2
        state.pair = by_sort["pair"].who, by_sort["pair"].other
        return True
    if "both" in by_sort and (state.several == 2 or len(by_sort) == 1):
        state.both = state.several == 2
        return _begin(state, "then")
    return False


def _meet(state: _State, name: str) -> bool:
    """Let two do something with one another, each its own part of it."""
    link = state.link
    for who, actions in enumerate(state.lexicon.meetings[name]):
        state.actor = who
        for number, action in enumerate(actions):
            state.link = "" if number else link
            _act(state, action, (("action", ""), ("partner", "")))
    state.met = True
    return True


def _take_link(state: _State, by_sort: dict[str, Mark], again: list[str]) -> bool:
    if "after" in by_sort:
        state.subordinate = True
        return _begin(state, state.link)
    if "then" in by_sort:
        return _begin(state, "then")
    if "while" in by_sort:
        return _begin(state, "while")
    if "list" in by_sort:
        return _begin(state, _next_link(state, state.link or "list"))
    if "people" in by_sort:
        state.several = by_sort["people"].number
        state.both = state.several == 2
        return True
    if "place" in by_sort:
        state.place = by_sort["place"].action
        return True
    if again:
        # A second person would be one that the text does not count.
        return state.subject is None or state.subject.who in again or "" in again
    return "filler" in by_sort


def _begin(state: _State, link: str) -> bool:
    """Be ready for the next verb."""
    state.link, state.open = link, False
    return True


def _next_link(state: _State, link: str) -> str:
    """Link of the next verb: behind "after walking" comes what is done then."""
    if not state.subordinate or not state.actions.get(state.actor):
        return link
    state.subordinate = False
    return "then"


def _end(state: _State) -> None:
    """Close a sentence: what comes next is done next."""
    _settle(state)
    _begin(state, "then")


def _act(state: _State, action: str, claims: tuple[tuple[str, str], ...]) -> None:
    """Begin a segment."""
    actions = state.actions.setdefault(state.actor, [])
    number, before = len(actions), state.current.get(state.actor)
    actions.append(action)
    for kind, value in claims:
        _claim(state, kind, number, value)
    if state.link == "while" and before is not None:
        _claim(state, "order", number, f"during {before}")
    else:
        if state.link == "then" and before is not None:
            _claim(state, "order", number, f"after {before}")
        state.current[state.actor] = number
    state.open = True
    _settle(state)
    state.link = ""


def _claim(state: _State, kind: str, segment: int, value: str) -> None:
    action = state.actions[state.actor][segment]
    if kind == "partner":
        value = str(1 - state.actor)  # the first two meet
    state.claims.append({"actor": state.actor, "kind": kind, "segment": segment, "action": action, "value": value})


def _settle(state: _State) -> None:
    """Give what is waiting to the segment told last."""
    actions = state.actions.get(state.actor)
    if not actions:
        return
    for span, marks in state.waiting:
        mark = next((mark for mark in marks if _fits(state, mark, actions[-1])), None)
        if mark is None:
            state.unknown.append(span)
            state.misplaced.append(Unknown(state.text[slice(*span)], actions[-1]))
        else:
            for kind, value in mark.claims:
                _claim(state, kind, len(actions) - 1, value)
    state.waiting.clear()


def _fits(state: _State, mark: Mark, action: str) -> bool:
    if mark.action != ANY:
        return mark.action == action
    words = state.lexicon.actions[action]
    kind = mark.claims[0][0]
    if kind in ("count", "style"):
        return bool(words.get("count" if kind == "count" else "manner"))
    return mark.claims[0][1] in words.get(kind, {})


def _go_on(state: _State) -> bool:
    """Do the same again, with all that was claimed of it but the style, which is told once."""
    number = state.current.get(state.actor)
    if number is None:
        return False
    claims = [
        (str(claim["kind"]), str(claim["value"]))
        for claim in state.claims
        if claim["actor"] == state.actor and claim["segment"] == number and claim["kind"] not in ("order", "style")
    ]
    _act(state, state.actions[state.actor][number], tuple(claims))
    return True


def _meanwhile(state: _State, host: str) -> bool:
    """Tell the last segment as done during an earlier one, such as on a seat."""
    actions = state.actions.get(state.actor, [])
    hosts = [number for number, action in enumerate(actions[:-1]) if action == host]
    if hosts:
        _claim(state, "order", len(actions) - 1, f"during {hosts[-1]}")
    return bool(hosts)


def _with_people(state: _State) -> list[Statement]:
    people: list[Statement] = []
    if state.several or state.named:
        people.append(_of_scene(-1, "people", str(max(state.several, 1))))
    people += [_of_scene(number, "people", who) for number, who in enumerate(state.pair) if who]
    if state.subject is not None and not state.several:
        if state.subject.who:
            people.append(_of_scene(0, "people", state.subject.who))
        if state.subject.style:
            people.append(_of_scene(0, "style", state.subject.style))
    return people + state.claims


def _of_scene(actor: int, kind: str, value: str) -> Statement:
    return {"actor": actor, "kind": kind, "segment": -1, "action": "", "value": value}


def _quoted(state: _State) -> list[str]:
    """Quote what was not understood; what stands side by side is one stretch."""
    stretches: list[list[int]] = []
    for first, last in sorted(state.unknown):
        if stretches and not state.text[stretches[-1][1] : first].strip():
            stretches[-1][1] = last
        else:
            stretches.append([first, last])
    return [state.text[first:last] for first, last in stretches]
