"""What of a text is not understood, what its motion does not show, and the steps and metres of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posegen.captions.lexicon import lexicon_of, unknown_words
from posegen.captions.parser import ParsedCaption
from posegen.checks.evidence import turn_angle
from posegen.checks.statements import NEAR_ANGLE, check_statement, observe_actors
from posegen.foundations.wording import nearest, printable, shown
from posegen.library.load import Library
from posegen.motion.engine import Motion
from posegen.synthesis.script import STARTS

MEASURED = ("steps", "distance")
"""Kinds of statements that are numbers of steps, or of metres."""
FEW = {"steps": 4.0, "distance": 3.0}
"""The numbers that stand for a few."""
_UNSHOWN = ("modifier", "object", "other", "start", "return", "time", "backward", "sideways", "in_place")
"""Kinds of statements that nothing in the motion is made for."""
_LISTED = ("side", "count", "speed", "direction", "degrees", "path")
"""Kinds of statements for which an action may have words for only some values."""
_FEET = ([0, 1], [2, 3])
"""Contacts of the left and of the right foot."""
_MOST_SUGGESTED, _MOST_EXPLAINED = 8, 20


def explain_unknown(parsed: ParsedCaption, library: Library) -> list[str]:
    """Explain each part of a text that was not understood, with the nearest known words.

    Parameters
    ----------
    parsed : ParsedCaption
    library : Library

    Returns
    -------
    list of str
        A line for each of the first parts, and one with the number of the others.
    """
    lexicon, lines = lexicon_of(library), list[str]()
    for text in parsed.unknown[:_MOST_EXPLAINED]:
        unknown = [word for word in unknown_words(text, library) if word not in lexicon.reading.vocabulary]
        found = list(dict.fromkeys(near for word in unknown[:_MOST_SUGGESTED] if (near := nearest(word, lexicon.vocabulary))))
        if not unknown:
            reason = "the words are known, but not in this order"
        else:
            similar = f"the nearest known words: {', '.join(found)}" if found else "no known word is similar"
            reason = f"unknown word{'s' if len(unknown) > 1 else ''}: {', '.join(map(printable, unknown))}; {similar}"
        lines.append(f"not understood: {shown(text)}; {reason}")
    more = len(parsed.unknown) - len(lines)
    lines += [f"read as {shown(meant)}: {shown(word)}" for word, meant in list(parsed.corrections.items())[:_MOST_EXPLAINED]]
    return [*lines, f"not understood: {more:,} more parts"] if more else lines


def explain_missing(
    parsed: ParsedCaption,
    kept: Sequence[list[int]],
    visible: Sequence[list[int]],
    motion: Motion,
    actors: Any,
    library: Library,
    fps: int,
) -> list[str]:
    """Return a message for each action with statements that the motion does not show.

    For each actor, `kept` has the numbers of the segments of the script, and `visible` those of the described segments.
    """
    numbers_of = [{number: i for i, number in enumerate(own)} for own in visible]
    observed = observe_actors(np.ascontiguousarray(motion.joints), [actors], library, fps)[0]
    missing: dict[tuple[int, int, str], list[str]] = {}
    for statement in parsed.statements:
        number, kind, value = int(statement["segment"]), str(statement["kind"]), str(statement["value"])
        who = int(statement["actor"])
        if number < 0 or who >= len(kept) or number not in kept[who] or kind in ("people", "style"):
            continue
        number_of, segments = numbers_of[who], actors[who]["segments"]
        shows: bool | None = False
        here = number_of.get(number)
        arc = kind == "degrees" and library.action(str(statement["action"])).gait not in (None, "step")
        if here is not None and (kind in MEASURED or arc):
            start, stop = segments[here]["start"], segments[here]["end"]
            shows = is_near(kind, value, measure(kind, motion, who, start, stop))
        elif kind == "start" and value in ("standing", *STARTS):
            began = library.index(STARTS[value]) if STARTS.get(value) in library.actions else -1
            shows = value == "standing" or bool((motion.action[0, who, 0] == began).any())
        elif here is not None and kind not in _UNSHOWN:
            if kind == "order":
                relation, other = value.split()
                value = f"{relation} {number_of.get(int(other), -1)}" if int(other) in kept[who] else ""
            action = str(segments[here]["action"])
            if kind == "path":  # what a text leaves open between left and right is as the motion shows it
                value = next((path for path in observed[who].shown[here]["shapes"] if path.endswith(value)), value)
            seen = statement | {"segment": here, "action": action, "value": value}
            # A turn of 180 degrees has no side that its end would show.
            around = kind == "direction" and observed[who].shown[here]["direction"] == "around"
            known = library.words["actions"][action].get(kind, {})
            if around or (kind == "order" and not value):
                shows = True
            elif kind not in _LISTED or (known if kind == "count" else seen["value"] in known):
                shows = check_statement(seen, observed, library)
        if shows is False:
            words = value if kind in _UNSHOWN else " ".join(each for each in (kind, value) if each)
            missing.setdefault((who, number, str(statement["action"])), []).append(words)
    return [f"the motion does not show this of {shown(action)}: {', '.join(words)}" for (*_, action), words in missing.items()]


def measure(kind: str, motion: Motion, who: int, start: int, stop: int) -> float:
    """Return the steps, the metres or the degrees of turning of an actor in some frames."""
    if kind == "steps":
        feet = motion.contact[0, who, start:stop] == 1
        down = np.stack([feet[:, own].any(axis=1) for own in _FEET], axis=1)
        return float((down[1:] & ~down[:-1]).sum())
    if kind == "degrees":
        return abs(float(turn_angle(motion.joints[0, who, start:stop]))) * 180.0 / np.pi
    pelvis = motion.joints[0, who, start:stop, 0].astype(np.float64)[:, [0, 2]]
    moved = np.diff(pelvis, axis=0)
    return float(np.sqrt((moved * moved).sum(axis=1)).sum())


def is_near(kind: str, value: str, measured: float) -> bool:
    """Return whether a text's number of steps, metres or degrees is shown."""
    if kind == "degrees":
        return abs(float(value) - measured) <= NEAR_ANGLE
    asked = float(FEW.get(kind, 0.0) if value == "few" else value)
    # Who takes one step closes the other foot.
    margin = 1.0 if value in ("few", "1") else 0.0 if kind == "steps" else max(0.15 * asked, 0.3)
    return abs(asked - measured) <= margin
