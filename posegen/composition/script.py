"""From what a text claims to a script: who does what, one thing after another or at the same time, without contradictions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from posegen.captions.reading import Reading
from posegen.errors import UsageError
from posegen.library import Library
from posegen.planning.repertoire import Repertoire, repertoire
from posegen.wording import shown

__all__ = ["Part", "Script", "script_of"]

_ONE = ("side", "count", "speed", "direction", "path", "style")


@dataclass(frozen=True)
class Part:
    """One thing that is done.

    Attributes
    ----------
    action : its name
    number : the number of the segment that the text tells of it
    finished : whether its end is asked for, too
    asked : what else is asked for, by the kind of claim
    over : what is done at the same time by the arms, one after another
    """

    action: str
    number: int
    finished: bool = False
    asked: dict[str, str] = field(default_factory=dict)
    over: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Script:
    """Who does what: `who` and `style` are empty where they may be any; `place` is a theme, or empty."""

    who: str
    style: str
    place: str
    parts: tuple[Part, ...]


def script_of(reading: Reading, library: Library) -> Script:
    """Make a script of what a text claims.

    Parameters
    ----------
    reading : Reading
    library : Library

    Returns
    -------
    Script
        Arm actions that stand by themselves lie over standing, or over the seat that was taken before.

    Raises
    ------
    UsageError
        If the text tells of several people, contradicts itself, or asks for two things at once that one body cannot do.
    """
    people = [str(claim["value"]) for claim in reading.statements if claim["kind"] == "people"]
    if any(value.isdigit() and int(value) > 1 for value in people):
        msg = (
            "the text tells of several people, and of more than what two do at once: tell of one person, "
            "or of a meeting alone, as in 'two people shake hands'"
        )
        raise UsageError(msg)
    styles = [str(claim["value"]) for claim in reading.statements if claim["kind"] == "style" and int(claim["segment"]) < 0]
    known = repertoire(library)
    parts, during = _parts(reading)
    for part in parts.values():
        styles += [part.asked["style"]] if "style" in part.asked else []
    if len(set(styles)) > 1:
        msg = f"the text tells of somebody who is both {styles[0]} and {_other(styles)}: say one of them"
        raise UsageError(msg)
    who = [value for value in people if not value.isdigit()]
    placed = _placed(_laid_over(parts, during, known, library), known, library)
    return Script(who[0] if who else "", styles[0] if styles else "", reading.place, placed)


def _parts(reading: Reading) -> tuple[dict[int, Part], dict[int, int]]:
    """Gather what is claimed of each segment; and of those that are done during another one, of which."""
    parts: dict[int, Part] = {}
    during: dict[int, int] = {}
    for claim in reading.statements:
        number, kind, value = int(claim["segment"]), str(claim["kind"]), str(claim["value"])
        if number < 0:
            continue
        part = parts.setdefault(number, Part(str(claim["action"]), number))
        if kind == "action":
            parts[number] = replace(part, finished=part.finished or value == "finished")
        elif kind == "order" and value.startswith("during"):
            during[number] = int(value.split()[1])
        elif kind in _ONE:
            before = part.asked.get(kind, value)
            if before != value:
                msg = f"{shown(part.action)} is told with two values of {kind}, {before} and {value}: say one of them"
                raise UsageError(msg)
            parts[number] = replace(part, asked=part.asked | {kind: value})
    return parts, during


def _other(styles: list[str]) -> str:
    return next(style for style in styles if style != styles[0])


def _laid_over(parts: dict[int, Part], during: dict[int, int], known: Repertoire, library: Library) -> list[Part]:
    """Put what is done during something else over it; which of the two carries the body, their actions say."""
    done = dict(parts)
    for number, host in during.items():
        upper, lower = done.pop(number), done[host]
        if not known.layered[library.index(upper.action)]:
            upper, lower = lower, upper
        _check_over(upper, lower, known, library)
        done[host] = replace(lower, over=(*lower.over, upper))
    return [done[number] for number in sorted(done)]


def _check_over(upper: Part, lower: Part, known: Repertoire, library: Library) -> None:
    below, above = library.index(lower.action), library.index(upper.action)
    if not known.layered[above]:
        msg = (
            f"{shown(lower.action)} and {shown(upper.action)} cannot be done at the same time: each needs the whole body; "
            "say which comes first, as in 'walks, then runs'"
        )
        raise UsageError(msg)
    if not known.host[below] and not known.layered[below]:
        msg = f"{shown(upper.action)} cannot be done during {shown(lower.action)}, which needs the arms; say which comes first"
        raise UsageError(msg)
    if known.layered[below]:
        msg = f"{shown(upper.action)} and {shown(lower.action)} both need the arms; say which comes first"
        raise UsageError(msg)


def _placed(parts: list[Part], known: Repertoire, library: Library) -> tuple[Part, ...]:
    """Give what the arms do by themselves something to stand, or to sit, on."""
    placed: list[Part] = []
    for part in parts:
        kind = library.index(part.action)
        if known.base[kind]:
            placed.append(part)
            continue
        last = placed[-1] if placed else None
        rests = last is not None and ((known.seated[library.index(last.action)] and not last.finished) or last.number < 0)
        if last is not None and rests:
            placed[-1] = replace(last, over=(*last.over, part))
        else:
            placed.append(Part(library.actions[known.standing], -1, over=(part,)))
    return tuple(placed)
