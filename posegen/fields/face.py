"""The field `face`: facial expressions that fit the actions, eyes with blinks and gaze, brows, and mouths that move in speech.

An actor in an action that `face.yaml` lists shows its expression; otherwise an actor of a happy or sad style shows that one.
The action of the head takes precedence over that of the arms, and these over trunk and legs. Weights of expressions change by
minimum jerk within 0.3 s. A mouth opens and closes 8 times a second in talk, 6 in shouting, 10 in whispering and 4 in singing,
with a different amplitude each time. (At 20 frames a second 10 Hz is the highest rate that frames can show.) Blinks occur once
in each 3.5 s (17 a minute at rest: Bentivoglio et al. 1997) and take 0.3 s; the gaze changes once a second. All other numbers
are chosen, not measured: joint positions do not determine faces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posegen.fields.field import DerivedField, FieldArray, Sequences, minimum_jerk, weighted_neighbours
from posegen.fields.vectors import cosine
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.skeleton import PARTS
from posegen.foundations.yaml_files import read_yaml

_TABLES: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).with_name("face.yaml"))
EXPRESSIONS = tuple(_TABLES["expressions"])
SPEECH: Mapping[str, Sequence[float]] = _TABLES["speech"]
"""Cycles a second, opening of the mouth, and its rounding."""
COMPONENTS = (
    "left_eye_open", "right_eye_open", "gaze_left", "gaze_up", "brows_raised", "brows_lowered", "inner_brows_raised",
    "mouth_open", "mouth_corners", "mouth_rounded",
)  # fmt: skip
_STYLES = {"happy": "happy", "sad": "sad"}
_ORDER = ("head", "left_arm", "right_arm", "trunk", "legs")
_TRANSITION = 0.3
_BLINK_EVERY, _BLINK = 3.5, 0.3
_LOOK_EVERY = 1.0
_TURN = 6.283185307179586


def _blended(values: Array, last: Array, fps: float) -> Array:
    """Smooth steps over time into minimum-jerk rises of 0.3 s around them.

    `values` is [n, actor, frame, ...] of one variant, `last` the last frame of each sample, which is repeated beyond the end.
    """
    reach = int(_TRANSITION / 2 * fps) + 1
    steps = np.arange(-reach, reach + 1)
    before, after = (minimum_jerk((steps + half) / (_TRANSITION * fps) + 0.5) for half in (-0.5, 0.5))
    return weighted_neighbours(values, last[:, None], dict(zip(steps.tolist(), (after - before).tolist(), strict=True)))


def _expressions(sequences: Sequences, names: dict[str, int], action: Array, otherwise: Array) -> Array:
    """Return the number of an action of each actor, of its first part in :data:`_ORDER` that `names` has; [n, actor, frame]."""
    table = np.full(65536, -1, np.int64)
    table[: len(sequences.library.actions)] = [names.get(name, -1) for name in sequences.library.actions]
    found = np.full(action.shape[:-1], -1, np.int64)
    for part in _ORDER:
        numbers = table[action[..., PARTS.index(part)]]
        found = np.where(found < 0, numbers, found)
    return np.where(found < 0, otherwise[..., None], found)


def _events(sequences: Sequences, actor: int, first: int, count: int, width: int) -> Array:
    """Return random numbers of an actor for `count` events of a kind; [n, count, width]."""
    draws = uniform(
        sequences.config.seed, sequences.samples, Stream.FACE, count * width, substream=actor, first=first * (1 << 20)
    )
    return draws.reshape(len(draws), count, width)


def _eyes(sequences: Sequences, actor: int, seconds: Array) -> tuple[Array, Array, Array]:
    """Return the opening of the eyes, and the gaze to the left and up; each [n, frame]."""
    window = np.floor(seconds / _BLINK_EVERY).astype(np.int64)
    blinks = _events(sequences, actor, 0, int(window[-1]) + 1, 1)[:, window, 0]
    since = seconds - window * _BLINK_EVERY - blinks * (_BLINK_EVERY - _BLINK)
    closing, opening = minimum_jerk(3.0 * since / _BLINK), minimum_jerk(1.5 * since / _BLINK - 0.5)
    shut = np.where((since >= 0) & (since <= _BLINK), closing * (1.0 - opening), 0.0)
    look = np.floor(seconds / _LOOK_EVERY).astype(np.int64)
    looks = _events(sequences, actor, 1, int(look[-1]) + 1, 2)[:, look]
    return 1.0 - shut, (looks[..., 0] - 0.5) * 0.8, (looks[..., 1] - 0.5) * 0.4


def _mouth(sequences: Sequences, actor: int, seconds: Array, rate: Array) -> Array:
    """Return the opening of the mouth by speech, between 0 and 1; [n, frame]."""
    most = max(rates[0] for rates in SPEECH.values())
    strength = _events(sequences, actor, 2, int(seconds[-1] * most) + 2, 1)[..., 0]
    turns = seconds * rate
    cycle = np.floor(turns).astype(np.int64)
    wide = 0.5 + 0.5 * np.take_along_axis(strength, cycle, axis=1)
    return np.asarray(wide * (0.5 - 0.5 * cosine((turns - cycle) * _TURN)))


def _variant_faces(sequences: Sequences, variant: int, styles: Array) -> tuple[Array, Array]:
    """Return weights of the expressions and components of the faces; [n, actor, frame, ...]."""
    fps, frames = float(sequences.config.fps), sequences.shape[3]
    action, seconds = sequences.action[:, variant], np.arange(frames) / fps
    last = np.maximum(sequences.lengths[:, variant] - 1, 0)
    numbers = {name: EXPRESSIONS.index(expression) for name, expression in _TABLES["actions"].items()}
    expressions = _expressions(sequences, numbers, action, styles[:, variant])
    weights = _blended((expressions[..., None] == np.arange(len(EXPRESSIONS))).astype(np.float64), last, fps)
    speech = _expressions(sequences, {name: i for i, name in enumerate(SPEECH)}, action, np.full(expressions.shape[:2], -1))
    rates, opening, rounding = (np.array([*column, 0.0]) for column in zip(*SPEECH.values(), strict=True))
    loud, round_ = (_blended(table[speech], last, fps) for table in (opening, rounding))
    faces = np.zeros((*expressions.shape, len(COMPONENTS)))
    looks = np.array([*_TABLES["expressions"].values()])
    plain = np.zeros((*expressions.shape, looks.shape[1]))
    for number in range(len(EXPRESSIONS)):
        plain += weights[..., number, None] * looks[number]
    side = np.where(sequences.parameter("mirrored")[:, variant] > 0, -1.0, 1.0)[:, None]
    for actor in range(expressions.shape[1]):
        eyes, left, up = _eyes(sequences, actor, seconds)
        spoken = _mouth(sequences, actor, seconds, rates[speech[:, actor]]) * loud[:, actor]
        faces[:, actor, :, 0] = faces[:, actor, :, 1] = plain[:, actor, :, 0] * eyes
        faces[:, actor, :, 2], faces[:, actor, :, 3] = side * left, up
        faces[:, actor, :, 4:7] = plain[:, actor, :, 1:4]
        faces[:, actor, :, 7] = np.minimum(plain[:, actor, :, 4] + spoken, 1.0)
        faces[:, actor, :, 8] = plain[:, actor, :, 5]
        faces[:, actor, :, 9] = np.minimum(plain[:, actor, :, 6] + round_[:, actor], 1.0)
    return weights, faces


def _compute(sequences: Sequences) -> dict[str, Array]:
    styles = sequences.actor_values("style", lambda style: EXPRESSIONS.index(_STYLES.get(style, "neutral"))).astype(np.int64)
    made = [_variant_faces(sequences, variant, styles) for variant in range(sequences.shape[1])]
    weights, faces = (np.stack(parts, axis=1).astype(np.float32) for parts in zip(*made, strict=True))
    return {"expression": weights.argmax(-1), "expression_weights": weights, "face": faces}


FIELD = DerivedField(
    "face",
    1,
    "expressions, eyes, brows and mouths, with cycles of speech",
    (
        FieldArray("expression", {}, "uint8", 255, {"names": list(EXPRESSIONS)}),
        FieldArray("expression_weights", {"expression_name": EXPRESSIONS}, attributes={"units": "1"}),
        FieldArray("face", {"face_component": COMPONENTS}, attributes={"units": "1"}),
    ),
    _compute,
    sources=("joints", "action", "rows"),
)
