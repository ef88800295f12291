"""``attribute``: estimate the speed, cadence, energy and duration of locomotion.

The measures are those of the first segment of a clip in which its first actor travels with a stated speed: a walk, a run, a
crawl. They are computed from the stored joints and contacts, not from the plan. The model reads the motion, or a caption beside
a few known numbers; its outputs are the logarithms of the measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from posegen.dataset.layout import ROWS
from posegen.foundations.arrays import Array
from posegen.foundations.constants import SPEEDS
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.randomness import Stream, integers, normal, uniform
from posegen.foundations.skeleton import JOINTS
from posegen.training.data.captions import MOST_CAPTIONS, SPELLED, VOCABULARY, spell, word_hash
from posegen.training.data.features import LENGTH, MOTION, Recipe, View
from posegen.training.measures import best_constant, entropy_floor, errors_of, smape
from posegen.training.models.encoder import ANY_SKELETON_SPREAD, MotionEncoder, frame_mask, pooled, projection
from posegen.training.models.words import WordReader
from posegen.training.settings import Model, Settings
from posegen.training.task import (
    Abilities,
    Clips,
    CollectedOutputs,
    Forms,
    Network,
    Reading,
    Task,
    apply_to_motion,
    motion_network,
)
from posegen.training.tasks.labels import LABEL_FORMS, label_task, task_of_label

MEASURES = ("speed", "cadence", "energy", "duration")
"""Metres per second, steps per minute, joules per kilogram, seconds."""

_HALF_SECOND = 0.5
_WORD_NUMBERS = 1 << 15
_FEET = ((0, 1), (2, 3))
_FEWEST_STEPS = 3
_TYPICAL = (1.2, 110.0, 1.0, 4.0)
"""Measures that an untrained model predicts, approximately."""
_KNOWN_MEANS, _KNOWN_SPREADS = (1.7, 45.0, 0.5, 10.0), (0.1, 15.0, 0.5, 5.0)
_KNOWN_NAMES = ("stature", "age", "male", "seconds")
_EXAMPLE_WORDS = 24
_HIDDEN = 512
_ACTION, _STYLE, _PACE = range(3)
_GROUPINGS = ((_ACTION, _STYLE, _PACE), (_ACTION, _PACE), (_ACTION,))


def mean_speed(pelvis: Array, fps: float) -> float:
    """Return the mean speed in the ground plane, from positions half a second apart, so that swaying does not count.

    Parameters
    ----------
    pelvis : float [frame, 3]
        Metres, y up; at least two frames.
    fps : float
        Frames per second.

    Returns
    -------
    float
        Metres per second.
    """
    apart = min(round(fps * _HALF_SECOND), len(pelvis) - 1)
    moved = (pelvis[apart:] - pelvis[:-apart])[:, [0, 2]]
    return float(np.sqrt((moved**2).sum(axis=1)).mean() * fps / apart)


def cadence(contact: Array, fps: float) -> float:
    """Return the steps per minute between the first and the last landing of a foot; NaN with fewer than three landings.

    Parameters
    ----------
    contact : uint8 [frame, point]
        Left heel, left toe, right heel, right toe, ...; 1 is contact.
    fps : float
        Frames per second.
    """
    down = np.stack([(contact[:, foot] == 1).any(axis=1) for foot in _FEET], axis=1)
    landed = np.flatnonzero((down[1:] & ~down[:-1]).any(axis=1))
    if len(landed) < _FEWEST_STEPS:
        return float("nan")
    return float(60 * fps * (len(landed) - 1) / (landed[-1] - landed[0]))


def kinetic_energy(joints: Array, fps: float) -> float:
    """Return the mean kinetic energy per kilogram if all joints had the same mass: half the mean squared speed.

    Parameters
    ----------
    joints : float [frame, joint, 3]
        Metres; at least two frames.
    fps : float
        Frames per second.

    Returns
    -------
    float
        Joules per kilogram.
    """
    velocity = np.diff(joints.astype(np.float64), axis=0) * fps
    return float((velocity**2).sum(axis=-1).mean() / 2)


def _locomotion(row: Mapping[str, Any]) -> int | None:
    """Return the index of the first segment of the first actor that travels."""
    segments = row["actors"][0]["segments"]
    travels = [i for i, segment in enumerate(segments) if segment["speed"] > 0 and segment["end"] - segment["start"] > 1]
    return min(travels, key=lambda i: segments[i]["start"], default=None)


def _measured(fields: Mapping[str, Array], view: View) -> Array:
    fps = view.fps * view.stride
    measured = np.full((len(fields[ROWS]), len(MEASURES)), np.nan, np.float32)
    for clip, row in enumerate(fields[ROWS]):
        index = _locomotion(row)
        if index is None:
            continue
        segment = row["actors"][0]["segments"][index]
        frames = slice(segment["start"], segment["end"])
        joints = fields["joints"][clip, 0, frames]
        steps = cadence(fields["contact"][clip, 0, frames], fps)
        speed = mean_speed(joints[:, JOINTS.index("pelvis")], fps)
        measured[clip] = speed, steps, kinetic_energy(joints, fps), len(joints) / fps
    return measured


def _known(fields: Mapping[str, Array], view: View) -> Array:
    fps = view.fps * view.stride
    actors = [row["actors"][0] for row in fields[ROWS]]
    known = [
        [actor["stature"], actor["age"], actor["male"], row["length"] / fps]
        for actor, row in zip(actors, fields[ROWS], strict=True)
    ]
    return np.array(known, np.float32).reshape(-1, 4)


def _stated(fields: Mapping[str, Array], view: View) -> Array:

    def number(word: str) -> int:
        return word_hash(word, _WORD_NUMBERS) if word else 0

    stated = np.full((len(fields[ROWS]), MOST_CAPTIONS, 3), -1, np.int32)
    for clip, row in enumerate(fields[ROWS]):
        index = _locomotion(row)
        for i, caption in enumerate(row["captions"][:MOST_CAPTIONS]):
            statements = [statement for statement in caption["statements"] if statement["actor"] == 0]
            own = {statement["kind"]: statement for statement in statements if statement["segment"] == index}
            action = own["action"]["action"] if "action" in own else ""
            style = next((statement["value"] for statement in statements if statement["kind"] == "style"), "")
            pace = SPEEDS.index(own["speed"]["value"]) if "speed" in own else 0
            stated[clip, i] = number(action), number(style), pace
    return stated


MEASURED = Recipe("measured", 1, ("joints", "contact", ROWS), "float32", (len(MEASURES),), _measured)
""":data:`MEASURES` of the first locomotion of the first actor; NaN where there is none, or too few steps."""

KNOWN = Recipe("numbers", 1, (ROWS,), "float32", (4,), _known)
"""Numbers given beside a caption: the first actor's stature in metres, age in years and 1 if male; seconds of the clip."""

STATED = Recipe("words", 1, (ROWS,), "int32", (MOST_CAPTIONS, 3), _stated)
"""What each caption states about the locomotion: hashes of the action and the style, and the pace.

0 where it states nothing, -1 where there is no caption. Only the reference error is computed from it.
"""


class MotionModel(nn.Module):
    """Predicts the measures from motion: finds the locomotion and pools its frames.

    Parameters
    ----------
    settings : Model
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=ANY_SKELETON_SPREAD)
        self.travels = nn.Linear(self.encoder.width, 1)
        self.answer = projection(3 * self.encoder.width + 1, settings.dropout, len(MEASURES))

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Return the logarithm of each measure, Tensor [clip, measure]."""
        frames, mask = self.encoder(motion, length), frame_mask(motion, length)
        gate = torch.sigmoid(self.travels(frames)) * mask[:, :, None]
        count = gate.sum(dim=1)
        locomotion = (gate * frames).sum(dim=1) / (count + 1)
        return _from_typical(self.answer(torch.cat([pooled(frames, mask), locomotion, torch.log1p(count)], dim=1)))


class CaptionModel(nn.Module):
    """Predicts the measures from the words of a caption and known numbers.

    From sentence embeddings instead, the error of stated speeds on unseen clips was 25 %, and 21 % after five times as many
    steps, with 5 % on training clips: the model memorised them. From words it is 12 %.

    Parameters
    ----------
    settings : Model
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.reader = WordReader(settings.dropout)
        self.stated = projection(self.reader.width, settings.dropout, _HIDDEN)
        self.answer = nn.Sequential(
            nn.GELU(), nn.Linear(_HIDDEN + len(_KNOWN_MEANS), _HIDDEN), nn.GELU(), nn.Dropout(settings.dropout),
            nn.Linear(_HIDDEN, len(MEASURES)),
        )  # fmt: skip

    def forward(self, spelled: Tensor, numbers: Tensor) -> Tensor:
        """Predict from each caption of a clip.

        Parameters
        ----------
        spelled : Tensor [clip, caption, word]
            Word numbers; 0 where there is no word.
        numbers : Tensor [clip, number]

        Returns
        -------
        Tensor [clip, caption, measure]
            Logarithms; NaN where there is no caption.
        """
        clip, caption = torch.nonzero(spelled[..., 0], as_tuple=True)
        words = spelled[clip, caption].long()
        words = words[:, : max(1, int((words > 0).sum(dim=1).max()))] if len(words) else words
        predicted = self.of_captions(words, numbers[clip])
        outputs = predicted.new_full((*spelled.shape[:2], len(MEASURES)), math.nan)
        outputs[clip, caption] = predicted
        return outputs

    def of_captions(self, words: Tensor, numbers: Tensor) -> Tensor:
        """Predict from captions [caption, word] of at least one word, and the known numbers beside each: [caption, measure]."""
        known = (numbers - numbers.new_tensor(_KNOWN_MEANS)) / numbers.new_tensor(_KNOWN_SPREADS)
        return _from_typical(self.answer(torch.cat([self.stated(self.reader(words)), known], dim=1)))


def _from_typical(outputs: Tensor) -> Tensor:
    """Add the logarithms of the typical measures, in single precision: half precision would be 2 % off."""
    full = outputs.float()
    return full + full.new_tensor([math.log(value) for value in _TYPICAL])


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Return the logarithm of each measure, [clip, caption, measure]; from motion as if there were one caption."""
    if isinstance(model, CaptionModel):
        by_caption: Tensor = model(clips["spelled"], clips["numbers"])
        return by_caption
    return apply_to_motion(model, clips)[:, None]


def _loss(outputs: Tensor, clips: Clips) -> Tensor:
    """Return SMAPE as a share, 2 tanh(|log a - log b| / 2): the mean over captions and measures, then over clips."""
    truth = clips["measured"][:, None]
    answered = ~torch.isnan(outputs)
    known = ~torch.isnan(truth) & answered
    apart = (torch.where(answered, outputs, 0) - torch.where(known, truth, 1).log()).abs()
    error = 2 * torch.tanh(apart / 2) * known
    return (error.sum(dim=(1, 2)) / known.sum(dim=(1, 2)).clamp(min=1)).mean()


class _Errors(CollectedOutputs):
    """Compares predictions with true measures."""

    def __init__(self, given: str, view: View) -> None:
        super().__init__(view)
        self._by_captions = given == "captions"
        self.names = ("measured", "words") if self._by_captions else ("measured",)

    def measures(self) -> dict[str, float]:
        """Return SMAPE in per cent, MAE and R2 of each measure, and the SMAPE of the best constant.

        For captions also the least SMAPE that their words allow, and the errors of the speed where it is stated and where it is
        not.
        """
        outputs, measured, *words = self.collected()
        every = words[0] if words else np.zeros((len(outputs), 1, len(_GROUPINGS[0])), np.int32)
        clip, caption = np.nonzero(np.isfinite(measured[:, :1]) & (every[:, :, _PACE] >= 0))
        predicted, true, stated = torch.from_numpy(outputs[clip, caption]).exp().numpy(), measured[clip], every[clip, caption]
        travelling, clips = np.unique(clip, return_inverse=True)
        if not len(true):
            raise PosegenError("none of the validation clips contains locomotion. Generate more samples")
        errors: dict[str, float] = {}
        for column, name in enumerate(MEASURES):
            finite = np.isfinite(true[:, column])
            if not finite.any():
                continue
            own, right = predicted[finite, column], true[finite, column]
            errors |= {f"{name}_{kind}": value for kind, value in errors_of(own, right).items()}
            errors[f"{name}_constant"] = smape(best_constant(right), right)
            if self._by_captions:
                errors[f"{name}_floor"] = entropy_floor(right, stated[finite], clips[finite], _GROUPINGS)
        own, constant = ([value for name, value in errors.items() if name.endswith(end)] for end in ("_smape", "_constant"))
        return {
            "agreement": 1 - sum(own) / len(own) / 200,
            "agreement_constant": 1 - sum(constant) / len(constant) / 200,
            **errors,
            **(self._by_statement(predicted[:, 0], true[:, 0], stated, clips) if self._by_captions else {}),
            "answers": float(len(true)),
            "clips": float(len(travelling)),
        }

    def _by_statement(self, predicted: Array, true: Array, stated: Array, clips: Array) -> dict[str, float]:
        errors: dict[str, float] = {}
        for name, own in (("stated", stated[:, _PACE] > 0), ("unstated", stated[:, _PACE] == 0)):
            errors[f"speed_{name}"] = float(own.sum())
            if own.any():
                errors[f"speed_{name}_smape"] = smape(predicted[own], true[own])
                errors[f"speed_{name}_floor"] = entropy_floor(true[own], stated[own], clips[own], _GROUPINGS)
        return errors


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return each measure of each clip, in its unit."""
    measures = outputs[:, 0].float().exp().cpu()
    return {name: measures[:, column].tolist() for column, name in enumerate(MEASURES)}


def caption_inputs(table: pa.Table) -> dict[str, Array]:
    """Return ``words`` int64 [text, word] and ``numbers`` float32 [text, number] for the texts of a table.

    Parameters
    ----------
    table : Table
        With ``text``. The known numbers are ``stature`` in metres, ``age`` in years, ``male`` (0 or 1) and ``seconds`` of the
        clip; the mean of the training replaces absent ones.
    """
    spelled = [spell(text) for text in table["text"].to_pylist()]
    words = np.zeros((len(spelled), max(map(len, spelled))), np.int64)
    for row, own in enumerate(spelled):
        words[row, : len(own)] = own
    numbers = np.tile(np.array(_KNOWN_MEANS, np.float32), (len(spelled), 1))
    for column, name in enumerate(_KNOWN_NAMES):
        if name in table.column_names:
            given = np.array([np.nan if value is None else float(value) for value in table[name].to_pylist()], np.float32)
            numbers[:, column] = np.where(np.isfinite(given), given, numbers[:, column])
    return {"words": words, "numbers": numbers}


class _ByCaption(nn.Module):
    """A :class:`CaptionModel` for one caption per row."""

    def __init__(self, model: CaptionModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Tensor, numbers: Tensor) -> Tensor:
        return self.model.of_captions(words, numbers)


def _describe_texts(model: nn.Module, table: pa.Table, view: View) -> dict[str, list[Any]]:
    """Return each measure that each text describes, in its unit."""
    assert isinstance(model, CaptionModel)
    inputs = {name: torch.from_numpy(values) for name, values in caption_inputs(table).items()}
    measures = model.of_captions(**inputs).exp()
    return {name: measures[:, column].tolist() for column, name in enumerate(MEASURES)}


def _network(model: nn.Module, view: View) -> Network:
    output = f"natural logarithms of {', '.join(MEASURES)}: m/s, steps per minute, J/kg, s"
    if not isinstance(model, CaptionModel):
        return motion_network(model, view, output)

    def example(texts: int, words: int) -> dict[str, Array]:
        drawn = integers(uniform(0, np.arange(texts), Stream.AUGMENT, words), 1, VOCABULARY - 1)
        drawn[np.arange(words) >= words - 3 * np.arange(texts)[:, None]] = 0
        numbers = np.array(_KNOWN_MEANS) + np.array(_KNOWN_SPREADS) * normal(0, np.arange(texts), Stream.AUGMENT, 4)
        return {"words": drawn.astype(np.int64), "numbers": numbers.astype(np.float32)}

    shapes: dict[str, tuple[str | int, ...]] = {"words": ("text", "word"), "numbers": ("text", len(_KNOWN_MEANS))}
    return Network(_ByCaption(model), shapes, example, _EXAMPLE_WORDS, output, {"numbers": list(_KNOWN_NAMES)})


def _task(given: str) -> Task:
    by_motion = given == "motion"
    return Task(
        name="attribute",
        recipes=(MOTION, LENGTH, MEASURED) if by_motion else (LENGTH, KNOWN, MEASURED, STATED, SPELLED),
        labels=("measured",),
        build=lambda view, settings: MotionModel(settings) if by_motion else CaptionModel(settings),
        apply=_apply,
        loss=_loss,
        tally=partial(_Errors, given),
        monitor="agreement",
        chance="agreement_constant",
        reading=Reading(first_variant_only=True),
        abilities=Abilities(
            describe=_describe if by_motion else None,
            describe_texts=None if by_motion else _describe_texts,
            network=_network,
            takes_motion=by_motion,
        ),
        forms=Forms(
            form="" if by_motion else "words",
            configure=_configured,
            restore=_restored,
            labelled=partial(task_of_label, "attribute"),
        ),
    )


def _restored(form: str) -> Task:
    if form in LABEL_FORMS:
        return label_task("attribute", form)
    return _task("captions" if form else "motion")


def _configured(settings: Settings) -> Task:
    given = settings.attribute.given
    if settings.data.frames is not None:
        raise UsageError("data.frames is set, but the task attribute needs whole clips. Remove it")
    if given == "captions" and (settings.contrast.hard or settings.adapter.rank is not None):
        raise UsageError("attribute.given=captions has no hard negatives and no encoder: remove contrast.hard and adapter.rank")
    if given == "captions" and settings.machine.checkpointing:
        raise UsageError(
            "attribute.given=captions has no blocks whose activations could be recomputed. Remove machine.checkpointing"
        )
    return _task(given)


TASK = _task("motion")
