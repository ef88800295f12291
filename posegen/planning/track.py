"""The track of one actor: consecutive base segments and the layers over them.

Segments are planned in the order of time, each for all samples at once, until the tracks of all samples are long enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.constants import RADIANS
from posegen.planning.constraints import Constraints
from posegen.planning.repertoire import NO_GAIT, Repertoire
from posegen.planning.segments import (
    AFTER,
    BEFORE,
    LayerDraw,
    SegmentDraw,
    action_of,
    add_layer,
    amplitude_of,
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
from posegen.scene import BOTH, NOTHING

Array = NDArray[Any]

_SEGMENT_DRAWS, _LAYER_DRAWS = 12, 8


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
    leg : hip height, metres
    energy, left_handed : of the person
    tempo, amplitude, speed : factors of the person's style
    constraints : of a quota, if any
    """

    number: int
    sample: Array
    attempt: int
    weights: Array
    shown: Array
    needed: float
    segments: Array
    leg: Array
    energy: Array
    left_handed: Array
    tempo: Array
    amplitude: Array
    speed: Array
    constraints: Constraints | None = None


@dataclass(frozen=True)
class Segments:
    """Base segments or layers; arrays [n, segments], named as in :class:`posegen.scene.Scenes`."""

    action: Array
    start: Array
    end: Array
    side: Array
    speed: Array
    turn: Array
    tempo: Array
    amplitude: Array
    repetitions: Array


@dataclass(frozen=True)
class _State:
    """The state of the track of each sample after some segments."""

    time: Array
    previous: Array
    layer: Array
    straight: Array


class _Step(NamedTuple):
    """One segment of each sample, as far as the next one depends on it; arrays [n] except the draws.

    `action` is the main action of the segment. With `overlay` it is performed as a layer over standing, otherwise as the base.
    `start`, `end`, `tempo`, `degrees` and `repetitions` belong to this action, the columns `layer...` to an additional layer.
    With `done` the track is complete and the segment unused.
    """

    done: Array
    draws: Array
    action: Array
    overlay: Array
    start: Array
    end: Array
    tempo: Array
    degrees: Array
    repetitions: Array
    layer_draws: Array
    layer: Array
    layer_start: Array
    layer_end: Array
    layer_tempo: Array
    layer_repetitions: Array


def plan_track(config: Config, known: Repertoire, actor: Actor) -> tuple[Segments, Segments]:
    """Return the base segments and the layers of one actor; layers are compact and in the order of time."""
    n = len(actor.sample)
    state = _State(np.zeros(n), np.full(n, NOTHING), np.full(n, NOTHING), np.zeros(n, bool))
    steps: list[_Step] = []
    while not steps or (state.time < actor.needed).any():
        step, state = _next_step(config, known, actor, state, len(steps))
        steps.append(step)
    # Columns on which no later segment depends are computed for all segments at once.
    every = _Step(*(np.stack(columns, axis=1) for columns in zip(*steps, strict=True)))
    own = _performed(known, actor, every)
    return _unless(every.done, _base(known, every, own)), _compact(_unless(every.done, _layers(known, actor, every, own)))


def _draws(config: Config, actor: Actor, stream: Stream, count: int, number: int) -> Array:
    return uniform(
        config.seed,
        actor.sample,
        stream,
        count,
        attempt=actor.attempt,
        substream=actor.number,
        first=number * count,
    )


def _next_step(config: Config, known: Repertoire, actor: Actor, state: _State, number: int) -> tuple[_Step, _State]:
    draws, above = (
        _draws(config, actor, stream, count, number)
        for stream, count in ((Stream.SEGMENT, _SEGMENT_DRAWS), (Stream.LAYER, _LAYER_DRAWS))
    )
    tempo = tempo_of(actor.energy, actor.tempo, draws[:, SegmentDraw.TEMPO])
    action, span, degrees, repetitions = _chosen(known, actor, state, number, tempo, draws)
    end = state.time + span
    overlay = known.layered[action]
    base_end = np.where(overlay, end + BEFORE + AFTER, end)
    layer_tempo = tempo_of(actor.energy, actor.tempo, above[:, LayerDraw.TEMPO])
    layer = add_layer(
        known,
        reduced(reduced(actor.weights, state.previous, 0.0), state.layer, 0.0),
        (np.where(overlay, known.standing, action), state.time, base_end, np.where(overlay, 1.0, tempo)),
        layer_tempo,
        config.story.layering,
        above,
    )
    done, over = state.time >= actor.needed, (layer.action, layer.start, layer.end, layer_tempo, layer.repetitions)
    step = _Step(done, draws, action, overlay, state.time, end, tempo, degrees, repetitions, above, *over)
    straight = (known.gait[action] != NO_GAIT) & (degrees == 0.0)
    after = np.where(overlay, action, layer.action)
    return step, _State(np.where(done, state.time, base_end), action, after, straight)


def _chosen(
    known: Repertoire, actor: Actor, state: _State, number: int, tempo: Array, draws: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the main action of a segment, its seconds, degrees and repetitions."""
    remaining, left = actor.shown - state.time, actor.segments - number
    room = room_of(remaining, left)
    weights = actor.weights if actor.constraints is None else actor.constraints.weights(actor.weights, number)
    action = action_of(known, weights, state.previous, state.layer, room, draws[:, SegmentDraw.ACTION])
    if actor.constraints is not None:
        action = actor.constraints.actions(action, number)
    usual = actor.shown / actor.segments
    target = target_of(remaining, left, usual, draws[:, SegmentDraw.TARGET])
    room = np.where(known.layered[action], room - (BEFORE + AFTER), room)
    span, repetitions = span_of(known, action, tempo, target, np.minimum(room, usual * 3.0), draws[:, SegmentDraw.REPETITIONS])
    degrees, _ = turn_of(known, action, state.straight & (action == state.previous), span, draws)
    return action, turning_span(known, action, degrees, span, actor.tempo, draws[:, SegmentDraw.RATE]), degrees, repetitions


def _performed(known: Repertoire, actor: Actor, step: _Step) -> Segments:
    """Return the main actions of the segments, performed as base or as layer over standing."""
    action, draws = step.action, step.draws
    energy, leg, style = actor.energy[:, None], actor.leg[:, None], actor.speed[:, None]
    side = side_of(known, action, actor.left_handed[:, None], draws[..., SegmentDraw.SIDE])
    speed = speed_of(known, action, leg, style, draws[..., SegmentDraw.SPEED])
    if actor.constraints is not None:
        side = actor.constraints.sides(action, side)
        speed = actor.constraints.speeds(action, speed, draws[..., SegmentDraw.SPEED])
    return Segments(
        action=action,
        start=step.start,
        end=step.end,
        side=side,
        speed=speed,
        turn=step.degrees * RADIANS,
        tempo=step.tempo,
        amplitude=amplitude_of(energy, actor.amplitude[:, None], draws[..., SegmentDraw.AMPLITUDE]),
        repetitions=step.repetitions,
    )


def _base(known: Repertoire, step: _Step, own: Segments) -> Segments:
    """Return the base segments."""
    return replace(
        own,
        action=np.where(step.overlay, known.standing, own.action),
        end=np.where(step.overlay, own.end + BEFORE + AFTER, own.end),
        side=np.where(step.overlay, BOTH, own.side).astype(np.int8),
        tempo=np.where(step.overlay, 1.0, own.tempo),
        amplitude=np.where(step.overlay, 1.0, own.amplitude),
        repetitions=np.where(step.overlay, 0, own.repetitions),
    )


def _layers(known: Repertoire, actor: Actor, step: _Step, own: Segments) -> Segments:
    """Return the layers over the base segments: main actions over standing, and additional layers."""
    draws = step.layer_draws
    side = side_of(known, step.layer, actor.left_handed[:, None], draws[..., LayerDraw.SIDE])
    additional = Segments(
        action=step.layer,
        start=step.layer_start,
        end=step.layer_end,
        side=side if actor.constraints is None else actor.constraints.sides(step.layer, side),
        speed=np.zeros(step.layer.shape),
        turn=np.zeros(step.layer.shape),
        tempo=step.layer_tempo,
        amplitude=amplitude_of(actor.energy[:, None], actor.amplitude[:, None], draws[..., LayerDraw.AMPLITUDE]),
        repetitions=step.layer_repetitions,
    )
    own = replace(own, start=own.start + BEFORE, end=own.end + BEFORE)
    return Segments(**{name: np.where(step.overlay, getattr(own, name), getattr(additional, name)) for name in UNUSED})


UNUSED: dict[str, Any] = {
    "action": NOTHING,
    "start": 0.0,
    "end": 0.0,
    "side": BOTH,
    "speed": 0.0,
    "turn": 0.0,
    "tempo": 1.0,
    "amplitude": 1.0,
    "repetitions": 0,
}
"""Values of the columns of an unused segment."""


def _unless(done: Array, segments: Segments) -> Segments:
    unused = done | (segments.action == NOTHING)
    return Segments(**{name: np.where(unused, value, getattr(segments, name)) for name, value in UNUSED.items()})


def _compact(segments: Segments) -> Segments:
    unused = segments.action == NOTHING
    order = np.argsort(unused, axis=1, kind="stable")
    most = int((~unused).sum(axis=1).max(initial=0))
    return Segments(**{name: np.take_along_axis(getattr(segments, name), order, axis=1)[:, :most] for name in UNUSED})
