"""Benchmark of text-to-motion: pairs of prompts that differ in one statement, and a judge that measures it on the joints.

A statement is a side, a count, an order, a speed, a direction, or which of two people moves. No learned evaluator takes part,
so that the result does not depend on the data that one was trained on. How to cite a result is documented in docs/benchmark.md.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

import numpy as np
import pyarrow as pa
from pyarrow.json import read_json
from pydantic import Field, model_validator

from posegen.captions.parser import parse_caption
from posegen.captions.segments import SIDES
from posegen.checks.evidence import STRIDE_SECONDS, count_peaks, fill_signal, hip_height, prevailing_side, signs_of
from posegen.config.identity import digest
from posegen.dataset.clip_files import check_joints, read_array_file
from posegen.evaluation.body import point
from posegen.evaluation.claims import LIMBS, Movement, direction_shown, order_shown, side_shown, turn_shown
from posegen.foundations.arrays import Array
from posegen.foundations.constants import AVERAGE_LEG, SPEED_BOUNDS
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import BOTH, LEFT, RIGHT
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.wording import shown, table
from posegen.foundations.yaml_files import read_yaml
from posegen.library.load import Library, load_library

STANDARD = Path(__file__).with_name("benchmark.yaml")
Kind = Literal["side", "count", "order", "speed", "direction", "person"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LEAST_FRAMES = 12
_EVENT = "(jump|low|turn|travel)"
_STATEMENTS: Mapping[Kind, str] = {
    "side": r"\w+ (left|right)",
    "count": r"\w+ \d{1,3}",
    "order": f"{_EVENT} {_EVENT} (first|second)",
    "speed": "(walk|run) (slow|fast)",
    "direction": "turn (left|right)|travel (forward|backward|sideways|left|right)",
    "person": f"{_EVENT} (first|second)",
}
"""What a statement is about, and its value, by kind."""
_SMALLEST_SIGNAL = 0.08
"""Metres that a signal must span to show an action."""
_SHORT_STEP = 0.5
"""Share of the longest step."""
_MIDDLE = 0.1
"""Share of the speed between slow and fast, within which it is neither."""
_MOVING = 0.3
"""Metres per second from which a pelvis travels."""
_CONFIDENCE = 1.959964
"""Standard deviations of a confidence of 95 %."""


class Contrast(StrictModel):
    """Texts in which one statement has two values; see ``benchmark.yaml``."""

    kind: Kind
    about: str
    values: Annotated[dict[str, str], Field(min_length=2, max_length=2)]
    texts: Annotated[list[Annotated[str, Field(pattern=r"^([^{}]|\{(subject|other|\d)\})+$")]], Field(min_length=1)]


class BenchmarkConfig(StrictModel):
    """The config of a set of prompts: the texts of all contrasts, and how many pairs of each kind are drawn from them."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    seed: int
    subjects: Annotated[list[str], Field(min_length=1)]
    others: Annotated[list[str], Field(min_length=1)]
    pairs: dict[Kind, Annotated[int, Field(ge=1)]]
    contrasts: list[Contrast]


class Prompt(StrictModel):
    """A prompt.

    Attributes
    ----------
    id : str
        Name of its motion.
    kind : str
        One of :data:`KINDS`.
    text : str
    contrast : str
        The id of the prompt that differs in the value.
    about : str
        What the statement is about: arm or leg; an action, or steps; two events; walk or run; turn or travel; an event.
    value : str
        The statement: left, the number of repetitions, first for the first of two events or people, slow, forward.
    """

    id: Annotated[str, Field(pattern=r"^\w[\w.-]{0,99}$")]
    kind: Kind
    text: str
    contrast: str
    about: str
    value: str

    @model_validator(mode="after")
    def _can_be_measured(self) -> Self:
        if not re.fullmatch(_STATEMENTS[self.kind], f"{self.about} {self.value}"):
            raise ValueError(f"about and value of kind {self.kind} must match {_STATEMENTS[self.kind]}")
        return self


class PromptSet(StrictModel):
    """A set of prompts."""

    prompts: Annotated[list[Prompt], Field(min_length=1, max_length=1_000_000)]


def identity_of(prompts: Sequence[Prompt]) -> str:
    """Return the hash of a set of prompts, 32 hexadecimal digits; results cite it."""
    return digest([prompt.model_dump() for prompt in prompts])


def make_prompts(path: Path = STANDARD, library: Library | None = None) -> list[Prompt]:
    """Make the prompts of a config.

    Parameters
    ----------
    path : Path
        YAML file with the keys of :class:`BenchmarkConfig`; the standard set by default.
    library : Library, optional
        Whose words verify the texts; posegen's own by default.

    Raises
    ------
    UsageError
        If the config is invalid, has too few texts, or a text is not understood or states the same as its contrast.
    """
    config = validated(BenchmarkConfig, read_yaml(path), f"{path}: ")
    library = load_library() if library is None else library
    prompts: list[Prompt] = []
    for kind, count in config.pairs.items():
        pairs = _pairs(config, kind)
        if len(pairs) < count:
            raise UsageError(f"{path}: pairs.{kind} is {count}, and its texts make {len(pairs)} pairs: lower it, or add texts")
        for number, (about, texts) in enumerate(pairs[:count]):
            _verify(texts, library, path)
            if kind in ("side", "count") and about not in (*LIMBS, "steps", "jump"):
                _index(about, library, kind)
            names = [f"{kind}-{number:03}-{value}" for value in texts]
            for name, other, (value, text) in zip(names, names[::-1], texts.items(), strict=True):
                row = {"id": name, "kind": kind, "text": text, "contrast": other, "about": about, "value": value}
                prompts.append(validated(Prompt, row, f"{path}: "))
    return prompts


def _pairs(config: BenchmarkConfig, kind: str) -> list[tuple[str, dict[str, str]]]:
    """Return all pairs of a kind, each once, in an order that the seed decides: what they are about, and texts by value."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for contrast in (each for each in config.contrasts if each.kind == kind):
        for text, subject, other in product(contrast.texts, config.subjects, config.others):
            filled = {
                value: text.format(*words.split("|"), *[""] * 9, subject=subject, other=other)
                for value, words in contrast.values.items()
            }
            found.setdefault(digest([config.seed, *filled.values()]), (contrast.about, filled))
    return [found[key] for key in sorted(found)]


def _verify(texts: Mapping[str, str], library: Library, path: Path) -> None:
    """Raise UsageError unless the texts are understood entirely, and state different things."""
    stated = []
    for text in texts.values():
        parsed = parse_caption(text, library)
        if parsed.unknown:
            unknown = ", ".join(map(shown, parsed.unknown))
            raise UsageError(f"{path}: {shown(text)} is not understood: {unknown}. Reword the text")
        stated.append(parsed.statements)
    if stated[0] == stated[1]:
        raise UsageError(f"{path}: {shown(next(iter(texts.values())))} states the same as its contrast. Reword the texts")


def judge_motion(prompt: Prompt, joints: Array, fps: float, library: Library) -> bool | None:
    """Return whether a motion shows the statement of its prompt.

    Parameters
    ----------
    prompt : Prompt
    joints : float [frames, 22, 3]
        Metres, y up; [2, frames, 22, 3] for a prompt about two people.
    fps : float
    library : Library
        Whose actions have the signals of repetitions.

    Returns
    -------
    bool or None
        False where the joints show the contrast or another number, None where they show neither.
    """
    if prompt.kind == "person":
        if joints.ndim != 4 or len(joints) < 2:
            return None
        seen = [Movement(each, fps).shows(prompt.about) for each in joints[:2]]
        return None if seen[0] == seen[1] else seen[prompt.value == "second"]
    movement = Movement(joints, fps)
    judges: Mapping[str, Callable[[], bool | None]] = {
        "side": lambda: _side_shown(prompt.about, prompt.value, movement, library),
        "count": lambda: int(prompt.value) in _repetitions(prompt.about, movement, library),
        "order": lambda: order_shown(movement, *prompt.about.split()[:: 1 if prompt.value == "first" else -1])[0],
        "speed": lambda: _speed_shown(prompt.about, prompt.value, movement),
        "direction": lambda: (turn_shown if prompt.about == "turn" else direction_shown)(movement, prompt.value)[0],
    }
    return judges[prompt.kind]()


def _side_shown(limb: str, side: str, movement: Movement, library: Library) -> bool | None:
    """Return whether the arm or leg of a side moves more, or has more of the signal of an action in which both move."""
    if limb in LIMBS:
        return side_shown(movement, limb, side)[0]
    signs, index = signs_of(library), _index(limb, library, "side")
    scratch = np.empty((2, len(movement.joints)))
    found = prevailing_side(movement.joints, signs.side[index], signs.side_sign[index], *scratch)
    moves = found != BOTH and np.ptp(scratch[found]) > _SMALLEST_SIGNAL
    return SIDES[found] == side if moves else None


def _index(action: str, library: Library, sign: str) -> int:
    """Return the index of an action; UsageError if it is none, or has no signal for what is judged."""
    if action not in library.actions or getattr(library.action(action).signs, sign) is None:
        raise UsageError(f"{shown(action)} is no action whose {sign} can be measured; see `posegen actions list`")
    return library.index(action)


def _repetitions(action: str, movement: Movement, library: Library) -> set[int]:
    """Return how often an action may be said to be done, by its signal in :mod:`posegen.checks.evidence`.

    It is 0 if the signal changes by less than 8 cm. A short last step, such as one that closes the feet, may count or not.
    """
    if action == "steps":
        steps = movement.steps()
        return {len(steps), len(steps) - bool(steps and min(steps[-2:]) < _SHORT_STEP * max(steps))}
    if action == "jump":
        return {len(movement.jumps())}
    signs, index = signs_of(library), _index(action, library, "count")
    counted = []
    for side in (LEFT, RIGHT, BOTH):
        signal = np.empty(len(movement.joints))
        fill_signal(movement.joints, signs.counted[index], side, signal)
        counted.append((float(np.ptp(signal)), int(count_peaks(signal, bool(signs.counted_sign[index] > 0)))))
    span, count = max(counted)
    return {count if span > _SMALLEST_SIGNAL else 0}


def _speed_shown(gait: str, value: str, movement: Movement) -> bool | None:
    """Return whether the median speed while a body travels is below, or above, the middle of a gait's normal ones.

    Speeds are those of an average leg, as in :data:`posegen.foundations.constants.SPEED_BOUNDS`.
    """
    stride = max(round(STRIDE_SECONDS * movement.fps), 1)
    pelvis = point(movement.joints, "pelvis")[:, ::2]
    speed = np.linalg.norm(pelvis[stride:] - pelvis[:-stride], axis=1) * movement.fps / stride
    if not (speed > _MOVING).any():
        return None
    pace = float(np.median(speed[speed > _MOVING])) / float(np.sqrt(hip_height(movement.joints) / AVERAGE_LEG))
    ratio = 2 * pace / sum(SPEED_BOUNDS[gait])
    return None if abs(ratio - 1) < _MIDDLE else (ratio > 1) == (value == "fast")


@dataclass(frozen=True)
class Score:
    """The result of one kind, or of all.

    Attributes
    ----------
    kind : str
    prompts, shown, contradicted, missing : int
        Prompts, and those whose motion shows the statement, shows another one, or does not exist.
    pairs, pairs_shown : int
        Pairs, and pairs with both prompts shown.
    interval : tuple of float
        Of the share of shown prompts, see :func:`wilson_interval`.
    """

    kind: str
    prompts: int
    shown: int
    contradicted: int
    missing: int
    pairs: int
    pairs_shown: int
    interval: tuple[float, float]


def judge_prompts(
    prompts: Sequence[Prompt], motions: Callable[[str], Array | None], fps: float
) -> tuple[list[Score], dict[str, str]]:
    """Judge the motions of a set of prompts.

    Parameters
    ----------
    prompts : sequence of Prompt
    motions : callable
        Returns the joints for an id, None where there are none.
    fps : float

    Returns
    -------
    list of Score
        By kind, then of all. What is missing or open is not shown.
    dict of str to str
        For each id: shown, contradicted, open or missing.
    """
    library, verdicts = load_library(), dict[str, str]()
    for prompt in prompts:
        joints = motions(prompt.id)
        long_enough = joints is not None and joints.shape[-3] >= max(fps / 2, LEAST_FRAMES)
        shows = judge_motion(prompt, joints, fps, library) if joints is not None and long_enough else None
        verdict = {True: "shown", False: "contradicted", None: "open"}[shows]
        verdicts[prompt.id] = "missing" if joints is None else verdict
    kinds = [kind for kind in KINDS if any(prompt.kind == kind for prompt in prompts)]
    scores = [_score(kind, [prompt for prompt in prompts if prompt.kind == kind], verdicts) for kind in kinds]
    return [*scores, _score("all", prompts, verdicts)], verdicts


def _score(kind: str, prompts: Sequence[Prompt], verdicts: Mapping[str, str]) -> Score:
    counts = Counter(verdicts[prompt.id] for prompt in prompts)
    pairs = {tuple(sorted((prompt.id, prompt.contrast))) for prompt in prompts}
    both = sum(all(verdicts.get(name) == "shown" for name in pair) for pair in pairs)
    interval = wilson_interval(counts["shown"], len(prompts))
    return Score(kind, len(prompts), counts["shown"], counts["contradicted"], counts["missing"], len(pairs), both, interval)


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a proportion (Wilson 1927).

    Examples
    --------
    >>> tuple(round(bound, 3) for bound in wilson_interval(90, 100))
    (0.826, 0.945)
    """
    square = _CONFIDENCE * _CONFIDENCE
    middle = successes + square / 2
    spread = _CONFIDENCE * float(np.sqrt(successes * (trials - successes) / trials + square / 4))
    return (middle - spread) / (trials + square), (middle + spread) / (trials + square)


def describe_scores(scores: Iterable[Score], head: str) -> str:
    """Return scores as a table."""
    rows = []
    for score in scores:
        share, pairs, (low, high) = 100 * score.shown / score.prompts, 100 * score.pairs_shown / score.pairs, score.interval
        counts = f"{score.contradicted:,}", f"{score.missing:,}", f"{pairs:.1f}%"
        rows.append((score.kind, f"{score.prompts:,}", f"{share:.1f}%", f"{100 * low:.1f} to {100 * high:.1f}%", *counts))
    columns = ("kind", "prompts", "shown", "95 % interval", "contradicted", "missing", "both of a pair")
    return table(columns, rows, f"{head}\n")


def write_prompts(path: Path, prompts: Sequence[Prompt]) -> None:
    """Write prompts as lines of JSON; UsageError unless the name ends in .jsonl."""
    if path.suffix != ".jsonl":
        raise UsageError(f"{path}: prompts are written to a file that ends in .jsonl")
    path.write_text("".join(f"{json.dumps(prompt.model_dump())}\n" for prompt in prompts), encoding="utf-8")


def read_prompts(path: Path) -> list[Prompt]:
    """Read a file of :func:`write_prompts`; UsageError if it is absent or something else."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file. Write one with `posegen benchmark make -o prompts.jsonl`")
    try:
        prompts = read_json(path)
    except pa.ArrowInvalid as error:
        raise UsageError(f"{path}: is not lines of JSON ({str(error).partition(chr(10))[0]:.200}); make it again") from error
    return validated(PromptSet, {"prompts": prompts.to_pylist()}, f"{path}: ").prompts


def read_motion(path: Path) -> Array | None:
    """Read the joints of one person, or of several in front of the other axes; None where there is no such file."""
    if not path.is_file():
        return None
    joints = read_array_file(path)
    for each in joints if joints.ndim == 4 else [joints]:
        check_joints(path, each)
    return joints
