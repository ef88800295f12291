"""The track of one actor: consecutive base segments and the layers over them.

Segments are planned in the order of time, each for all samples at once, until the tracks of all samples are long enough. For
each segment are drawn its action, speed, turn, side, tempo, amplitude, duration and repetitions, and a layer over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import leg_height
from posegen.foundations.constants import AVERAGE_LEG, RADIANS
from posegen.foundations.randomness import Stream, choose_fitting, uniform
from posegen.foundations.scene import BOTH, LEFT, NOTHING, RIGHT, UNUSED, Persons
from posegen.planning.course import Columns, Course, path_of, path_speeds, seconds_of_ends, split_paths, stacked
from posegen.planning.durations import around_of, ending_factor, filled, shortened_turn, span_of, target_of, turning_span
from posegen.planning.repertoire import NO_GAIT, RUN, STEP, WALK, Repertoire
from posegen.planning.rules import RULES, of_age

_SEGMENT = RULES.segment
_SEGMENT_DRAWS, _LAYER_DRAWS = 12, 8


class Requirement(NamedTuple):
    """What a quota requires of an actor's track, nothing by default; arrays [n], or [1] for all samples.

    Attributes
    ----------
    action, at : action, or NOTHING, and the number of the base segment with it
    slow, fast : limits of its speed in metres per second; 0 without limits
    side : its side, LEFT or RIGHT; BOTH without a requirement
    """

    action: Array = np.array([NOTHING])
    at: Array = np.zeros(1)
    slow: Array = np.zeros(1)
    fast: Array = np.zeros(1)
    side: Array = np.array([BOTH])


NO_REQUIREMENT = Requirement()


@dataclass(frozen=True)
class Actor:
    """Input of the track of one actor in n samples; arrays [n] except `weights`.

    Attributes
    ----------
    number : index of the actor in the scene
    sample : index of the sample
    attempt : number of the attempt at planning
    weights : of the actions, [n, actions]
    shown : seconds of the clip
    needed : seconds that the plan must cover
    segments : number of segments that should start within the clip
    person : the persons who play it
    tempo, amplitude, speed : factors of the person's style
    required : what a quota requires
    """

    number: int
    sample: Array
    attempt: Array
    weights: Array
    shown: Array
    needed: float
    segments: Array
    person: Persons
    tempo: Array
    amplitude: Array
    speed: Array
    required: Requirement = NO_REQUIREMENT

    def draws(self, config: Config, stream: Stream, count: int, number: int) -> Array:
        """Return the random numbers of a segment, [n, count]."""
        first = number * count
        return uniform(config.seed, self.sample, stream, count, attempt=self.attempt, substream=self.number, first=first)

    def speeds(self, known: Repertoire, action: Array, seconds: Array, draws: Array) -> Array:
        """Return the speeds of all segments [n, segments]: no faster than age and the time for starting and stopping allow."""
        leg, age = leg_height(self.person)[:, None], self.person.age[:, None]
        aged = np.where(known.gait[action] == WALK, of_age(RULES.age.walking, age), 1.0) * self.speed[:, None]
        drawn = speed_of(known, action, leg, aged, draws)
        gait, room = known.gait[action], RULES.path.room * seconds
        fastest = np.minimum(RULES.age.top_speed * of_age(RULES.age.running, age) * np.sqrt(leg / AVERAGE_LEG), room)
        fastest, least = np.where(gait == RUN, fastest, room), speed_limits(known, action)[0]
        drawn = np.where((gait == RUN) | (gait == WALK), np.minimum(drawn, np.maximum(fastest, least)), drawn)
        slow, fast = self.required.slow[:, None], self.required.fast[:, None]
        # Starts and curves make the measured speed slightly lower than the planned one.
        margin = np.minimum(_SEGMENT.margin, 0.25 * (fast - slow))
        limited = slow + margin + draws * ((fast - margin) - (slow + margin))
        return np.where((action == self.required.action[:, None]) & (fast > 0), limited, drawn)

    def sides(self, known: Repertoire, action: Array, draws: Array) -> Array:
        """Return the sides of all segments [n, segments]."""
        asked, side = self.required.action[:, None], self.required.side[:, None]
        own = side_of(known, action, self.person.left_handed[:, None], draws)
        return np.where((action == asked) & (action != NOTHING) & (side != BOTH), side, own)

    def amplitudes(self, known: Repertoire, action: Array, draws: Array) -> Array:
        """Return the amplitudes of all segments [n, segments], as far as age allows."""
        drawn = factor_of(RULES.amplitude, self.person.energy[:, None], self.amplitude[:, None], draws)
        age = self.person.age[:, None]
        aged = np.where(known.jumping[action], of_age(RULES.age.jump, age), of_age(RULES.age.range, age))
        return np.asarray(np.maximum(drawn * aged, np.minimum(drawn, RULES.amplitude.least)))


class _State(NamedTuple):
    """The state of the track of each sample after some segments."""

    time: Array
    previous: Array
    layer: Array
    straight: Array
    holding: Array


_Step: TypeAlias = tuple[Array, Array, Array, Columns, Columns]
"""One segment of each sample, as far as the next one depends on it: whether the track is complete and the segment unused, the
draws of the segment and of its layer, and the main action and an additional layer: start, end, tempo, turn and repetitions. The
main action is performed as a layer over standing if it can be a layer, otherwise as the base.
"""


def plan_track(config: Config, known: Repertoire, actor: Actor) -> Course:
    """Return the course of one actor alone; its layers are compact and in the order of time."""
    n = len(actor.sample)
    state = _State(np.zeros(n), np.full(n, NOTHING), np.full(n, NOTHING), np.zeros(n, bool), np.zeros(n, bool))
    steps: list[_Step] = []
    while not steps or (state.time < actor.needed).any():
        step, state = _next_step(config, known, actor, state, len(steps))
        steps.append(step)
    # Columns on which no later segment depends are computed for all segments at once.
    *arrays, mains, additional = zip(*steps, strict=True)
    done, draws, above = (np.stack(columns, axis=1) for columns in arrays)
    main, layer = stacked(mains), stacked(additional)
    action, overlay = main["action"], known.layered[main["action"]]
    seconds = seconds_of_ends(main["path"], main["end"] - main["start"])
    main |= {
        "side": actor.sides(known, action, draws[..., SegmentDraw.SIDE]),
        "speed": path_speeds(main["path"], actor.speeds(known, action, seconds, draws[..., SegmentDraw.SPEED])),
        "turn": main["turn"] * RADIANS,
        "amplitude": actor.amplitudes(known, action, draws[..., SegmentDraw.AMPLITUDE]),
    }
    layer |= {
        "side": actor.sides(known, layer["action"], above[..., LayerDraw.SIDE]),
        "speed": np.zeros(done.shape),
        "turn": np.zeros(done.shape),
        "amplitude": actor.amplitudes(known, layer["action"], above[..., LayerDraw.AMPLITUDE]),
    }
    standing = {name: UNUSED[name] for name in ("side", "tempo", "amplitude", "repetitions")}
    standing |= {"path": 0, "action": known.standing, "end": main["end"] + _SEGMENT.before + _SEGMENT.after}
    above_standing = main | {"start": main["start"] + _SEGMENT.before, "end": main["end"] + _SEGMENT.before}
    base = {name: np.where(overlay, standing.get(name, values), values) for name, values in main.items()}
    layers = {name: np.where(overlay, above_standing[name], values) for name, values in layer.items()}
    base = split_paths(_unless(done, base), draws[..., SegmentDraw.LEFT_OR_RIGHT] >= 0.5)
    return Course(base, _compact(_unless(done, layers)))


def _next_step(config: Config, known: Repertoire, actor: Actor, state: _State, number: int) -> tuple[_Step, _State]:
    draws = actor.draws(config, Stream.SEGMENT, _SEGMENT_DRAWS, number)
    above = actor.draws(config, Stream.LAYER, _LAYER_DRAWS, number)
    main = _main_action(known, actor, state, number, draws)
    action, end = main["action"], main["end"]
    overlay, done = known.layered[action], state.time >= actor.needed
    base = {
        "action": np.where(overlay, known.standing, action),
        "start": state.time,
        "end": np.where(overlay, end + _SEGMENT.before + _SEGMENT.after, end),
        "tempo": np.where(overlay, 1.0, main["tempo"]),
    }
    # A layer that the end of the clip would cut is planned to end before it.
    host = base | {"end": np.where(state.time < actor.shown, np.minimum(base["end"], actor.shown), base["end"])}
    tempo = factor_of(RULES.tempo, actor.person.energy, actor.tempo, above[:, LayerDraw.TEMPO])
    recent = np.stack([state.previous, state.layer], axis=1)
    layer = layer_of(known, actor.weights, recent, host, tempo, config.story.layering, above)
    straight = (known.gait[action] != NO_GAIT) & (main["turn"] == 0.0) & (main["path"] == 0)
    after = np.where(overlay, action, layer["action"])
    time = np.where(done, state.time, base["end"])
    holding = (state.holding | (action == known.picking)) & (action != known.putting)
    return (done, draws, above, main, layer), _State(time, action, after, straight, holding)


def _main_action(known: Repertoire, actor: Actor, state: _State, number: int, draws: Array) -> Columns:
    """Return action, start, end, tempo, turn in degrees, and repetitions of the main action of a segment."""
    remaining, left, usual = actor.shown - state.time, actor.segments - number, actor.shown / actor.segments
    # For repetitions there is room until the remaining segments must start, before the end of the clip.
    room = np.where(remaining > 0, remaining - np.maximum(left - 1, 0) * _SEGMENT.next, np.inf)
    asked = actor.required
    required = asked.action != NOTHING
    # A required action does not occur before its own segment.
    later = np.where(required & (number < asked.at), asked.action, NOTHING)
    # What is held is put down before anything else is picked up.
    holding = np.where(state.holding, known.picking, NOTHING)
    banned = np.stack([np.broadcast_to(later, holding.shape), holding], axis=1)
    action = action_of(known, actor.weights, banned, state.previous, state.layer, left <= 1, room, draws[:, SegmentDraw.ACTION])
    too_long = (remaining > 0) & (known.shortest[action] > _SEGMENT.most_haste * (remaining - around_of(known, action)))
    # Standing is not repeated; what takes too long after it is cut by the end of the clip.
    filler = too_long & known.counted[action] & (state.previous != known.standing)
    action = np.where(filler, known.standing, action)
    action = np.where(required & (number == asked.at), asked.action, action)
    tempo = factor_of(RULES.tempo, actor.person.energy, actor.tempo, draws[:, SegmentDraw.TEMPO])
    tempo = np.where(known.steady[action], 1.0, tempo)
    target = target_of(remaining, left, usual, draws[:, SegmentDraw.TARGET])
    room = np.minimum(room - around_of(known, action), usual * 3.0)
    span, repetitions = span_of(known, action, tempo, target, room, draws[:, SegmentDraw.REPETITIONS])
    kept, rest = np.where(left > 1, _SEGMENT.shortest_next, _SEGMENT.shortest_last), remaining - around_of(known, action)
    span, repetitions = filled(known, action, tempo, span, repetitions, rest, kept)
    degrees = turn_of(known, action, state.straight & (action == state.previous), span, draws)
    span = turning_span(known, action, degrees, span, actor.tempo, draws[:, SegmentDraw.RATE])
    path, seconds = path_of(known, np.where(required, NOTHING, action), room, remaining, draws[:, SegmentDraw.PATH])
    degrees, span = np.where(path > 0, 0.0, degrees), np.where(path > 0, seconds, span)
    degrees, span = shortened_turn(known, action, degrees, span, rest)
    factor = ending_factor(known, action, span, rest, kept)
    factor = np.where(known.steady[action], 1.0, factor)
    slowest, fastest = (np.clip(actor.tempo * limit, *RULES.tempo.styled) for limit in RULES.tempo.limits)
    hastened = np.where(known.steady[action], 1.0, np.clip(tempo / factor, slowest, fastest))
    span = np.where(known.counted[action], span * tempo / hastened, span * factor)
    tempo = np.where(known.counted[action], hastened, tempo)
    start, end = state.time, state.time + span
    segment = {"action": action, "start": start, "end": end, "tempo": tempo, "repetitions": repetitions}
    return segment | {"turn": degrees, "path": path}


def _unless(done: Array, segments: Columns) -> Columns:
    unused = done | (segments["action"] == NOTHING)
    return {name: np.where(unused, UNUSED[name], values) for name, values in segments.items()}


def _compact(segments: Columns) -> Columns:
    unused = segments["action"] == NOTHING
    order = np.argsort(unused, axis=1, kind="stable")
    most = int((~unused).sum(axis=1).max(initial=0))
    return {name: np.take_along_axis(values, order, axis=1)[:, :most] for name, values in segments.items()}


SegmentDraw = IntEnum(
    "SegmentDraw", "ACTION TARGET TEMPO AMPLITUDE SPEED STRAIGHT TURN SIDE REPETITIONS RATE LEFT_OR_RIGHT PATH", start=0
)
"""Positions of the random numbers of a base segment. A new one is added at the end."""
LayerDraw = IntEnum("LayerDraw", "WHETHER ACTION TEMPO AMPLITUDE SIDE REPETITIONS TARGET START", start=0)
"""Positions of the random numbers of a layer. A new one is added at the end."""


def action_of(
    known: Repertoire, weights: Array, banned: Array, previous: Array, layer: Array, last: Array, room: Array, draws: Array
) -> Array:
    """Choose an action for each segment.

    Parameters
    ----------
    known : Repertoire
    weights : float [n, actions]
    banned : int [n, k]
        Actions that are not possible, or NOTHING.
    previous : int [n]
        The previous action, which is not repeated; only a gait may be, with another path.
    layer : int [n]
        The layer over the previous action, or NOTHING; not repeated either.
    last : bool [n]
        Whether the clip ends with the segment.
    room : float [n]
        Available seconds.
    draws : float [n]

    Returns
    -------
    int [n]
    """
    # A clip may end on a seat or on the floor.
    resting = np.where(known.resting & ~known.counted, known.enter + _SEGMENT.hold, known.shortest)
    needed = np.stack([known.shortest, resting])
    travelling = (known.gait != NO_GAIT) & (known.gait != STEP) & (known.left > 0)
    lessened = np.concatenate([banned, np.stack([previous, layer], axis=1)], axis=1)
    factors = np.zeros(lessened.shape)
    factors[:, -2] = np.where(travelling, _SEGMENT.again, 0.0)[previous]
    chosen = choose_fitting(draws, weights, needed, last, room, lessened, factors)
    # If no action fits, one that the end of the clip cuts is chosen; if all would repeat, a repetition.
    for kept in (lessened.shape[1], banned.shape[1]):
        none = np.flatnonzero(chosen == NOTHING)
        if len(none):
            own, unlimited = (lessened[none, :kept], factors[none, :kept]), np.full(len(none), np.inf)
            chosen[none] = choose_fitting(draws[none], weights[none], needed, last[none], unlimited, *own)
    return np.maximum(chosen, 0)


def speed_of(known: Repertoire, action: Array, leg: Array, style: Array, draws: Array) -> Array:
    """Return the speed of locomotion in metres per second, scaled by the square root of the leg length (equal Froude number).

    The distribution over the range of the action is triangular. `style` is the factor of the person's style, within the limits
    of the gait.
    """
    slow, fast = known.slow[action], known.fast[action]
    least, most = speed_limits(known, action)
    share = np.where(draws < 0.5, np.sqrt(0.5 * draws), 1.0 - np.sqrt(np.maximum(0.5 * (1.0 - draws), 0.0)))
    speed = np.clip((slow + share * (fast - slow)) * style, least, most)
    return np.asarray(speed * np.sqrt(leg / AVERAGE_LEG))


def speed_limits(known: Repertoire, action: Array) -> tuple[Array, Array]:
    """Return the limits of the speeds of actions with any style or quota, metres per second for an average leg."""
    slow, fast, gait = known.slow[action], known.fast[action], known.gait[action]
    least, most = RULES.speed.other[0] * slow, RULES.speed.other[1] * fast
    for kind, (slowest, fastest) in ((WALK, RULES.speed.walk), (RUN, RULES.speed.run)):
        least = np.where(gait == kind, np.minimum(slow, slowest), least)
        most = np.where(gait == kind, np.maximum(fast, fastest), most)
    return least, most


def turn_of(known: Repertoire, action: Array, straight_before: Array, span: Array, draws: Array) -> Array:
    """Return the turn of each segment in degrees, positive to the left.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    straight_before : bool [n]
        Whether the previous segment was the same gait straight ahead, so that this one must turn.
    span : float [n]
        Seconds of the segment.
    draws : float [n, SegmentDraw]

    Returns
    -------
    float [n]
    """
    gait = known.gait[action]
    # Some actions always turn, to one side only, unless on the spot.
    either = (gait == STEP) & (known.right[action] > 0)
    only_left, only_right = (known.right[action] > 0) & ~either, known.left[action] < 0
    left = (only_left | (draws[:, SegmentDraw.LEFT_OR_RIGHT] < 0.5)) & ~only_right
    always = np.where(only_right, -known.left[action], np.maximum(known.right[action], 0.0))
    most = np.where(left | either, known.left[action], -known.right[action])
    least = np.maximum(np.minimum(np.where(gait == STEP, _SEGMENT.least_turn, _SEGMENT.least_curve), most), always)
    size = least + draws[:, SegmentDraw.TURN] * (most - least)
    size = np.where(gait == STEP, size, np.maximum(np.minimum(size, _SEGMENT.curve_rate * span), always))
    curved = (gait == STEP) | (draws[:, SegmentDraw.STRAIGHT] >= _SEGMENT.straight) | straight_before | (always > 0)
    return np.where((gait != NO_GAIT) & curved, np.where(left, size, 0.0 - size), 0.0)


def side_of(known: Repertoire, action: Array, left_handed: Array, draws: Array) -> Array:
    """Return the side of each action: mostly the dominant hand; gaits start with either foot."""
    dominant = np.where(left_handed, LEFT, RIGHT)
    hand = np.where(draws < _SEGMENT.dominant_hand, dominant, LEFT + RIGHT - dominant)
    foot = np.where(draws < 0.5, LEFT, RIGHT)
    side = np.where(known.sided[action], hand, np.where(known.gait[action] != NO_GAIT, foot, BOTH))
    return np.where(action == NOTHING, BOTH, side).astype(np.int8)


def factor_of(rule: Any, energy: Array, style: Array, draws: Array) -> Array:
    """Return a factor that grows with energy, by the rule of tempo or amplitude; `style` is that of the person's style."""
    own = np.clip(rule.mean + rule.energy * energy + rule.spread * (draws - 0.5), *rule.limits)
    return np.asarray(np.clip(style * own, *rule.styled))


def layer_of(
    known: Repertoire, weights: Array, recent: Array, base: Columns, tempo: Array, chance: float, draws: Array
) -> Columns:
    """Return arm actions as layers over base segments that leave the arms free.

    Parameters
    ----------
    known : Repertoire
    weights : float [n, actions]
        Of all actions; those that cannot be layers are ignored.
    recent : int [n, k]
        Actions that are not repeated, or NOTHING.
    base : Columns
        Action, start, end and tempo of the base segments.
    tempo : float [n]
        Of the layer.
    chance : float
        Probability of a layer over a segment that leaves the arms free.
    draws : float [n, LayerDraw]

    Returns
    -------
    Columns
        Action, start, end, tempo and repetitions; the action is NOTHING where there is no layer.
    """
    action, start = base["action"], base["start"]
    seated, walking = known.seated[action], known.gait[action] != NO_GAIT
    # Sitting down and getting up need the arms; walking leaves them free throughout.
    first = start + np.where(seated, known.enter[action] / base["tempo"], np.where(walking, 0.0, _SEGMENT.before))
    last = base["end"] - np.where(seated, known.exit[action] / base["tempo"], _SEGMENT.after)
    window = last - first
    needed = np.where(known.layered, known.shortest, np.inf)[None]
    kind, factors = np.zeros(len(action), np.int64), np.zeros(recent.shape)
    chosen = choose_fitting(draws[:, LayerDraw.ACTION], weights, needed, kind, window * tempo, recent, factors)
    layered = known.host[action] & (draws[:, LayerDraw.WHETHER] < chance) & (chosen != NOTHING)
    target = window * (0.4 + 0.7 * draws[:, LayerDraw.TARGET])
    span, repetitions = span_of(known, chosen, tempo, target, window, draws[:, LayerDraw.REPETITIONS])
    layered &= span <= window
    begin = first + np.where(layered, (window - span) * draws[:, LayerDraw.START], 0.0)
    # A layer over a walk starts later than the walk, if there is time.
    begin = np.where(walking, np.maximum(begin, np.minimum(start + _SEGMENT.before, last - span)), begin)
    return {
        "action": np.where(layered, chosen, NOTHING),
        "start": begin,
        "end": np.minimum(begin + span, last),
        "tempo": tempo,
        "repetitions": np.where(layered, repetitions, 0),
    }
