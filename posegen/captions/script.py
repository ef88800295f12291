"""Scripts: what a parsed text asks one person to do, in order or at the same time, and the scene that shows it.

A script has no contradictions. Its scene defines one person, and time, speed, turn and repetitions of each action.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from posegen.captions.parser import ParsedCaption
from posegen.config.schema import Config
from posegen.constants import AROUND, AVERAGE_LEG, SPEED_BOUNDS
from posegen.errors import UsageError
from posegen.library.load import Library
from posegen.library.schema import Style
from posegen.planning.population import leg_height, persons, seat_height
from posegen.planning.repertoire import NO_GAIT, RUN, STANDING, STEP, WALK, Repertoire, repertoire
from posegen.planning.segments import AFTER, BEFORE
from posegen.randomness import Stream, uniform
from posegen.scene import BOTH, DRAWS, LEFT, RIGHT, Persons, Scenes, empty_scenes
from posegen.wording import shown

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


AGES = {"boy": (6, 15), "girl": (6, 15), "older_man": (60, 75), "older_woman": (60, 75)}
GROWN, _OLD = (18, 59), (60, 75)
"""Years."""
_CANDIDATES = 64
_LAST, _SPARE = 0.6, 3.0
"""Seconds of standing that are shown at the end, and seconds that the scene continues after it."""
_MOST_FRAMES = 10_000
_SINGLE_STEPS = 1 << 24

_GAIT_SECONDS, _RUN_SECONDS, _MOST_SECONDS, _BETWEEN = 4.0, 6.5, 5.0, 0.3
_TURN, _TURN_RATE, _CURVE, _BEYOND = 90.0, 98.0, 80.0, 20.0
"""Degrees, and degrees per second; a turn around exceeds the least angle of one by the last number."""
_SLOWER, _FASTER = 0.85, {WALK: 1.15, RUN: 1.3}
"""Factors on the bounds of speed words, so that the speed is clearly beyond them; a run takes long to accelerate."""
_LONGER = 2.5
_WORDS = {WALK: SPEED_BOUNDS["walk"], RUN: SPEED_BOUNDS["run"]}


@dataclass(frozen=True)
class ScriptScene:
    """A scene of one person, and for each planned segment the number of its segment in the text, or -1."""

    scenes: Scenes
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Segment:
    """One action over a time interval, in the terms of :class:`posegen.scene.Scenes`; `number` as in :class:`Part`."""

    action: int
    number: int
    seconds: float
    side: int = BOTH
    speed: float = 0.0
    turn: float = 0.0
    repetitions: int = 0


@dataclass(frozen=True)
class _TimedPart:
    """A base segment and the segments that overlay it, one after another from `lead` seconds on.

    It may take `least` to `most` seconds. `stays` is whether its pose is kept until another action begins.
    """

    segment: _Segment
    over: tuple[_Segment, ...]
    lead: float
    least: float
    most: float
    stays: bool


_TimedSegments = list[tuple[float, float, _Segment]]


def plan_script(script: Script, library: Library, fps: int, seed: int, seconds: float | None) -> ScriptScene:
    """Plan the scene of a script.

    Parameters
    ----------
    script : Script
    library : Library
    fps : int
    seed : int
        Random seed of what the script leaves open: the person and the details of the motion.
    seconds : float or None
        Duration; None for the natural one.

    Returns
    -------
    ScriptScene

    Raises
    ------
    UsageError
        If the actions do not fit into that time, or take too many frames.
    """
    who = _find_person(script, library, seed)
    style = list(library.styles.values())[int(who.style[0])]
    timer = _Timer(library, style, float(leg_height(who)[0]), LEFT if who.left_handed[0] else RIGHT)
    parts = [timer.time_part(part) for part in script.parts]
    ends = not (parts[-1].stays or parts[-1].segment.number < 0)
    parts, left = _fit_duration(parts, None if seconds is None else seconds - (_LAST if ends else 0.0))
    base, over, length = _timeline(parts, library, left, ends)
    frames = round(length * fps)
    if frames > _MOST_FRAMES:
        msg = f"that takes {length:.0f} seconds; ask for at most {_MOST_FRAMES // fps}"
        raise UsageError(msg)
    scenes = empty_scenes(1, 1, len(base) + len(over))
    scenes.length[:], scenes.persons.index[:] = frames, who.index
    for k, (start, end, segment) in enumerate((*base, *over)):
        values = {"start": start, "end": end, "action": segment.action, "side": segment.side, "speed": segment.speed}
        values |= {"turn": segment.turn * np.pi / 180.0, "repetitions": segment.repetitions, "layered": k >= len(base)}
        values |= {"tempo": style.tempo, "amplitude": style.amplitude}
        for name, value in values.items():
            getattr(scenes, name)[0, 0, k] = value
    drawn = uniform(seed, np.zeros(1, np.int64), Stream.MOTION, DRAWS)[:, None, :]
    scene = replace(
        scenes,
        theme=np.array([list(library.themes).index(script.place) if script.place in library.themes else 0], np.int16),
        persons=_select(who, None),
        seat_height=seat_height(who, np.array([0.5]))[None],
        draws=np.asarray(np.floor(drawn * _SINGLE_STEPS) / _SINGLE_STEPS, np.float32),
    )
    return ScriptScene(scene, tuple(segment.number for _, _, segment in (*base, *over)))


def _find_person(script: Script, library: Library, seed: int) -> Persons:
    """Return somebody of the population who is as the script describes."""
    low, high = _OLD if script.style == "old" else AGES.get(script.who, GROWN)
    style = {script.style or "neutral": 1.0}
    config = Config.model_validate({"seed": seed, "population": {"age": {"min": low, "max": high}, "styles": style}})
    people = persons(config, library, np.arange(_CANDIDATES))
    fits = np.ones(_CANDIDATES, bool)
    if script.who:
        fits = people.male == script.who.endswith(("man", "boy")) & (not script.who.endswith("woman"))
    return _select(people, np.flatnonzero(fits)[:1])


def _select(people: Persons, index: np.ndarray | None) -> Persons:
    return Persons(**{field.name: getattr(people, field.name)[index] for field in fields(Persons)})


def _timeline(
    parts: list[_TimedPart], library: Library, left: float, ends: bool
) -> tuple[_TimedSegments, _TimedSegments, float]:
    """Return start, end and segment of all base and layered segments, longer than shown, and the seconds that are shown."""
    actions = repertoire(library)
    base: _TimedSegments = []
    over: _TimedSegments = []
    now = 0.0
    for part in parts:
        begin = now + part.lead
        for segment in part.over:
            over.append((begin, begin + segment.seconds, segment))
            begin += segment.seconds + _BETWEEN
        base.append((now, now + part.segment.seconds, part.segment))
        now += part.segment.seconds
    length = now + left + (_LAST if ends else 0.0)
    start, end, segment = base[-1]
    if parts[-1].stays:
        # An actor who sits down last is still seated at the end.
        rest = float(actions.exit[segment.action]) + 0.5
        base[-1] = (start, end + left + rest, segment)
        now = end + left + rest
    elif segment.action == actions.standing:
        base[-1] = (start, end + left + _SPARE, segment)
        return base, over, length
    base.append((now, max(now, length) + _SPARE, _Segment(library.index(STANDING), -1, 0.0)))
    return base, over, length


@dataclass(frozen=True)
class _Timer:
    """Times the parts of a script for one person.

    Attributes
    ----------
    library : Library
    style : Style
        Of the person.
    leg : float
        Metres; longer legs are faster.
    side : int
        LEFT or RIGHT: the side of everything whose side is not stated.
    """

    library: Library
    style: Style
    leg: float
    side: int

    def time_part(self, part: Part) -> _TimedPart:
        """Time one part."""
        actions, kind = repertoire(self.library), self.library.index(part.action)
        segment = self._segment(part)
        over = tuple(self._segment(upper) for upper in part.over)
        seated = bool(actions.seated[kind])
        lead = float(actions.enter[kind]) / self.style.tempo if seated else BEFORE
        tail = float(actions.exit[kind]) / self.style.tempo if seated else AFTER
        needed = lead + tail + sum(upper.seconds + _BETWEEN for upper in over) if over else 0.0
        counted, gait = bool(actions.counted[kind]), int(actions.gait[kind])
        elastic = not counted and gait != STEP
        if part.number < 0:
            segment = replace(segment, seconds=needed)
        least = max(needed, float(actions.shortest[kind]) if elastic and part.number >= 0 else segment.seconds)
        seconds = max(segment.seconds, needed)
        most = _LONGER * seconds if elastic and part.number >= 0 else seconds
        stays = elastic and gait == NO_GAIT and bool(actions.exit[kind] > 0) and not part.finished
        return _TimedPart(replace(segment, seconds=seconds), over, lead, min(least, seconds), most, stays)

    def _segment(self, part: Part) -> _Segment:
        actions, kind = repertoire(self.library), self.library.index(part.action)
        gait, counted = int(actions.gait[kind]), bool(actions.counted[kind])
        shortest, tempo = float(actions.shortest[kind]), self.style.tempo
        own = {"left": LEFT, "right": RIGHT}.get(part.asked.get("side", ""), self.side)
        turn = self._turn(part)
        usual = (int(actions.fewest[kind]) + int(actions.most[kind])) // 2
        repetitions = int(part.asked.get("count", usual)) if counted else 0
        if counted:
            seconds = float(actions.enter[kind] + actions.exit[kind] + repetitions * actions.cycle[kind]) / tempo
        elif gait == STEP:
            seconds = max(abs(turn) / (_TURN_RATE * tempo), shortest)
        elif gait != NO_GAIT:
            # A run accelerates and brakes for two of its seconds, and its full speed must be visible.
            seconds = _RUN_SECONDS if gait == RUN else max(_GAIT_SECONDS, shortest)
        else:
            mean = 0.5 * float(actions.shortest[kind] + actions.longest[kind])
            seconds = max(min(mean, _MOST_SECONDS), shortest / tempo)
        sided = bool(actions.sided[kind]) or gait != NO_GAIT
        return _Segment(kind, part.number, seconds, own if sided else BOTH, self._speed(part), turn, repetitions)

    def _turn(self, part: Part) -> float:
        """Return degrees, left positive."""
        actions, kind = repertoire(self.library), self.library.index(part.action)
        right, left = float(actions.right[kind]), float(actions.left[kind])
        if actions.gait[kind] == STEP:
            direction = part.asked.get("direction", "left" if self.side == LEFT else "right")
            around = AROUND + _BEYOND
            return {"left": _TURN, "right": -_TURN, "around": around if self.side == LEFT else -around}[direction]
        if right > 0 or left < 0:
            return 0.5 * (right + left)
        path = part.asked.get("path", "straight")
        return {"straight": 0.0, "left": min(left, _CURVE), "right": max(right, -_CURVE)}[path]

    def _speed(self, part: Part) -> float:
        """Return metres per second."""
        actions, kind = repertoire(self.library), self.library.index(part.action)
        slow, fast = float(actions.slow[kind]), float(actions.fast[kind])
        if fast <= 0:
            return 0.0
        gait = int(actions.gait[kind])
        pace = float(np.sqrt(self.leg / AVERAGE_LEG))
        usual = 0.5 * (slow + fast)
        word, bounds = part.asked.get("speed"), _WORDS.get(gait)
        if bounds is None:
            return usual * pace
        if word is None:
            return usual * self.style.speed * pace
        speeds = {"slow": bounds[0] * _SLOWER, "normal": 0.5 * (bounds[0] + bounds[1]), "fast": bounds[1] * _FASTER[gait]}
        return speeds[word] * pace


def _fit_duration(parts: list[_TimedPart], seconds: float | None) -> tuple[list[_TimedPart], float]:
    """Stretch or shorten the elastic parts to a duration; return them and the seconds that are left at the end.

    Raises
    ------
    UsageError
        If the actions take longer.
    """
    natural = sum(part.segment.seconds for part in parts)
    if seconds is None or seconds == natural:
        return parts, 0.0
    least, most = sum(part.least for part in parts), sum(part.most for part in parts)
    if seconds < least:
        msg = f"all of that takes at least {least + 0.05:.1f} seconds; ask for more than {seconds:g}, or leave --seconds out"
        raise UsageError(msg)
    if seconds < natural:
        share = (natural - seconds) / (natural - least)
        new = [part.segment.seconds - share * (part.segment.seconds - part.least) for part in parts]
    else:
        share = min(1.0, (seconds - natural) / (most - natural)) if most > natural else 0.0
        new = [part.segment.seconds + share * (part.most - part.segment.seconds) for part in parts]
    done = [replace(part, segment=replace(part.segment, seconds=length)) for part, length in zip(parts, new, strict=True)]
    return done, max(0.0, seconds - sum(new))
