"""When everything of a script happens, and how: speeds, turns, repetitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from posegen.composition.script import Part
from posegen.constants import AVERAGE_LEG
from posegen.errors import UsageError
from posegen.library import Library
from posegen.library.styles import Style
from posegen.library.terms import AROUND, SPEED_BOUNDS
from posegen.planning.layering import AFTER, BEFORE
from posegen.planning.repertoire import NO_GAIT, RUN, STEP, WALK, repertoire
from posegen.scene import BOTH, LEFT, RIGHT

__all__ = ["Slot", "Timed", "fitted", "timed"]

_GAIT_SECONDS, _RUN_SECONDS, _MOST_SECONDS, _BETWEEN = 4.0, 6.5, 5.0, 0.3
_TURN, _TURN_RATE, _CURVE, _CURVE_RATE, _BEYOND = 90.0, 98.0, 80.0, 22.0, 20.0
"""Degrees, and degrees a second; a turn around goes that much beyond where it begins to be one."""
_SLOWER, _FASTER = 0.85, {WALK: 1.15, RUN: 1.3}
"""Factors on the bound of a word for speed, to be well beyond it: who runs takes long to get there."""
_LONGER = 2.5
_WORDS = {WALK: SPEED_BOUNDS["walk"], RUN: SPEED_BOUNDS["run"]}


@dataclass(frozen=True)
class Slot:
    """One action over a stretch of time, in the terms of :class:`posegen.scene.Scenes`; `number` as :class:`Part` has it."""

    action: int
    number: int
    seconds: float
    side: int = BOTH
    speed: float = 0.0
    turn: float = 0.0
    repetitions: int = 0


@dataclass(frozen=True)
class Timed:
    """A base slot with what lies over it, one after another from `lead` seconds on; it may take `least` to `most` seconds.

    `stays` where its pose is kept as long as nothing else is done.
    """

    slot: Slot
    over: tuple[Slot, ...]
    lead: float
    least: float
    most: float
    stays: bool


def timed(part: Part, library: Library, style: Style, leg: float, side: int) -> Timed:
    """Time one part of a script.

    Parameters
    ----------
    part : Part
    library : Library
    style : Style
        Of the person.
    leg : float
        Metres; longer legs are quicker.
    side : int
        LEFT or RIGHT: with which everything is done for which no side is asked.
    """
    known, kind = repertoire(library), library.index(part.action)
    slot = _slot(part, library, style, leg, side)
    over = tuple(_slot(upper, library, style, leg, side) for upper in part.over)
    seated = bool(known.seated[kind])
    lead = float(known.enter[kind]) / style.tempo if seated else BEFORE
    tail = float(known.exit[kind]) / style.tempo if seated else AFTER
    needed = lead + tail + sum(upper.seconds + _BETWEEN for upper in over) if over else 0.0
    counted, gait = bool(known.counted[kind]), int(known.gait[kind])
    elastic = not counted and gait != STEP
    if part.number < 0:
        slot = replace(slot, seconds=needed)
    least = max(needed, float(known.shortest[kind]) if elastic and part.number >= 0 else slot.seconds)
    seconds = max(slot.seconds, needed)
    most = _LONGER * seconds if elastic and part.number >= 0 else seconds
    stays = elastic and gait == NO_GAIT and bool(known.exit[kind] > 0) and not part.finished
    return Timed(replace(slot, seconds=seconds), over, lead, min(least, seconds), most, stays)


def _slot(part: Part, library: Library, style: Style, leg: float, side: int) -> Slot:
    known, kind = repertoire(library), library.index(part.action)
    gait, counted = int(known.gait[kind]), bool(known.counted[kind])
    own = {"left": LEFT, "right": RIGHT}.get(part.asked.get("side", ""), side)
    turn = _turn(part, library, side)
    repetitions = int(part.asked.get("count", (int(known.fewest[kind]) + int(known.most[kind])) // 2)) if counted else 0
    if counted:
        seconds = float(known.enter[kind] + known.exit[kind] + repetitions * known.cycle[kind]) / style.tempo
    elif gait == STEP:
        seconds = max(abs(turn) / (_TURN_RATE * style.tempo), float(known.shortest[kind]))
    elif gait != NO_GAIT:
        # A run starts and stops for two of its seconds, and is to be seen as fast as it is.
        seconds = _RUN_SECONDS if gait == RUN else max(_GAIT_SECONDS, float(known.shortest[kind]))
    else:
        usual = 0.5 * float(known.shortest[kind] + known.longest[kind])
        seconds = max(min(usual, _MOST_SECONDS), float(known.shortest[kind]) / style.tempo)
    sided = bool(known.sided[kind]) or gait != NO_GAIT
    return Slot(kind, part.number, seconds, own if sided else BOTH, _speed(part, library, style, leg), turn, repetitions)


def _turn(part: Part, library: Library, side: int) -> float:
    """Degrees, to the left positive."""
    known, kind = repertoire(library), library.index(part.action)
    right, left = float(known.right[kind]), float(known.left[kind])
    if known.gait[kind] == STEP:
        way = part.asked.get("direction", "left" if side == LEFT else "right")
        around = AROUND + _BEYOND
        return {"left": _TURN, "right": -_TURN, "around": around if side == LEFT else -around}[way]
    if right > 0 or left < 0:
        return 0.5 * (right + left)
    way = part.asked.get("path", "straight")
    return {"straight": 0.0, "left": min(left, _CURVE), "right": max(right, -_CURVE)}[way]


def _speed(part: Part, library: Library, style: Style, leg: float) -> float:
    """Metres a second."""
    known, kind = repertoire(library), library.index(part.action)
    slow, fast = float(known.slow[kind]), float(known.fast[kind])
    if fast <= 0:
        return 0.0
    pace = float((leg / AVERAGE_LEG) ** 0.5)
    usual = 0.5 * (slow + fast)
    word, bounds = part.asked.get("speed"), _WORDS.get(int(known.gait[kind]))
    if bounds is None:
        return usual * pace
    if word is None:
        return usual * style.speed * pace
    faster = _FASTER[int(known.gait[kind])]
    wanted = {"slow": bounds[0] * _SLOWER, "normal": 0.5 * (bounds[0] + bounds[1]), "fast": bounds[1] * faster}
    return wanted[word] * pace


def fitted(parts: list[Timed], seconds: float | None) -> tuple[list[Timed], float]:
    """Stretch or shorten what can be until everything takes so many seconds.

    Returns
    -------
    list of Timed, float
        And how many seconds are left behind them.

    Raises
    ------
    UsageError
        If it cannot all be done in that time.
    """
    natural = sum(part.slot.seconds for part in parts)
    if seconds is None or seconds == natural:
        return parts, 0.0
    least, most = sum(part.least for part in parts), sum(part.most for part in parts)
    if seconds < least:
        msg = f"all of that takes at least {least + 0.05:.1f} seconds; ask for more than {seconds:g}, or leave --seconds out"
        raise UsageError(msg)
    if seconds < natural:
        share = (natural - seconds) / (natural - least)
        new = [part.slot.seconds - share * (part.slot.seconds - part.least) for part in parts]
    else:
        share = min(1.0, (seconds - natural) / (most - natural)) if most > natural else 0.0
        new = [part.slot.seconds + share * (part.most - part.slot.seconds) for part in parts]
    done = [replace(part, slot=replace(part.slot, seconds=long)) for part, long in zip(parts, new, strict=True)]
    return done, max(0.0, seconds - sum(new))
