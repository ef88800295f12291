"""Composition: motion with labels and captions for a text, and what of the text was not understood.

A text about one person becomes a script without contradictions. Its scene is planned and animated: it defines the person, and
time, speed, turn and repetitions of each action. For an interaction of two people, the first sample that shows it is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from posegen.captions.captions import describe_segments, write_captions
from posegen.captions.inputs import KINDS_OF_PEOPLE, kinds_of_people
from posegen.captions.parser import ParsedCaption, explain_unknown, parse_caption, require_readable
from posegen.captions.segments import find_segments
from posegen.checks.segments import check_segments, remove_false
from posegen.checks.statements import check_statement, observe_actors
from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import leg_height, seat_height
from posegen.foundations.constants import AROUND, AVERAGE_LEG, PATHS, SHAPES, SPEED_BOUNDS, STANDING
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.scene import BOTH, DRAWS, LEFT, RIGHT, Persons, Scenes, empty_scenes
from posegen.foundations.wording import shown
from posegen.library.load import Library, load_library
from posegen.library.schema import Style
from posegen.motion.engine import animate
from posegen.planning.paths import path_seconds, path_speeds, split_paths
from posegen.planning.population import persons
from posegen.planning.repertoire import repertoire, seconds_of
from posegen.planning.scenes import plan_scenes
from posegen.planning.track import AFTER, BEFORE
from posegen.synthesis.synthesize import Batch, synthesize

_SCENES_PLANNED, _MOST_SCENES = 200, 2000
"""Scenes planned at a time, and in all, to find two people as described."""
_DETAILS = ("side", "count", "speed", "direction", "degrees", "path", "style")

_AGES = {"boy": (6, 15), "girl": (6, 15), "older_man": (60, 75), "older_woman": (60, 75)}
_GROWN, _OLD = (18, 59), (60, 75)
"""Years."""
_CANDIDATES = 64
_LAST, _SPARE = 0.6, 3.0
"""Seconds of standing that are shown at the end, and seconds that the scene continues after it."""
_FEWEST_FRAMES, _MOST_FRAMES = 10, 10_000
"""The bounds of `frames` in a config."""
_SINGLE_STEPS = 1 << 24

_GAIT_SECONDS, _RUN_SECONDS, _MOST_SECONDS, _BETWEEN = 4.0, 6.5, 5.0, 0.3
_TURN, _TURN_RATE, _CURVE, _BEYOND = 90.0, 98.0, 80.0, 20.0
"""Degrees, and degrees per second; a turn around exceeds the least angle of one by the last number."""
_SLOWER, _FASTER = 0.85, {"walk": 1.15, "run": 1.3}
"""Factors on the bounds of speed words, so that the speed is clearly beyond them; a run takes long to accelerate."""
_LONGER = 2.5


@dataclass(frozen=True)
class Composition:
    """Motion for a text.

    Attributes
    ----------
    text : as given
    joints : float32 [actors, frames, 22, 3]
        Metres.
    action : uint16 [actors, frames, parts]
        Index into `names`.
    contact : uint8 [actors, frames, contacts]
    names : of the actions
    fps : int
    row : dict
        As in the table of a dataset: captions, and the actors with their segments.
    not_understood : tuple of str
        Parts of the text.
    notes : tuple of str
        Messages for the user, a line each.
    """

    text: str
    joints: Array
    action: Array
    contact: Array
    names: tuple[str, ...]
    fps: int
    row: dict[str, Any]
    not_understood: tuple[str, ...]
    notes: tuple[str, ...]


def compose(text: str, *, seed: int = 0, seconds: float | None = None, library: Library | None = None) -> Composition:
    """Compose the motion that a text describes.

    Parameters
    ----------
    text : str
        Such as "a person walks forward slowly, then sits down and waves with the left hand".
    seed : int
        Random seed of what the text leaves open.
    seconds : float, optional
        Duration; the natural one unless given.
    library : Library, optional
        Posegen's own, unless given.

    Returns
    -------
    Composition

    Raises
    ------
    UsageError
        If the text is too long, describes nothing that posegen can show, or something impossible, also in `seconds`.
    """
    shortest, longest = _FEWEST_FRAMES / Config().fps, _MOST_FRAMES / Config().fps
    if seconds is not None and not shortest <= seconds <= longest:
        raise UsageError(f"seconds: ask for {shortest:g} to {longest:g} (got {seconds:g}), or leave --seconds out")
    require_readable(text)
    library = load_library() if library is None else library
    parsed = parse_caption(text, library)
    notes = explain_unknown(parsed, library)
    if not any(statement["kind"] == "action" for statement in parsed.statements):
        msg = "\n".join([f"{shown(text)} describes nothing that posegen can show; see posegen actions list", *notes])
        raise UsageError(msg)
    asked = {"text": text, "kind": "asked", "statements": parsed.statements}
    interaction, fps = _asked_interaction(parsed, library), Config().fps
    if interaction is not None:
        batch = _find_sample(text, parsed, interaction, library, seed, seconds)
        row = batch.rows[0] | {"captions": [asked, *batch.rows[0]["captions"]]}
        arrays = batch.joints[0, 0], batch.action[0, 0], batch.contact[0, 0]
    else:
        scenes, numbers = _plan_script(_make_script(parsed, library), library, fps, seed, seconds)
        motion = animate(scenes, library, int(scenes.length[0]), fps)
        arrays = motion.joints[0], motion.action[0], motion.contact[0]
        # What the joints do not show is not described.
        checked = check_segments(find_segments(scenes, library, fps), motion.joints, np.arange(1), library, fps)
        segments, config = remove_false(checked, library).segments, Config(seed=seed)
        described = describe_segments(scenes, library, config, segments)[0].as_py()
        actors = [{"seat_height": float(scenes.seat_height[0, 0]), "segments": described}]
        captions = [asked, *write_captions(scenes, library, config, segments)[0].as_py()]
        row = {"sample": 0, "variant": "base", "captions": captions, "actors": actors}
        notes += _missing(parsed, [numbers[k] for k in segments.planned.tolist()], motion.joints, actors, library, fps)
    return Composition(text, *arrays, library.actions, fps, row, tuple(parsed.unknown), tuple(notes))


def _missing(parsed: ParsedCaption, numbers: list[int], joints: Array, actors: Any, library: Library, fps: int) -> list[str]:
    """Return a message for each statement of the text that the joints do not show; `numbers` are those of visible segments."""
    number_of = {number: visible for visible, number in enumerate(numbers)}
    observed = observe_actors(np.ascontiguousarray(joints), [actors], library, fps)[0]
    messages = []
    for statement in parsed.statements:
        if statement["kind"] in ("people", "style") or int(statement["segment"]) < 0:
            continue
        if statement["kind"] == "order":
            relation, other = str(statement["value"]).split()
            statement = statement | {"value": f"{relation} {number_of.get(int(other), -1)}"}
        here = number_of.get(int(statement["segment"]))
        if here is None or check_statement(statement | {"segment": here}, observed, library) is False:
            what = " ".join(str(statement[key]) for key in ("kind", "value") if statement[key])
            messages.append(f"the motion does not show this of {shown(statement['action'])}: {what}")
    return messages


def _asked_interaction(parsed: ParsedCaption, library: Library) -> str | None:
    """Return the interaction that a text describes; None where it describes something else, or more."""
    done: tuple[dict[str, None], dict[str, None]] = ({}, {})
    with_partner = {(s["actor"], s["segment"]) for s in parsed.statements if s["kind"] == "partner" and s["value"]}
    for statement in parsed.statements:
        if statement["kind"] == "action":
            if (statement["actor"], statement["segment"]) not in with_partner:
                return None
            done[int(statement["actor"])][str(statement["action"])] = None
    asked = tuple(done[0]), tuple(done[1])
    return next((name for name, interaction in library.interactions.items() if interaction.parts == asked), None)


def _find_sample(
    text: str, parsed: ParsedCaption, interaction: str, library: Library, seed: int, seconds: float | None
) -> Batch:
    """Return the first sample of a seed in which two people as described interact, in its base variant."""
    kinds = {int(s["actor"]): str(s["value"]) for s in parsed.statements if s["kind"] == "people" and int(s["actor"]) >= 0}
    config = _interaction_config(kinds, interaction, library, seed, seconds)
    for first in range(0, _MOST_SCENES, _SCENES_PLANNED):
        scenes = plan_scenes(config, library, np.arange(first, first + _SCENES_PLANNED))
        fits, found = scenes.meets >= 0, kinds_of_people(scenes.persons)
        for actor, kind in kinds.items():
            fits &= found[:, actor] == KINDS_OF_PEOPLE.index(kind)
        for sample in (first + np.flatnonzero(fits)).tolist():
            batch = synthesize(config, [sample])
            if batch.rows[0]["attempt"] == 0 and _shows_all(batch.rows[0], interaction, library):
                return batch
    raise UsageError(f"{shown(text)}: no two such people were found for it; ask for others, or for more time with --seconds")


def _interaction_config(
    kinds: Mapping[int, str], interaction: str, library: Library, seed: int, seconds: float | None
) -> Config:
    ages = [_AGES.get(kind, _GROWN) for kind in kinds.values()] or [_GROWN]
    keys: dict[str, Any] = {
        "seed": seed,
        "population": {"age": {"min": min(low for low, _ in ages), "max": max(high for _, high in ages)}},
        "story": {
            "actors": {"min": 2, "max": 2},
            "interactions": {"share": 1, "weights": {name: float(name == interaction) for name in library.interactions}},
        },
        "variants": {"speed": None, "position": None, "scale": None, "mirror": False},
    }
    if seconds is not None:
        keys["frames"] = round(seconds * Config().fps)
    return Config.model_validate(keys)


def _shows_all(row: Mapping[str, Any], interaction: str, library: Library) -> bool:
    """Return whether all actions of an interaction are visible."""
    for actor, actions in zip(row["actors"], library.interactions[interaction].parts, strict=True):
        segments = actor["segments"]
        done = {s["action"] for s in segments if any(statement["kind"] == "partner" for statement in s["statements"])}
        if not done >= set(actions):
            return False
    return True


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


def _make_script(parsed: ParsedCaption, library: Library) -> Script:
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
    parts, during = _parts(parsed)
    styles = [str(s["value"]) for s in parsed.statements if s["kind"] == "style" and int(s["segment"]) < 0]
    styles += [part.asked["style"] for part in parts.values() if "style" in part.asked]
    if len(set(styles)) > 1:
        other = next(style for style in styles if style != styles[0])
        raise UsageError(f"the text describes a person who is both {styles[0]} and {other}: state one of them")
    who = [value for value in people if not value.isdigit()]
    based = _with_bases(_overlaid(parts, during, library), library)
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
                raise UsageError(f"{shown(part.action)} has two values of {kind}, {before} and {value}: state one of them")
            parts[number] = replace(part, asked=part.asked | {kind: value})
    return parts, during


def _overlaid(parts: dict[int, Part], during: dict[int, int], library: Library) -> list[Part]:
    """Overlay simultaneous actions on each other; the actions determine which of the two carries the body."""
    actions, done = repertoire(library), dict(parts)
    for number, host in during.items():
        upper, lower = done.pop(number), done[host]
        if not actions.layered[library.index(upper.action)]:
            upper, lower = lower, upper
        below, above = library.index(lower.action), library.index(upper.action)
        one, other, order = shown(lower.action), shown(upper.action), "state which comes first"
        if not actions.layered[above]:
            order += ", as in 'walks, then runs'"
            msg = f"{one} and {other} cannot be done at the same time: each needs the whole body; {order}"
        elif actions.layered[below]:
            msg = f"{other} and {one} both need the arms; {order}"
        elif not actions.host[below]:
            msg = f"{other} cannot be done during {one}, which needs the arms; {order}"
        else:
            done[host] = replace(lower, over=(*lower.over, upper))
            continue
        raise UsageError(msg)
    return [done[number] for number in sorted(done)]


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


@dataclass(frozen=True)
class _Segment:
    """One action over a time interval, in the terms of `scene.Scenes`; `number` as in :class:`Part`."""

    action: int
    number: int
    seconds: float
    side: int = BOTH
    speed: float = 0.0
    turn: float = 0.0
    repetitions: int = 0
    path: int = 0


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


def _plan_script(script: Script, library: Library, fps: int, seed: int, seconds: float | None) -> tuple[Scenes, list[int]]:
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
    Scenes
        One scene of one person.
    list of int
        For each planned segment, the number of its segment in the text, or -1.

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
    behind = _LAST if ends else 0.0
    while seconds is not None and sum(part.least for part in parts) + behind > seconds:
        timer = replace(timer, fewer=timer.fewer + 1)
        before, parts = parts, [timer.time_part(part) for part in script.parts]
        if parts == before:
            break
    parts, left = _fit_duration(parts, seconds, behind)
    base, over, length = _timeline(parts, library, left, ends)
    starts, stops, segments = zip(*base, *over, strict=True)
    frames = round(length * fps)
    if frames > _MOST_FRAMES:
        raise UsageError(f"that takes {length:.0f} seconds; ask for at most {_MOST_FRAMES // fps}")
    columns: dict[str, Array] = {
        "start": np.array(starts),
        "end": np.array(stops),
        "layered": np.arange(len(segments)) >= len(base),
        "turn": np.array([segment.turn * np.pi / 180.0 for segment in segments]),
    }
    own = ("action", "side", "speed", "repetitions", "path")
    columns |= {name: np.array([getattr(segment, name) for segment in segments]) for name in own}
    columns["path"] = np.where(columns["path"] >= PATHS.index(SHAPES[0]), columns["path"], 0)
    columns["speed"] = path_speeds(columns["path"], columns["speed"])
    columns = {name: values[None] for name, values in columns.items()}
    columns = split_paths(columns, np.full(columns["action"].shape, timer.side == RIGHT))
    scenes = empty_scenes(1, 1, columns["action"].shape[1])
    for name, values in columns.items():
        getattr(scenes, name)[0, 0] = values[0]
    scenes.tempo[:], scenes.amplitude[:] = style.tempo, style.amplitude
    scenes.length[:] = frames
    scenes.theme[:] = list(library.themes).index(script.place) if script.place in library.themes else 0
    scenes.seat_height[:] = seat_height(who, np.array([0.5]))
    drawn = uniform(seed, np.zeros(1, np.int64), Stream.MOTION, DRAWS)
    scenes.draws[:] = np.floor(drawn * _SINGLE_STEPS) / _SINGLE_STEPS
    return replace(scenes, persons=who.select(None)), [segment.number for segment in segments]


def _find_person(script: Script, library: Library, seed: int) -> Persons:
    """Return a person of the population who matches the script."""
    low, high = _OLD if script.style == "old" else _AGES.get(script.who, _GROWN)
    style = {script.style or "neutral": 1.0}
    config = Config.model_validate({"seed": seed, "population": {"age": {"min": low, "max": high}, "styles": style}})
    people = persons(config, library, np.arange(_CANDIDATES))
    fits = np.ones(_CANDIDATES, bool)
    if script.who:
        fits = people.male == script.who.endswith(("man", "boy")) & (not script.who.endswith("woman"))
    return people.select(np.flatnonzero(fits)[:1])


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
    fewer : int
        Repetitions fewer than usual, where their number is not stated.
    """

    library: Library
    style: Style
    leg: float
    side: int
    fewer: int = 0

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
        elastic = holds and part.number >= 0
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
            seconds = max(_GAIT_SECONDS, shortest)
        else:
            seconds = max(min(0.5 * (shortest + longest), _MOST_SECONDS), shortest / tempo)
        path = PATHS.index(part.asked.get("path", ""))
        seconds = max(seconds, path_seconds(path))
        side = {"left": LEFT, "right": RIGHT}.get(part.asked.get("side", ""), self.side)
        side = side if action.sided or action.gait is not None else BOTH
        number = self.library.index(part.action)
        return _Segment(number, part.number, seconds, side, self._speed(part), turn, repetitions, path)

    def _turn(self, part: Part) -> float:
        """Return degrees, left positive."""
        action, sign = self.library.action(part.action), 1.0 if self.side == LEFT else -1.0
        right, left = action.turn
        if right > 0 or left < 0:
            return 0.5 * (right + left) * (sign if action.gait == "step" else 1.0)
        if action.gait == "step":
            turns = {"left": _TURN, "right": -_TURN, "around": sign * (AROUND + _BEYOND)}
            turn = turns[part.asked["direction"]] if "direction" in part.asked else sign * _TURN
            size = float(part.asked.get("degrees", abs(turn)))
            return size if turn > 0 else -size
        return {"left": min(left, _CURVE), "right": max(right, -_CURVE)}.get(part.asked.get("path", "straight"), 0.0)

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
    seconds = round(asked - behind, 6)
    least, most = sum(part.least for part in parts), sum(part.most for part in parts)
    if seconds < least:
        more = np.ceil(round(10 * (least + behind), 6)) / 10
        raise UsageError(f"all of that takes at least {more:.1f} seconds (got {asked:g}); ask for more, or leave --seconds out")
    if seconds < natural:
        share = (natural - seconds) / (natural - least)
        new = [part.segment.seconds - share * (part.segment.seconds - part.least) for part in parts]
    else:
        share = min(1.0, (seconds - natural) / (most - natural)) if most > natural else 0.0
        new = [part.segment.seconds + share * (part.most - part.segment.seconds) for part in parts]
    done = [replace(part, segment=replace(part.segment, seconds=length)) for part, length in zip(parts, new, strict=True)]
    return done, max(0.0, seconds - sum(new))
