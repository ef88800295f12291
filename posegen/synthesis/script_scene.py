"""The scene of scripts: who performs them, how long each action takes, and motion with the steps and metres that are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.bodies import leg_height, seat_height
from posegen.foundations.constants import AROUND, AVERAGE_LEG, PATHS, SHAPES, SPEED_BOUNDS
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, stream_keys
from posegen.foundations.scene import BOTH, LEFT, RIGHT, Persons, Scenes, empty_scenes
from posegen.library.load import Library
from posegen.library.stories import Style
from posegen.motion.engine import Motion, animate
from posegen.motion.placement import separate_actors
from posegen.planning.course import Course, Steps, path_seconds, path_speeds, split_paths, write_courses
from posegen.planning.durations import AFTER, BEFORE
from posegen.planning.population import persons
from posegen.planning.repertoire import Repertoire, repertoire, seconds_of
from posegen.synthesis.script import Part, Script
from posegen.synthesis.unshown import FEW, MEASURED, is_near, measure

AGES = {"boy": (6, 15), "girl": (6, 15), "older_man": (60, 75), "older_woman": (60, 75)}
GROWN, _OLD = (18, 59), (60, 75)
"""Years."""
_CANDIDATES = 64
FEWEST_FRAMES, MOST_FRAMES = 10, 10_000
"""The bounds of `frames` in a config."""
_SHORTEST = 1.2
"""Seconds of a gait with few steps."""
_ATTEMPTS = 6
"""Plans of a script until its steps and distances are as asked."""
_LAST, _SPARE = 0.6, 3.0
"""Seconds of standing that are shown at the end, and seconds that the scene continues after it."""
_HELD = 0.4
"""Seconds of a posture before a person gets up from it."""
_APART = 2.0
"""Metres between two people in the first frame, who stand in a row; they are further apart where they would meet."""
_GAIT_SECONDS, _RUN_SECONDS, _MOST_SECONDS, _BETWEEN = 4.0, 6.5, 5.0, 0.3
_TURN, _TURN_RATE, _ARC_RATE, _CURVE, _BEYOND = 90.0, 98.0, 40.0, 80.0, 20.0
"""Degrees, and degrees per second; a turn around exceeds the least angle of one by the last number."""
_SLOWER, _FASTER = 0.85, {"walk": 1.15, "run": 1.3}
"""Factors on the bounds of speed words, so that the speed is clearly beyond them; a run takes long to accelerate."""
_LONGER = 2.5
_SECONDS_EACH = {"steps": 0.55, "distance": 0.8}
"""Seconds of a step and of a metre, which correct a plan."""


@dataclass(frozen=True)
class _Segment:
    """One action: its index, its number in the text, its seconds, and its columns as `scene.Scenes` names them."""

    action: int
    number: int
    seconds: float
    columns: Mapping[str, Any]


@dataclass(frozen=True)
class _TimedPart:
    """A base segment and the segments that overlay it, one after another from `lead` seconds on.

    It may take `least` to `most` seconds. `stays` is whether its pose is kept until another action begins. It lasts `more`
    seconds longer than shown.
    """

    segment: _Segment
    over: tuple[_Segment, ...]
    lead: float
    least: float
    most: float
    stays: bool
    more: float = 0.0


@dataclass(frozen=True)
class _Planned:
    """A script of a person: the course, the numbers of its segments in the text, and the shown seconds of these and of all."""

    person: Persons
    style: Style
    course: Course
    numbers: list[int]
    times: Mapping[int, tuple[float, float]]
    length: float


def animate_scripts(
    scripts: Sequence[Script], library: Library, fps: int, seed: int, seconds: float | None
) -> tuple[Scenes, list[list[int]], Motion]:
    """Plan and animate the scripts of the people of one scene.

    Gaits take as long as the steps or metres that are asked of them, if these can be reached.

    Parameters
    ----------
    scripts : sequence of Script
    library : Library
    fps : int
    seed : int
        Random seed of what the scripts leave open: the people and the details of the motion.
    seconds : float or None
        Duration; None for the natural one, that of who takes longest.

    Returns
    -------
    Scenes
        One scene.
    list of list of int
        For each person and planned segment, the number of its segment in the text, or -1.
    Motion
        Of the scene.

    Raises
    ------
    UsageError
        If the actions do not fit into that time, or take too many frames.
    """
    lasting: list[dict[int, float]] = [{} for _ in scripts]
    for _ in range(_ATTEMPTS):
        planned = _plan_scripts(scripts, library, fps, seed, seconds, lasting)
        scenes = _write_scene(scripts, planned, library, fps, seed)
        motion = animate(scenes, library, int(scenes.length[0]), fps)
        wrong = False
        for who, (script, own) in enumerate(zip(scripts, planned, strict=True)):
            for part in script.parts:
                start, stop = own.times.get(part.number, (0.0, 0.0))
                for kind in MEASURED:
                    if (value := part.asked.get(kind)) is None or library.action(part.action).gait is None:
                        continue
                    measured = measure(kind, motion, who, round(start * fps), round(stop * fps))
                    if not is_near(kind, value, measured):
                        wrong = True
                        asked = float(FEW[kind] if value == "few" else value)
                        longer = (asked - measured) * _SECONDS_EACH[kind]
                        lasting[who][part.number] = max(stop - start + longer, _SHORTEST)
        if not wrong:
            break
    return scenes, [own.numbers for own in planned], motion


def _plan_scripts(
    scripts: Sequence[Script],
    library: Library,
    fps: int,
    seed: int,
    seconds: float | None,
    lasting: Sequence[Mapping[int, float]],
) -> list[_Planned]:
    """Plan the courses of all people, who take equally long."""
    planned = [_plan_script(script, library, fps, seed + who, seconds, lasting[who]) for who, script in enumerate(scripts)]
    longest = max(own.length for own in planned)
    if len(planned) > 1 and seconds is None:
        return _plan_scripts(scripts, library, fps, seed, longest, lasting)
    return planned


def _write_scene(scripts: Sequence[Script], planned: Sequence[_Planned], library: Library, fps: int, seed: int) -> Scenes:
    """Return the scene of the courses of people who keep clear of each other."""
    courses = [(np.zeros(1, np.int64), who, own.course) for who, own in enumerate(planned)]
    scenes = write_courses(empty_scenes(1, len(planned), 0), courses)
    for who, own in enumerate(planned):
        scenes.origin[:, who, 0] = (0.5 * (len(planned) - 1) - who) * _APART
        scenes.tempo[:, who], scenes.amplitude[:, who] = own.style.tempo, own.style.amplitude
        scenes.seat_height[:, who] = seat_height(own.person, np.array([0.5]))
        scenes.key[:, who] = stream_keys(seed + who, np.zeros(1, np.int64), Stream.MOMENT)
    scenes.length[:] = max(round(own.length * fps) for own in planned)
    place = next((script.place for script in scripts if script.place in library.themes), None)
    scenes.theme[:] = list(library.themes).index(place) if place else 0
    people = [own.person for own in planned]
    stacked = {each.name: np.stack([getattr(one, each.name) for one in people], 1) for each in fields(Persons)}
    return separate_actors(replace(scenes, persons=Persons(**stacked)), library, fps)


def _plan_script(
    script: Script, library: Library, fps: int, seed: int, seconds: float | None, lasting: Mapping[int, float]
) -> _Planned:
    """Plan a script; `lasting` are the seconds of the segments of the text that do not last as long as usual."""
    who = _find_person(script, library, seed)
    style = list(library.styles.values())[int(who.style[0])]
    timer = _Timer(library, style, float(leg_height(who)[0]), LEFT if who.left_handed[0] else RIGHT, lasting)
    parts = [timer.time_part(part) for part in script.parts]
    ends = not (parts[-1].stays or parts[-1].segment.number < 0)
    opening, rising = timer.open(script.start)
    behind = rising + (_LAST if ends else 0.0)
    while seconds is not None and sum(part.least for part in parts) + behind > seconds:
        timer = replace(timer, fewer=timer.fewer + 1)
        before, parts = parts, [timer.time_part(part) for part in script.parts]
        if parts == before:
            break
    parts, left = _fit_duration(parts, seconds, behind)
    steps, numbers, length = _lay_out(opening, parts, repertoire(library), left + behind)
    if round(length * fps) > MOST_FRAMES:
        raise UsageError(f"that takes {length:.0f} seconds; ask for at most {MOST_FRAMES // fps}")
    base, over = steps.course()
    course = Course(split_paths(base, np.full(base["action"].shape, timer.side == RIGHT)), over)
    planned = zip(numbers, (*steps.base, *steps.layers), strict=True)
    times = {number: (float(own["start"][0]), float(own["end"][0])) for number, own in planned if number >= 0}
    return _Planned(who, style, course, numbers, times, length)


def _find_person(script: Script, library: Library, seed: int) -> Persons:
    """Return a person of the population who matches the script."""
    low, high = _OLD if script.style == "old" else AGES.get(script.who, GROWN)
    style = {script.style or "neutral": 1.0}
    config = Config.model_validate({"seed": seed, "population": {"age": {"min": low, "max": high}, "styles": style}})
    people = persons(config, library, np.arange(_CANDIDATES))
    fits = np.ones(_CANDIDATES, bool)
    if script.who:
        fits = people.male == script.who.endswith(("man", "boy")) & (not script.who.endswith("woman"))
    return people.select(np.flatnonzero(fits)[:1])


def _lay_out(opening: Steps, parts: list[_TimedPart], known: Repertoire, behind: float) -> tuple[Steps, list[int], float]:
    """Return the segments of all parts, which last longer than shown, their numbers in the text, and the shown seconds.

    `opening` is what is done before them, and `behind` are the seconds that are shown before the first and after the last part.
    """
    last, steps = parts[-1], opening
    length = sum(part.segment.seconds for part in parts) + behind
    if last.stays:
        # An actor who sits down last is still seated at the end.
        last = replace(last, more=behind + float(known.exit[last.segment.action]) + 0.5)
    elif last.segment.action == known.standing:
        last = replace(last, more=behind + _SPARE)
    numbers, over_numbers = [-1] * len(opening.base), []
    for part in (*parts[:-1], last):
        begin = part.lead
        for upper in part.over:
            span = np.array([begin + upper.seconds])
            steps = steps.append(upper.action, span, layered=(begin, 0.0), **upper.columns)
            over_numbers.append(upper.number)
            begin += upper.seconds + _BETWEEN
        steps = steps.append(part.segment.action, np.array([part.segment.seconds + part.more]), **part.segment.columns)
        numbers.append(part.segment.number)
    if last.stays or last.segment.action != known.standing:
        steps = steps.append(known.standing, np.maximum(length - steps.time, 0.0) + _SPARE)
        numbers.append(-1)
    return steps, numbers + over_numbers, length


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
    lasting : mapping of int to float
        Seconds of the segments of the text that do not last as long as usual.
    fewer : int
        Repetitions fewer than usual, where their number is not stated.
    """

    library: Library
    style: Style
    leg: float
    side: int
    lasting: Mapping[int, float]
    fewer: int = 0

    def open(self, start: str) -> tuple[Steps, float]:
        """Return the segment of an action whose pose is held in the first frame, and the seconds of getting up from it."""
        if not start:
            return Steps(np.zeros(1)), 0.0
        action, segment = self.library.action(start), self._segment(Part(start, -1))
        down, rising = action.enter / self.style.tempo, _HELD + action.exit / self.style.tempo
        return Steps(np.array([-down])).append(segment.action, np.array([down + rising]), **segment.columns), rising

    def time_part(self, part: Part) -> _TimedPart:
        """Time one part."""
        action, tempo, segment = self.library.action(part.action), self.style.tempo, self._segment(part)
        over = tuple(self._segment(upper) for upper in part.over)
        lead, tail = (action.enter / tempo, action.exit / tempo) if action.support == "seat" else (BEFORE, AFTER)
        needed = lead + tail + sum(upper.seconds + _BETWEEN for upper in over) if over else 0.0
        if part.number < 0:
            segment = replace(segment, seconds=needed)
        seconds = max(segment.seconds, needed)
        holds = action.repetitions is None and action.gait != "step"
        elastic = holds and part.number >= 0 and not any(kind in part.asked for kind in MEASURED)
        least = max(needed, seconds_of(action)[0] if elastic else segment.seconds)
        most = _LONGER * seconds if elastic else seconds
        stays = holds and action.gait is None and action.exit > 0 and not part.finished
        return _TimedPart(replace(segment, seconds=seconds), over, lead, min(least, seconds), most, stays)

    def _segment(self, part: Part) -> _Segment:
        action, tempo, turn, repetitions = self.library.action(part.action), self.style.tempo, self._turn(part), 0
        shortest, longest = seconds_of(action)
        if action.repetitions is not None:
            usual = max(sum(action.repetitions) // 2 - self.fewer, 1)
            repetitions = int(part.asked.get("count", usual))
            seconds = (action.enter + action.exit + repetitions * action.cycle) / tempo
        elif action.gait == "step":
            seconds = max(abs(turn) / (_TURN_RATE * tempo), shortest)
        elif action.gait == "run":
            # A run accelerates and brakes for two of its seconds, and its full speed must be visible.
            seconds = _RUN_SECONDS
        elif action.gait is not None:
            seconds = max(_GAIT_SECONDS, shortest, abs(turn) / _ARC_RATE)
        else:
            seconds = max(min(0.5 * (shortest + longest), _MOST_SECONDS), shortest / tempo)
        path = PATHS.index(self._path(part))
        path = path if PATHS[path] in SHAPES else 0
        seconds = max(self.lasting.get(part.number, seconds), path_seconds(path))
        side = {"left": LEFT, "right": RIGHT}.get(part.asked.get("side", ""), self.side)
        columns = {
            "side": side if action.sided or action.gait is not None else BOTH,
            "speed": path_speeds(np.array([path]), np.array([self._speed(part)])),
            "turn": turn * np.pi / 180.0,
            "repetitions": repetitions,
            "path": path,
        }
        return _Segment(self.library.index(part.action), part.number, seconds, columns)

    def _path(self, part: Part) -> str:
        """Return the path of a part, on the person's own side where the text leaves it open; empty for an unknown one."""
        asked = part.asked.get("path", "")
        own = f"{'left' if self.side == LEFT else 'right'}_{asked}"
        return asked if asked in PATHS else own if own in PATHS else ""

    def _turn(self, part: Part) -> float:
        """Return degrees, left positive."""
        action, sign = self.library.action(part.action), 1.0 if self.side == LEFT else -1.0
        right, left = action.turn
        if right > 0 or left < 0:
            return 0.5 * (right + left) * (sign if action.gait == "step" else 1.0)
        if action.gait == "step":
            turns = {"left": _TURN, "right": -_TURN, "around": sign * (AROUND + _BEYOND)}
            asked = part.asked.get("direction") or part.asked.get("path", "").removesuffix("_circle") or part.asked.get("side")
            turn = turns.get(str(asked), sign * _TURN)
            size = float(part.asked.get("degrees", abs(turn)))
            return size if turn > 0 else -size
        if "degrees" in part.asked:
            to_left = {"left": True, "right": False}.get(self._path(part), self.side == LEFT)
            return float(part.asked["degrees"]) * (1.0 if to_left else -1.0)
        return {"left": min(left, _CURVE), "right": max(right, -_CURVE)}.get(self._path(part), 0.0)

    def _speed(self, part: Part) -> float:
        """Return metres per second."""
        action, word = self.library.action(part.action), part.asked.get("speed")
        gait, pace = action.gait or "", float(np.sqrt(self.leg / AVERAGE_LEG))
        usual = 0.5 * sum(action.speed or (0.0, 0.0))
        if gait not in SPEED_BOUNDS:
            return usual * pace
        if word is None:
            return usual * self.style.speed * pace
        slow, fast = SPEED_BOUNDS[gait]
        return {"slow": slow * _SLOWER, "normal": 0.5 * (slow + fast), "fast": fast * _FASTER[gait]}[word] * pace


def _fit_duration(parts: list[_TimedPart], asked: float | None, behind: float) -> tuple[list[_TimedPart], float]:
    """Stretch or shorten the elastic parts to a duration; return them and the seconds that are left at the end.

    They take `asked` seconds together with those `behind` them.

    Raises
    ------
    UsageError
        If the actions take longer.
    """
    natural = sum(part.segment.seconds for part in parts)
    if asked is None or asked - behind == natural:
        return parts, 0.0
    seconds, least = round(asked - behind, 6), sum(part.least for part in parts)
    if seconds < least:
        more = np.ceil(round(10 * (least + behind), 6)) / 10
        raise UsageError(f"all of that takes at least {more:.1f} seconds (got {asked:g}); ask for more, or leave --seconds out")
    limits = [part.least if seconds < natural else part.most for part in parts]
    room = sum(limits) - natural
    share = min(1.0, (seconds - natural) / room) if room else 0.0
    usual = [part.segment.seconds for part in parts]
    new = [own + share * (limit - own) for own, limit in zip(usual, limits, strict=True)]
    done = [replace(part, segment=replace(part.segment, seconds=length)) for part, length in zip(parts, new, strict=True)]
    return done, max(0.0, seconds - sum(new))
