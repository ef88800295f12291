"""The track of one actor: base slots one after another, and what is layered over them.

Slots are planned in the order of time, each for all samples at once, until every sample has enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config import Config
from posegen.randomness import Stream, uniform
from posegen.scene import BOTH, NOTHING
from posegen.story.choosing import LayerDraw, SlotDraw, action_of, lessened, side_of, speed_of, turn_of
from posegen.story.layering import AFTER, BEFORE, lay_over
from posegen.story.repertoire import NO_GAIT, Repertoire
from posegen.story.timing import amplitude_of, room_of, span_of, target_of, tempo_of, turning_span
from posegen.story.wanted import Wanted

__all__ = ["UNUSED", "Actor", "Slots", "plan_track"]

Array = NDArray[Any]

_SLOT_DRAWS, _LAYER_DRAWS = 12, 8
_RADIANS = 3.141592653589793 / 180.0


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
    """Slots of one kind; arrays [n] for one slot, [n, slots] for a track. Named as in :class:`posegen.scene.Scenes`."""

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


def plan_track(config: Config, known: Repertoire, actor: Actor) -> tuple[Slots, Slots]:
    """Base slots and layered slots of one actor, arrays [n, slots]; layered slots are compact and in the order of time."""
    n = len(actor.sample)
    state = _State(np.zeros(n), np.full(n, NOTHING), np.full(n, NOTHING), np.zeros(n, bool))
    base: list[Slots] = []
    layers: list[Slots] = []
    while not base or (state.time < actor.needed).any():
        slot, layer, state = _next_slot(config, known, actor, state, len(base))
        base.append(slot)
        layers.append(layer)
    return _side_by_side(base), _compact(_side_by_side(layers))


def _next_slot(config: Config, known: Repertoire, actor: Actor, state: _State, number: int) -> tuple[Slots, Slots, _State]:
    draws = uniform(
        config.seed,
        actor.sample,
        Stream.SLOT,
        _SLOT_DRAWS,
        attempt=actor.attempt,
        substream=actor.number,
        first=number * _SLOT_DRAWS,
    )
    performed, own = _performed(known, actor, state, number, draws)
    overlay = known.layered[performed]
    base = replace(
        own,
        action=np.where(overlay, known.standing, performed),
        end=np.where(overlay, own.end + BEFORE + AFTER, own.end),
        side=np.where(overlay, BOTH, own.side).astype(np.int8),
        tempo=np.where(overlay, 1.0, own.tempo),
        amplitude=np.where(overlay, 1.0, own.amplitude),
        repetitions=np.where(overlay, 0, own.repetitions),
    )
    layer = _layer(config, known, actor, state, base, number)
    layer = Slots(
        **{field.name: np.where(overlay, getattr(own, field.name), getattr(layer, field.name)) for field in fields(Slots)}
    )
    layer = replace(
        layer,
        start=np.where(overlay, own.start + BEFORE, layer.start),
        end=np.where(overlay, own.end + BEFORE, layer.end),
    )
    done = state.time >= actor.needed
    straight = known.gait[performed] != NO_GAIT
    after = _State(np.where(done, state.time, base.end), performed, layer.action, straight & (own.turn == 0.0))
    return _unless(done, base), _unless(done, layer), after


def _performed(known: Repertoire, actor: Actor, state: _State, number: int, draws: Array) -> tuple[Array, Slots]:
    """The action that a slot is about, whether it carries the body or is performed standing."""
    remaining, left = actor.shown - state.time, actor.segments - number
    room = room_of(remaining, left)
    tempo = tempo_of(actor.energy, actor.tempo, draws[:, SlotDraw.TEMPO])
    weights = actor.weights if actor.wanted is None else actor.wanted.weights(actor.weights, number)
    action = action_of(known, weights, state.previous, state.layer, room, draws[:, SlotDraw.ACTION])
    if actor.wanted is not None:
        action = actor.wanted.actions(action, number)
    usual = actor.shown / actor.segments
    target = target_of(remaining, left, usual, draws[:, SlotDraw.TARGET])
    room = np.where(known.layered[action], room - (BEFORE + AFTER), room)
    span, repetitions = span_of(known, action, tempo, target, np.minimum(room, usual * 3.0), draws[:, SlotDraw.REPETITIONS])
    straight_before = state.straight & (action == state.previous)
    degrees, _ = turn_of(known, action, straight_before, span, draws)
    span = turning_span(known, action, degrees, span, actor.tempo, draws[:, SlotDraw.RATE])
    side = side_of(known, action, actor.left_handed, draws[:, SlotDraw.SIDE])
    speed = speed_of(known, action, actor.leg, actor.speed, draws[:, SlotDraw.SPEED])
    if actor.wanted is not None:
        side = actor.wanted.sides(action, side)
        speed = actor.wanted.speeds(action, speed, draws[:, SlotDraw.SPEED])
    slots = Slots(
        action=action,
        start=state.time,
        end=state.time + span,
        side=side,
        speed=speed,
        turn=degrees * _RADIANS,
        tempo=tempo,
        amplitude=amplitude_of(actor.energy, actor.amplitude, draws[:, SlotDraw.AMPLITUDE]),
        repetitions=repetitions,
    )
    return action, slots


def _layer(config: Config, known: Repertoire, actor: Actor, state: _State, base: Slots, number: int) -> Slots:
    draws = uniform(
        config.seed,
        actor.sample,
        Stream.LAYER,
        _LAYER_DRAWS,
        attempt=actor.attempt,
        substream=actor.number,
        first=number * _LAYER_DRAWS,
    )
    tempo = tempo_of(actor.energy, actor.tempo, draws[:, LayerDraw.TEMPO])
    layer = lay_over(
        known,
        lessened(lessened(actor.weights, state.previous, 0.0), state.layer, 0.0),
        (base.action, base.start, base.end, base.tempo),
        tempo,
        config.story.layering,
        draws,
    )
    side = side_of(known, layer.action, actor.left_handed, draws[:, LayerDraw.SIDE])
    return Slots(
        action=layer.action,
        start=layer.start,
        end=layer.end,
        side=side if actor.wanted is None else actor.wanted.sides(layer.action, side),
        speed=np.zeros(len(tempo)),
        turn=np.zeros(len(tempo)),
        tempo=tempo,
        amplitude=amplitude_of(actor.energy, actor.amplitude, draws[:, LayerDraw.AMPLITUDE]),
        repetitions=layer.repetitions,
    )


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


def _side_by_side(slots: list[Slots]) -> Slots:
    return Slots(**{name: np.stack([getattr(slot, name) for slot in slots], axis=1) for name in UNUSED})


def _compact(slots: Slots) -> Slots:
    unused = slots.action == NOTHING
    order = np.argsort(unused, axis=1, kind="stable")
    most = int((~unused).sum(axis=1).max(initial=0))
    return Slots(**{name: np.take_along_axis(getattr(slots, name), order, axis=1)[:, :most] for name in UNUSED})
