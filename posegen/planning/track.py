"""The track of one actor: base slots one after another, and what is layered over them.

Slots are planned in the order of time, each for all samples at once, until every sample has enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.constants import RADIANS
from posegen.planning.choosing import LayerDraw, SlotDraw, action_of, lessened, side_of, speed_of, turn_of
from posegen.planning.layering import AFTER, BEFORE, lay_over
from posegen.planning.repertoire import NO_GAIT, Repertoire
from posegen.planning.timing import amplitude_of, room_of, span_of, target_of, tempo_of, turning_span
from posegen.planning.wanted import Wanted
from posegen.randomness import Stream, uniform
from posegen.scene import BOTH, NOTHING

__all__ = ["UNUSED", "Actor", "Slots", "plan_track"]

Array = NDArray[Any]

_SLOT_DRAWS, _LAYER_DRAWS = 12, 8


@dataclass(frozen=True)
class Actor:
    """What decides the track of one actor in each of n samples; arrays [n] but for `weights`.

    Attributes
    ----------
    number : the actor's place in the scene
    sample : index of the sample
    attempt : which attempt at planning
    weights : of the actions, [n, actions]
    shown : seconds that the clip lasts
    needed : seconds that the plan must cover
    segments : slots that should start within the clip
    leg : height of the hip, metres
    energy, left_handed : of the person
    tempo, amplitude, speed : factors of the person's style
    wanted : what a quota wants of the actor, if any
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
    wanted: Wanted | None = None


@dataclass(frozen=True)
class Slots:
    """Slots of one kind; arrays [n, slots]. Named as in :class:`posegen.scene.Scenes`."""

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
    """Where the track of each sample has come to."""

    time: Array
    previous: Array
    layer: Array
    straight: Array


class _Step(NamedTuple):
    """One slot of each sample, as far as the next one depends on it; arrays [n] but for the draws.

    `action` is what it is about, whether it carries the body or is performed `overlay`, over standing; `start`, `end`, `tempo`,
    `degrees` and `repetitions` are of this action, the rest is of what may lie over it. Where it is `done` nothing is needed.
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


def plan_track(config: Config, known: Repertoire, actor: Actor) -> tuple[Slots, Slots]:
    """Base slots and layered slots of one actor, arrays [n, slots]; layered slots are compact and in the order of time."""
    n = len(actor.sample)
    state = _State(np.zeros(n), np.full(n, NOTHING), np.full(n, NOTHING), np.zeros(n, bool))
    steps: list[_Step] = []
    while not steps or (state.time < actor.needed).any():
        step, state = _next_step(config, known, actor, state, len(steps))
        steps.append(step)
    # What no later slot depends on is worked out for all slots at once.
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
        for stream, count in ((Stream.SLOT, _SLOT_DRAWS), (Stream.LAYER, _LAYER_DRAWS))
    )
    tempo = tempo_of(actor.energy, actor.tempo, draws[:, SlotDraw.TEMPO])
    action, span, degrees, repetitions = _chosen(known, actor, state, number, tempo, draws)
    end = state.time + span
    overlay = known.layered[action]
    base_end = np.where(overlay, end + BEFORE + AFTER, end)
    layer_tempo = tempo_of(actor.energy, actor.tempo, above[:, LayerDraw.TEMPO])
    layer = lay_over(
        known,
        lessened(lessened(actor.weights, state.previous, 0.0), state.layer, 0.0),
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
    """The action that a slot is about, its seconds, degrees and repetitions."""
    remaining, left = actor.shown - state.time, actor.segments - number
    room = room_of(remaining, left)
    weights = actor.weights if actor.wanted is None else actor.wanted.weights(actor.weights, number)
    action = action_of(known, weights, state.previous, state.layer, room, draws[:, SlotDraw.ACTION])
    if actor.wanted is not None:
        action = actor.wanted.actions(action, number)
    usual = actor.shown / actor.segments
    target = target_of(remaining, left, usual, draws[:, SlotDraw.TARGET])
    room = np.where(known.layered[action], room - (BEFORE + AFTER), room)
    span, repetitions = span_of(known, action, tempo, target, np.minimum(room, usual * 3.0), draws[:, SlotDraw.REPETITIONS])
    degrees, _ = turn_of(known, action, state.straight & (action == state.previous), span, draws)
    return action, turning_span(known, action, degrees, span, actor.tempo, draws[:, SlotDraw.RATE]), degrees, repetitions


def _performed(known: Repertoire, actor: Actor, step: _Step) -> Slots:
    """What slots are about, whether it carries the body or is performed standing."""
    action, draws = step.action, step.draws
    energy, leg, style = actor.energy[:, None], actor.leg[:, None], actor.speed[:, None]
    side = side_of(known, action, actor.left_handed[:, None], draws[..., SlotDraw.SIDE])
    speed = speed_of(known, action, leg, style, draws[..., SlotDraw.SPEED])
    if actor.wanted is not None:
        side = actor.wanted.sides(action, side)
        speed = actor.wanted.speeds(action, speed, draws[..., SlotDraw.SPEED])
    return Slots(
        action=action,
        start=step.start,
        end=step.end,
        side=side,
        speed=speed,
        turn=step.degrees * RADIANS,
        tempo=step.tempo,
        amplitude=amplitude_of(energy, actor.amplitude[:, None], draws[..., SlotDraw.AMPLITUDE]),
        repetitions=step.repetitions,
    )


def _base(known: Repertoire, step: _Step, own: Slots) -> Slots:
    """The slots that carry the body."""
    return replace(
        own,
        action=np.where(step.overlay, known.standing, own.action),
        end=np.where(step.overlay, own.end + BEFORE + AFTER, own.end),
        side=np.where(step.overlay, BOTH, own.side).astype(np.int8),
        tempo=np.where(step.overlay, 1.0, own.tempo),
        amplitude=np.where(step.overlay, 1.0, own.amplitude),
        repetitions=np.where(step.overlay, 0, own.repetitions),
    )


def _layers(known: Repertoire, actor: Actor, step: _Step, own: Slots) -> Slots:
    """What lies over the slots that carry the body: what is performed standing, and what is done besides."""
    draws = step.layer_draws
    side = side_of(known, step.layer, actor.left_handed[:, None], draws[..., LayerDraw.SIDE])
    besides = Slots(
        action=step.layer,
        start=step.layer_start,
        end=step.layer_end,
        side=side if actor.wanted is None else actor.wanted.sides(step.layer, side),
        speed=np.zeros(step.layer.shape),
        turn=np.zeros(step.layer.shape),
        tempo=step.layer_tempo,
        amplitude=amplitude_of(actor.energy[:, None], actor.amplitude[:, None], draws[..., LayerDraw.AMPLITUDE]),
        repetitions=step.layer_repetitions,
    )
    own = replace(own, start=own.start + BEFORE, end=own.end + BEFORE)
    return Slots(**{name: np.where(step.overlay, getattr(own, name), getattr(besides, name)) for name in UNUSED})


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
"""What the columns of a slot hold that is not used."""


def _unless(done: Array, slots: Slots) -> Slots:
    unused = done | (slots.action == NOTHING)
    return Slots(**{name: np.where(unused, value, getattr(slots, name)) for name, value in UNUSED.items()})


def _compact(slots: Slots) -> Slots:
    unused = slots.action == NOTHING
    order = np.argsort(unused, axis=1, kind="stable")
    most = int((~unused).sum(axis=1).max(initial=0))
    return Slots(**{name: np.take_along_axis(getattr(slots, name), order, axis=1)[:, :most] for name in UNUSED})
