"""The track of one actor: consecutive base segments and the layers over them.

Segments are planned in the order of time, each for all samples at once, until the tracks of all samples are long enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posegen.arrays import Array
from posegen.config.schema import Config
from posegen.constants import RADIANS
from posegen.planning.population import leg_height
from posegen.planning.repertoire import NO_GAIT, Repertoire
from posegen.planning.segments import (
    AFTER,
    BEFORE,
    UNUSED,
    Columns,
    LayerDraw,
    SegmentDraw,
    action_of,
    amplitude_of,
    layer_of,
    reduced,
    room_of,
    side_of,
    span_of,
    speed_of,
    target_of,
    tempo_of,
    turn_of,
    turning_span,
)
from posegen.randomness import Stream, uniform
from posegen.scene import BOTH, NOTHING, Persons

_SEGMENT_DRAWS, _LAYER_DRAWS = 12, 8
_MARGIN = 0.02
"""Margin in metres per second between drawn speeds and the limits of a quota."""


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
    attempt: int
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
        return uniform(
            config.seed, self.sample, stream, count, attempt=self.attempt, substream=self.number, first=number * count
        )

    def speeds(self, known: Repertoire, action: Array, draws: Array) -> Array:
        """Return the speeds of all segments [n, segments]."""
        drawn = speed_of(known, action, leg_height(self.person)[:, None], self.speed[:, None], draws)
        slow, fast = self.required.slow[:, None], self.required.fast[:, None]
        # Starts and curves make the measured speed slightly lower than the planned one.
        margin = np.minimum(_MARGIN, 0.25 * (fast - slow))
        limited = slow + margin + draws * ((fast - margin) - (slow + margin))
        return np.where((action == self.required.action[:, None]) & (fast > 0), limited, drawn)

    def sides(self, known: Repertoire, action: Array, draws: Array) -> Array:
        """Return the sides of all segments [n, segments]."""
        asked, side = self.required.action[:, None], self.required.side[:, None]
        own = side_of(known, action, self.person.left_handed[:, None], draws)
        return np.where((action == asked) & (action != NOTHING) & (side != BOTH), side, own)

    def amplitudes(self, draws: Array) -> Array:
        """Return the amplitudes of all segments [n, segments]."""
        return amplitude_of(self.person.energy[:, None], self.amplitude[:, None], draws)


class _State(NamedTuple):
    """The state of the track of each sample after some segments."""

    time: Array
    previous: Array
    layer: Array
    straight: Array


class _Step(NamedTuple):
    """One segment of each sample, as far as the next one depends on it.

    With `done` the track is complete and the segment unused. `main` are start, end, tempo, turn and repetitions of its main
    action, which is performed as a layer over standing if it can be a layer, otherwise as the base. `layer` are those of an
    additional layer.
    """

    done: Array
    draws: Array
    layer_draws: Array
    main: Columns
    layer: Columns


def plan_track(config: Config, known: Repertoire, actor: Actor) -> tuple[Columns, Columns]:
    """Return the base segments and the layers of one actor; layers are compact and in the order of time."""
    n = len(actor.sample)
    state = _State(np.zeros(n), np.full(n, NOTHING), np.full(n, NOTHING), np.zeros(n, bool))
    steps: list[_Step] = []
    while not steps or (state.time < actor.needed).any():
        step, state = _next_step(config, known, actor, state, len(steps))
        steps.append(step)
    # Columns on which no later segment depends are computed for all segments at once.
    done, draws, above = (np.stack(columns, axis=1) for columns in zip(*(step[:3] for step in steps), strict=True))
    main, layer = (
        {name: np.stack([columns[name] for columns in each], axis=1) for name in each[0]}
        for each in ([step.main for step in steps], [step.layer for step in steps])
    )
    action, overlay = main["action"], known.layered[main["action"]]
    main |= {
        "side": actor.sides(known, action, draws[..., SegmentDraw.SIDE]),
        "speed": actor.speeds(known, action, draws[..., SegmentDraw.SPEED]),
        "turn": main["turn"] * RADIANS,
        "amplitude": actor.amplitudes(draws[..., SegmentDraw.AMPLITUDE]),
    }
    layer |= {
        "side": actor.sides(known, layer["action"], above[..., LayerDraw.SIDE]),
        "speed": np.zeros(done.shape),
        "turn": np.zeros(done.shape),
        "amplitude": actor.amplitudes(above[..., LayerDraw.AMPLITUDE]),
    }
    standing = {name: UNUSED[name] for name in ("side", "tempo", "amplitude", "repetitions")}
    standing |= {"action": known.standing, "end": main["end"] + BEFORE + AFTER}
    above_standing = main | {"start": main["start"] + BEFORE, "end": main["end"] + BEFORE}
    base = {name: np.where(overlay, standing.get(name, values), values) for name, values in main.items()}
    layers = {name: np.where(overlay, above_standing[name], values) for name, values in layer.items()}
    return _unless(done, base), _compact(_unless(done, layers))


def _next_step(config: Config, known: Repertoire, actor: Actor, state: _State, number: int) -> tuple[_Step, _State]:
    draws = actor.draws(config, Stream.SEGMENT, _SEGMENT_DRAWS, number)
    above = actor.draws(config, Stream.LAYER, _LAYER_DRAWS, number)
    main = _main_action(known, actor, state, number, draws)
    action, end = main["action"], main["end"]
    overlay, done = known.layered[action], state.time >= actor.needed
    base = {
        "action": np.where(overlay, known.standing, action),
        "start": state.time,
        "end": np.where(overlay, end + BEFORE + AFTER, end),
        "tempo": np.where(overlay, 1.0, main["tempo"]),
    }
    weights = reduced(reduced(actor.weights, state.previous, 0.0), state.layer, 0.0)
    tempo = tempo_of(actor.person.energy, actor.tempo, above[:, LayerDraw.TEMPO])
    layer = layer_of(known, weights, base, tempo, config.story.layering, above)
    straight = (known.gait[action] != NO_GAIT) & (main["turn"] == 0.0)
    after = np.where(overlay, action, layer["action"])
    time = np.where(done, state.time, base["end"])
    return _Step(done, draws, above, main, layer), _State(time, action, after, straight)


def _main_action(known: Repertoire, actor: Actor, state: _State, number: int, draws: Array) -> Columns:
    """Return action, start, end, tempo, turn in degrees, and repetitions of the main action of a segment."""
    remaining, left, usual = actor.shown - state.time, actor.segments - number, actor.shown / actor.segments
    room, asked = room_of(remaining, left), actor.required
    required = asked.action != NOTHING
    # A required action does not occur before its own segment.
    later = np.where(required & (number < asked.at), asked.action, NOTHING)
    weights = reduced(actor.weights, later, 0.0) if (later != NOTHING).any() else actor.weights
    action = action_of(known, weights, state.previous, state.layer, room, draws[:, SegmentDraw.ACTION])
    action = np.where(required & (number == asked.at), asked.action, action)
    tempo = tempo_of(actor.person.energy, actor.tempo, draws[:, SegmentDraw.TEMPO])
    target = target_of(remaining, left, usual, draws[:, SegmentDraw.TARGET])
    room = np.minimum(np.where(known.layered[action], room - (BEFORE + AFTER), room), usual * 3.0)
    span, repetitions = span_of(known, action, tempo, target, room, draws[:, SegmentDraw.REPETITIONS])
    degrees = turn_of(known, action, state.straight & (action == state.previous), span, draws)
    span = turning_span(known, action, degrees, span, actor.tempo, draws[:, SegmentDraw.RATE])
    start, end = state.time, state.time + span
    return {"action": action, "start": start, "end": end, "tempo": tempo, "turn": degrees, "repetitions": repetitions}


def _unless(done: Array, segments: Columns) -> Columns:
    unused = done | (segments["action"] == NOTHING)
    return {name: np.where(unused, UNUSED[name], values) for name, values in segments.items()}


def _compact(segments: Columns) -> Columns:
    unused = segments["action"] == NOTHING
    order = np.argsort(unused, axis=1, kind="stable")
    most = int((~unused).sum(axis=1).max(initial=0))
    return {name: np.take_along_axis(values, order, axis=1)[:, :most] for name, values in segments.items()}
