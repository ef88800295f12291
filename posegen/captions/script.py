"""Script: what a parsed text asks one person to do, in order or at the same time, without contradictions.

:mod:`posegen.captions.script_scene` plans the scene of a script.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from posegen.captions.parser import ParsedCaption
from posegen.errors import UsageError
from posegen.library.load import Library
from posegen.planning.repertoire import Repertoire, repertoire
from posegen.wording import shown

__all__ = ["Part", "Script", "make_script"]

_DETAILS = ("side", "count", "speed", "direction", "path", "style")


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
    """Actions of one person: `who` and `style` are empty for any; `place` is a theme, or empty."""

    who: str
    style: str
    place: str
    parts: tuple[Part, ...]


def make_script(parsed: ParsedCaption, library: Library) -> Script:
    """Make a script from what a text states.

    Parameters
    ----------
    parsed : ParsedCaption
    library : Library

    Returns
    -------
    Script
        Arm actions without a base action overlay standing, or the seat that was taken before.

    Raises
    ------
    UsageError
        If the text describes several people, contradicts itself, or asks for two simultaneous actions that one body cannot do.
    """
    people = [str(statement["value"]) for statement in parsed.statements if statement["kind"] == "people"]
    if any(value.isdigit() and int(value) > 1 for value in people):
        msg = (
            "the text describes several people who do more than interact: describe one person, "
            "or an interaction alone, as in 'two people shake hands'"
        )
        raise UsageError(msg)
    styles = [str(s["value"]) for s in parsed.statements if s["kind"] == "style" and int(s["segment"]) < 0]
    actions = repertoire(library)
    parts, during = _parts(parsed)
    styles += [part.asked["style"] for part in parts.values() if "style" in part.asked]
    if len(set(styles)) > 1:
        other = next(style for style in styles if style != styles[0])
        msg = f"the text describes somebody who is both {styles[0]} and {other}: state one of them"
        raise UsageError(msg)
    who = [value for value in people if not value.isdigit()]
    based = _with_bases(_overlaid(parts, during, actions, library), actions, library)
    return Script(who[0] if who else "", styles[0] if styles else "", parsed.place, based)


def _parts(parsed: ParsedCaption) -> tuple[dict[int, Part], dict[int, int]]:
    """Return what is stated of each segment; and for segments during another one, the number of that one."""
    parts: dict[int, Part] = {}
    during: dict[int, int] = {}
    for statement in parsed.statements:
        number, kind, value = int(statement["segment"]), str(statement["kind"]), str(statement["value"])
        if number < 0:
            continue
        part = parts.setdefault(number, Part(str(statement["action"]), number))
        if kind == "action":
            parts[number] = replace(part, finished=part.finished or value == "finished")
        elif kind == "order" and value.startswith("during"):
            during[number] = int(value.split()[1])
        elif kind in _DETAILS:
            before = part.asked.get(kind, value)
            if before != value:
                msg = f"{shown(part.action)} has two values of {kind}, {before} and {value}: state one of them"
                raise UsageError(msg)
            parts[number] = replace(part, asked=part.asked | {kind: value})
    return parts, during


def _overlaid(parts: dict[int, Part], during: dict[int, int], actions: Repertoire, library: Library) -> list[Part]:
    """Overlay simultaneous actions on each other; the actions determine which of the two carries the body."""
    done = dict(parts)
    for number, host in during.items():
        upper, lower = done.pop(number), done[host]
        if not actions.layered[library.index(upper.action)]:
            upper, lower = lower, upper
        _check_overlay(upper, lower, actions, library)
        done[host] = replace(lower, over=(*lower.over, upper))
    return [done[number] for number in sorted(done)]


def _check_overlay(upper: Part, lower: Part, actions: Repertoire, library: Library) -> None:
    below, above = library.index(lower.action), library.index(upper.action)
    one, other = shown(lower.action), shown(upper.action)
    if not actions.layered[above]:
        msg = (
            f"{one} and {other} cannot be done at the same time: each needs the whole body; "
            "state which comes first, as in 'walks, then runs'"
        )
    elif actions.layered[below]:
        msg = f"{other} and {one} both need the arms; state which comes first"
    elif not actions.host[below]:
        msg = f"{other} cannot be done during {one}, which needs the arms; state which comes first"
    else:
        return
    raise UsageError(msg)


def _with_bases(parts: list[Part], actions: Repertoire, library: Library) -> tuple[Part, ...]:
    """Give arm actions without a base action something to overlay: standing, or the seat taken before."""
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
