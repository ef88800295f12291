"""``attribute``: how fast, in how many steps a minute, with what energy and for how long somebody travels.

Asked is of the first stretch of a clip in which its first actor travels; see :mod:`posegen.training.tasks.attribute`. The
answer is given by the motion, or by the words of a caption beside numbers that are known without seeing. What is said of a clip
is the logarithm of each measure.


What can be measured of how somebody travels, in the first stretch of a clip in which they do.

A stretch is a segment that is told of, with a speed: a walk, a run, a crawl. Its measures are those of the stored joints and
contacts in its frames, not what the motion was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor, nn

from posegen.constants import SPEEDS
from posegen.dataset.layout import ROWS
from posegen.errors import PosegenError, UsageError
from posegen.skeleton import JOINTS
from posegen.training.data.captions import MOST_CAPTIONS, SPELLED
from posegen.training.data.features import LENGTH, MOTION, Recipe, View
from posegen.training.data.feed import LEAST_SPREAD
from posegen.training.measures.regression import best_constant, entropy_floor, errors_of, smape
from posegen.training.models.encoder import MotionEncoder, projection, summary, there
from posegen.training.models.text_encoders import CaptionReader
from posegen.training.settings import Model, Settings
from posegen.training.task import Clips, Task

__all__ = [
    "MEASURED",
    "MEASURES",
    "NUMBERS",
    "TASK",
    "WORDS",
    "CaptionModel",
    "MotionModel",
    "energy_of",
    "speed_of",
    "steps_of",
]

Array = NDArray[Any]

_USUAL = (1.2, 110.0, 1.0, 4.0)
"""What a model that has learned nothing says of each measure, near enough."""
_CENTRES, _SPREADS = (1.7, 45.0, 0.5, 10.0), (0.1, 15.0, 0.5, 5.0)
_HIDDEN = 512
_ACTION, _STYLE, _PACE = range(3)
_STEPS = ((_ACTION, _STYLE, _PACE), (_ACTION, _PACE), (_ACTION,))


class MotionModel(nn.Module):
    """Measures by motion: finds the stretch, and answers by its frames.

    Parameters
    ----------
    settings : Model
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=LEAST_SPREAD)
        self.travels = nn.Linear(self.encoder.width, 1)
        self.answer = projection(3 * self.encoder.width + 1, settings.dropout, len(MEASURES))

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Tell of clips: the logarithm of each measure, Tensor [clip, measure]."""
        frames, mask = self.encoder(motion, length), there(motion, length)
        gate = torch.sigmoid(self.travels(frames)) * mask[:, :, None]
        count = gate.sum(dim=1)
        stretch = (gate * frames).sum(dim=1) / (count + 1)
        told: Tensor = self.answer(torch.cat([summary(frames, mask), stretch, torch.log1p(count)], dim=1))
        return _usual(told)


class CaptionModel(nn.Module):
    """Measures by the words of a caption and numbers.

    From a sentence encoder's vector instead, speeds that captions state were 25 % off on unseen clips, and after five times as
    many steps 21 %, when those of the training were 5 % off: it learned clips by heart. By words it is 12 %.

    Parameters
    ----------
    settings : Model
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.reader = CaptionReader(settings.dropout)
        self.told = projection(self.reader.width, settings.dropout, _HIDDEN)
        self.answer = nn.Sequential(
            nn.GELU(), nn.Linear(_HIDDEN + len(_CENTRES), _HIDDEN), nn.GELU(), nn.Dropout(settings.dropout),
            nn.Linear(_HIDDEN, len(MEASURES)),
        )  # fmt: skip

    def forward(self, spelled: Tensor, numbers: Tensor) -> Tensor:
        """Tell of clips by each of their captions.

        Parameters
        ----------
        spelled : Tensor [clip, caption, word]
            0 where there is no word.
        numbers : Tensor [clip, number]

        Returns
        -------
        Tensor [clip, caption, measure]
            NaN where there is no caption.
        """
        clip, caption = torch.nonzero(spelled[..., 0], as_tuple=True)
        words = spelled[clip, caption].long()
        words = words[:, : max(1, int((words > 0).sum(dim=1).max()))] if len(words) else words
        known = (numbers - numbers.new_tensor(_CENTRES)) / numbers.new_tensor(_SPREADS)
        told = _usual(self.answer(torch.cat([self.told(self.reader(words)), known[clip]], dim=1)))
        said = told.new_full((*spelled.shape[:2], len(MEASURES)), math.nan)
        said[clip, caption] = told
        return said


def _usual(told: Tensor) -> Tensor:
    """Make logarithms of measures of what a network tells; in half precision those would be 2 % off."""
    full = told.float()
    return full + full.new_tensor([math.log(value) for value in _USUAL])


def _build(given: str, view: View, settings: Model) -> nn.Module:
    del view
    return CaptionModel(settings) if given == "captions" else MotionModel(settings)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Tell of clips: the logarithm of each measure, [clip, caption, measure]; by motion, as if there were one caption."""
    if isinstance(model, CaptionModel):
        told: Tensor = model(clips["spelled"], clips["numbers"])
        return told
    by_motion: Tensor = model(clips["motion"], clips["length"])
    return by_motion[:, None]


def _loss(said: Tensor, clips: Clips) -> Tensor:
    """SMAPE as a share, which is 2 tanh(|log a - log b| / 2): the mean over the captions and measures of each clip, and over
    clips.
    """
    truth = clips["measured"][:, None]
    answered = ~torch.isnan(said)
    known = ~torch.isnan(truth) & answered
    apart = (torch.where(answered, said, 0) - torch.where(known, truth, 1).log()).abs()
    error = 2 * torch.tanh(apart / 2) * known
    return (error.sum(dim=(1, 2)) / known.sum(dim=(1, 2)).clamp(min=1)).mean()


class _Answers:
    """Keeps what is said and what is true."""

    def __init__(self, given: str, view: View) -> None:
        del view
        self._given = given
        self._kept: list[tuple[Array, ...]] = []
        self._clips = 0

    def add(self, said: Tensor, clips: Clips) -> None:
        found, true = said.float().exp().cpu().numpy(), clips["measured"].cpu().numpy()
        words = np.full((len(found), 1, len(_STEPS[0])), 0)
        if self._given == "captions":
            words = clips["words"].cpu().numpy()
        travels = np.isfinite(true[:, :1]) & (words[:, :, _PACE] >= 0)
        clip, caption = np.nonzero(travels)
        own, number = np.unique(clip, return_inverse=True)
        self._kept.append((found[clip, caption], true[clip], words[clip, caption], self._clips + number))
        self._clips += len(own)

    def measures(self) -> dict[str, float]:
        """Tell SMAPE in per cent, MAE and R2 of each measure, beside the SMAPE of the best constant; by captions, beside the
        entropy floor of what they say, and of the speed apart from captions that state it and that do not.
        """
        found, true, words, clips = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        if not len(true):
            msg = "nobody travels in any of the clips that the model is held against. Generate more samples"
            raise PosegenError(msg)
        told: dict[str, float] = {}
        for column, name in enumerate(MEASURES):
            there_is = np.isfinite(true[:, column])
            if not there_is.any():
                continue
            own, right = found[there_is, column], true[there_is, column]
            told |= {f"{name}_{kind}": value for kind, value in errors_of(own, right).items()}
            told[f"{name}_constant"] = smape(best_constant(right), right)
            if self._given == "captions":
                told[f"{name}_floor"] = entropy_floor(right, words[there_is], clips[there_is], _STEPS)
        mean = sum(told[name] for name in told if name.endswith("_smape")) / sum(name.endswith("_smape") for name in told)
        return {
            "agreement": 1 - mean / 200,
            **told,
            **self._by_words(found[:, 0], true[:, 0], words, clips),
            "answers": float(len(true)),
            "clips": float(self._clips),
        }

    def _by_words(self, found: Array, true: Array, words: Array, clips: Array) -> dict[str, float]:
        told: dict[str, float] = {}
        if self._given == "captions":
            for name, own in (("stated", words[:, _PACE] > 0), ("unstated", words[:, _PACE] == 0)):
                told[f"speed_{name}"] = float(own.sum())
                if own.any():
                    told[f"speed_{name}_smape"] = smape(found[own], true[own])
                    told[f"speed_{name}_floor"] = entropy_floor(true[own], words[own], clips[own], _STEPS)
        return told

    def table(self) -> dict[str, Any]:
        return {}


def _tell(said: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """For each clip each measure, in its unit."""
    del clips, view
    told = said[:, 0].float().exp().cpu()
    return {name: told[:, column].tolist() for column, name in enumerate(MEASURES)}


def _task(given: str) -> Task:
    by_motion = given == "motion"
    return Task(
        name="attribute",
        recipes=(MOTION, LENGTH, MEASURED) if by_motion else (LENGTH, NUMBERS, MEASURED, WORDS, SPELLED),
        labels=("measured",),
        build=partial(_build, given),
        apply=_apply,
        loss=_loss,
        tally=partial(_Answers, given),
        monitor="agreement",
        describe=_tell,
        takes_motion=by_motion,
        first_variant_only=True,
        form="" if by_motion else "words",
        configure=_configured,
        restore=lambda form: _task("captions" if form else "motion"),
    )


def _configured(settings: Settings) -> Task:
    given = settings.attribute.given
    if settings.data.frames is not None:
        msg = "attribute asks of whole clips, so it takes no data.frames"
        raise UsageError(msg)
    if given == "captions" and (settings.contrast.hard or settings.adapter.rank is not None):
        msg = "attribute from captions knows no wrong captions and no encoder, so it takes neither contrast.hard nor adapters"
        raise UsageError(msg)
    return _task(given)


MEASURES = ("speed", "cadence", "energy", "duration")
"""Metres a second, steps a minute, joules a kilogram, seconds."""

_ABOUT_HALF = 0.5
_NAMES = 1 << 15
_FEET = ((0, 1), (2, 3))
_FEWEST_STEPS = 3


def speed_of(pelvis: Array, fps: float) -> float:
    """Mean speed in the plane, by places half a second apart, so that swaying from foot to foot is no travel.

    Parameters
    ----------
    pelvis : float [frame, 3]
        Metres, y up; two frames at least.
    fps : float
        Frames a second.

    Returns
    -------
    float
        Metres a second.
    """
    apart = min(round(fps * _ABOUT_HALF), len(pelvis) - 1)
    moved = (pelvis[apart:] - pelvis[:-apart])[:, [0, 2]]
    return float(np.sqrt((moved**2).sum(axis=1)).mean() * fps / apart)


def steps_of(contact: Array, fps: float) -> float:
    """Steps a minute: of the times at which a foot comes down, from the first to the last; NaN with fewer than three.

    Parameters
    ----------
    contact : uint8 [frame, point]
        Left heel, left toe, right heel, right toe, ...; 1 = touching.
    fps : float
        Frames a second.
    """
    down = np.stack([(contact[:, foot] == 1).any(axis=1) for foot in _FEET], axis=1)
    landed = np.flatnonzero((down[1:] & ~down[:-1]).any(axis=1))
    if len(landed) < _FEWEST_STEPS:
        return float("nan")
    return float(60 * fps * (len(landed) - 1) / (landed[-1] - landed[0]))


def energy_of(joints: Array, fps: float) -> float:
    """Mean kinetic energy of each kilogram, were all joints of one mass: half the mean of the squared speeds of all joints.

    Parameters
    ----------
    joints : float [frame, joint, 3]
        Metres; two frames at least.
    fps : float
        Frames a second.

    Returns
    -------
    float
        Joules a kilogram.
    """
    velocity = np.diff(joints.astype(np.float64), axis=0) * fps
    return float((velocity**2).sum(axis=-1).mean() / 2)


def _stretch(row: Mapping[str, Any]) -> int | None:
    """Find the first segment of the first actor that travels."""
    segments = row["actors"][0]["segments"]
    travels = [
        place for place, segment in enumerate(segments) if segment["speed"] > 0 and segment["end"] - segment["start"] > 1
    ]
    return min(travels, key=lambda place: segments[place]["start"], default=None)


def _measured(fields: Mapping[str, Array], view: View) -> Array:
    fps = view.fps * view.stride
    found = np.full((len(fields[ROWS]), len(MEASURES)), np.nan, np.float32)
    for clip, row in enumerate(fields[ROWS]):
        place = _stretch(row)
        if place is None:
            continue
        segment = row["actors"][0]["segments"][place]
        frames = slice(segment["start"], segment["end"])
        joints = fields["joints"][clip, 0, frames]
        steps = steps_of(fields["contact"][clip, 0, frames], fps)
        speed = speed_of(joints[:, JOINTS.index("pelvis")], fps)
        found[clip] = speed, steps, energy_of(joints, fps), len(joints) / fps
    return found


def _known_numbers(fields: Mapping[str, Array], view: View) -> Array:
    fps = view.fps * view.stride
    actors = [row["actors"][0] for row in fields[ROWS]]
    told = [
        [actor["stature"], actor["age"], actor["male"], row["length"] / fps]
        for actor, row in zip(actors, fields[ROWS], strict=True)
    ]
    return np.array(told, np.float32).reshape(-1, 4)


def _caption_words(fields: Mapping[str, Array], view: View) -> Array:
    """For each caption what it says of the stretch: its action, the person's style, its pace; numbers that stand for words, 0
    where it does not say, -1 where there is no caption.
    """
    del view
    found = np.full((len(fields[ROWS]), MOST_CAPTIONS, 3), -1, np.int32)
    for clip, row in enumerate(fields[ROWS]):
        stretch = _stretch(row)
        for number, caption in enumerate(row["captions"][:MOST_CAPTIONS]):
            said = [word for word in caption["statements"] if word["actor"] == 0]
            of_stretch = {word["kind"]: word for word in said if word["segment"] == stretch}
            action = of_stretch["action"]["action"] if "action" in of_stretch else ""
            style = next((word["value"] for word in said if word["kind"] == "style"), "")
            pace = SPEEDS.index(of_stretch["speed"]["value"]) if "speed" in of_stretch else 0
            found[clip, number] = _word_number(action), _word_number(style), pace
    return found


def _word_number(word: str) -> int:
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % _NAMES if word else 0


MEASURED = Recipe("measured", 1, ("joints", "contact", ROWS), "float32", (len(MEASURES),), _measured)
"""Of the first stretch of the first actor; see :data:`MEASURES`. NaN where there is none, or nothing to measure."""

NUMBERS = Recipe("numbers", 1, (ROWS,), "float32", (4,), _known_numbers)
"""What is known without seeing: the first actor's stature in metres, years, whether he is a man, seconds of the clip."""

WORDS = Recipe("words", 1, (ROWS,), "int32", (MOST_CAPTIONS, 3), _caption_words)
"""What each caption says of the stretch, by which the least error is computed that one who knows no more can have."""

TASK = _task("motion")
