"""Scripts: what a text asks of each person, as actions that one body can perform one after another.

Not responsible for how long they take, see :mod:`posegen.synthesis.script_scene`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from posegen.captions.parser import ParsedCaption
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import shown
from posegen.library.load import Library
from posegen.planning.repertoire import repertoire

MOST_PEOPLE = 9
"""In a scene of a text; as many are numbered in captions."""
STARTS = {"lying": "lie_down", "sitting": "sit", "kneeling": "kneel"}
"""Postures that a person gets up from, and actions that end in them."""
_DETAILS = ("start", "side", "count", "speed", "direction", "degrees", "path", "style", "steps", "distance")


@dataclass(frozen=True)
class Part:
    """One action of a script.

    Attributes
    ----------
    action : its name
    number : number of its segment in the text
    finished : whether its end is stated, too
    asked : value of each kind of detail that the text states
    over : actions of the arms at the same time, one after another
    """

    action: str
    number: int
    finished: bool = False
    asked: dict[str, str] = field(default_factory=dict)
    over: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Script:
    """Actions of one person: `who` and `style` are empty for any; `place` is a theme, or empty.

    `start` is the action whose pose the person has in the first frame, and gets up from; empty for standing.
    """

    who: str
    style: str
    place: str
    parts: tuple[Part, ...]
    start: str = ""


def make_scripts(parsed: ParsedCaption, library: Library) -> tuple[list[Script], list[str]]:
    """Make the script of each person from what a text states.

    Parameters
    ----------
    parsed : ParsedCaption
    library : Library

    Returns
    -------
    list of Script
        Of each person. Who is said to do nothing of their own does what the first one does, or stands where it is done to them.
    list of str
        Messages on actions that one body cannot do at the same time; they follow each other.

    Raises
    ------
    UsageError
        If the text describes more people than a scene has, people who interact beside other actions, or a person with two
        styles.
    """
    counts = (str(s["value"]) for s in parsed.statements if s["kind"] == "people" and int(s["actor"]) < 0)
    people = max((int(value) for value in counts if value.isdigit()), default=1)
    if people > MOST_PEOPLE:
        raise UsageError(f"the text describes {people} people: describe at most {MOST_PEOPLE}")
    if any(statement["kind"] == "partner" for statement in parsed.statements):
        several = "the text describes people who interact and do something else"
        raise UsageError(f"{several}: describe an interaction alone, as in 'two people shake hands'")
    active = {int(statement["actor"]) for statement in parsed.statements if statement["kind"] == "action"}
    made = [_make_script(_of_person(parsed, who, who if who in active else 0), library) for who in range(people)]
    if any(statement["kind"] == "other" for statement in parsed.statements):
        idle = (Part(library.actions[repertoire(library).standing], -1),)
        made = [own if who in active else (replace(own[0], parts=idle, start=""), []) for who, own in enumerate(made)]
    return [script for script, _ in made], list(dict.fromkeys(note for _, notes in made for note in notes))


def _of_person(parsed: ParsedCaption, who: int, doing: int) -> ParsedCaption:
    """Return what a text states of a person who does what person `doing` does."""
    own = [s for s in parsed.statements if int(s["actor"]) == (who if int(s["segment"]) < 0 else doing)]
    return parsed._replace(statements=own, single=frozenset((0, number) for actor, number in parsed.single if actor == doing))


def _make_script(parsed: ParsedCaption, library: Library) -> tuple[Script, list[str]]:
    """Make the script of one person; arm actions without a base action overlay standing, or the seat that was taken before."""
    people = [str(statement["value"]) for statement in parsed.statements if statement["kind"] == "people"]
    parts, during = _parts(parsed)
    styles = [str(s["value"]) for s in parsed.statements if s["kind"] == "style" and int(s["segment"]) < 0]
    styles += [part.asked["style"] for part in parts.values() if "style" in part.asked]
    if len(set(styles)) > 1:
        other = next(style for style in styles if style != styles[0])
        raise UsageError(f"the text describes a person who is both {styles[0]} and {other}: state one of them")
    who = [value for value in people if not value.isdigit()]
    overlaid, notes = _overlaid(parts, during, library)
    first, standing = overlaid[0], library.actions[repertoire(library).standing]
    start = STARTS.get(first.asked.get("start", ""), "") if first.action == standing else ""
    start = start if start in library.actions else ""
    made = _with_bases(overlaid, library)
    return Script(who[0] if who else "", styles[0] if styles else "", parsed.place, made, start), notes


def _parts(parsed: ParsedCaption) -> tuple[dict[int, Part], dict[int, int]]:
    """Return what is stated of each segment; and for segments during another one, the number of that one."""
    actions: dict[int, str] = {}
    finished: set[int] = set()
    asked: dict[int, dict[str, str]] = {}
    during: dict[int, int] = {}
    for statement in parsed.statements:
        number, kind, value = int(statement["segment"]), str(statement["kind"]), str(statement["value"])
        if number < 0:
            continue
        action, own = actions.setdefault(number, str(statement["action"])), asked.setdefault(number, {})
        if kind == "action" and value == "finished":
            finished.add(number)
        elif kind == "order" and value.startswith("during"):
            during[number] = int(value.split()[1])
        elif kind in _DETAILS and (before := own.setdefault(kind, value)) != value:
            raise UsageError(f"{shown(action)} has two values of {kind}, {before} and {value}: state one of them")
    for number, own in asked.items():
        if (0, number) in parsed.single:
            own.setdefault("count", "1")
    return {number: Part(action, number, number in finished, asked[number]) for number, action in actions.items()}, during


def _overlaid(parts: dict[int, Part], during: dict[int, int], library: Library) -> tuple[list[Part], list[str]]:
    """Overlay simultaneous actions on each other; the actions determine which of the two carries the body.

    What one body cannot do at the same time follows each other, with a message.
    """
    actions, done, notes = repertoire(library), dict(parts), []
    for number, host in during.items():
        if host not in done or number not in done:
            continue
        upper, lower = done[number], done[host]
        first, then = (lower, upper) if host < number else (upper, lower)
        if upper.action == lower.action or _turns(upper, lower, library):
            # Who walks while turning walks a curve, and "steps over it while walking" is one walk.
            path = {"path": str(upper.asked.get("direction", "left"))} if upper.action != lower.action else upper.asked
            done[host] = replace(lower, asked=path | lower.asked)
            del done[number]
            continue
        if not actions.layered[library.index(upper.action)]:
            upper, lower = lower, upper
        below, above = library.index(lower.action), library.index(upper.action)
        if actions.layered[above] and not actions.layered[below] and actions.host[below]:
            del done[upper.number]
            done[lower.number] = replace(lower, over=(*lower.over, upper))
            # What is done during the upper one is done during the lower one.
            during.update({own: lower.number for own, other in during.items() if other == upper.number})
        else:
            why = "each needs the whole body" if not actions.layered[above] else "both need the arms"
            notes.append(f"{shown(first.action)} and {shown(then.action)} follow each other: {why}")
    return [done[number] for number in sorted(done)], notes


def _turns(upper: Part, lower: Part, library: Library) -> bool:
    """Return whether a turn can be the path of a gait."""
    return library.action(upper.action).gait == "step" and bool(library.words["actions"][lower.action].get("path"))


def _with_bases(parts: list[Part], library: Library) -> tuple[Part, ...]:
    """Give arm actions without a base action something to overlay: standing, or the seat taken before."""
    actions = repertoire(library)
    based: list[Part] = []
    for part in parts:
        if actions.base[library.index(part.action)]:
            based.append(part)
            continue
        last = based[-1] if based else None
        if last is not None and (last.number < 0 or (actions.seated[library.index(last.action)] and not last.finished)):
            based[-1] = replace(last, over=(*last.over, part))
        else:
            based.append(Part(library.actions[actions.standing], -1, over=(part,)))
    return tuple(based)
