"""``attribute``: estimate the speed, cadence, energy and duration of locomotion.

The measures are those of the first segment of a clip in which its first actor travels with a stated speed: a walk, a run, a
crawl. They are computed from the stored joints and contacts, not from the plan. The outputs of the model are the logarithms of
the measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posegen.dataset.layout import ROWS
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.training.data.features import LENGTH, MOTION, Recipe, View
from posegen.training.encoder import ANY_SKELETON_SPREAD, MotionEncoder, frame_mask, pooled, projection
from posegen.training.measures import best_constant, mean_error, smape
from posegen.training.settings import Model, Settings
from posegen.training.task import Abilities, Clips, CollectedOutputs, Reading, Task, apply_to_motion, motion_network

MEASURES = ("speed", "cadence", "energy", "duration")
"""Metres per second, steps per minute, joules per kilogram, seconds."""

_HALF_SECOND = 0.5
_FEET = ((0, 1), (2, 3))
_FEWEST_STEPS = 3
_TYPICAL = (1.2, 110.0, 1.0, 4.0)
"""Measures that an untrained model predicts, approximately."""


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


MEASURED = Recipe("measured", 1, ("joints", "contact", ROWS), "float32", (len(MEASURES),), _measured)
""":data:`MEASURES` of the first locomotion of the first actor; NaN where there is none, or too few steps."""


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
        # In single precision: half precision would be 2 % off.
        full = self.answer(torch.cat([pooled(frames, mask), locomotion, torch.log1p(count)], dim=1)).float()
        return torch.add(full, full.new_tensor([math.log(value) for value in _TYPICAL]))


def _loss(outputs: Tensor, clips: Clips) -> Tensor:
    """Return SMAPE as a share, 2 tanh(|log a - log b| / 2): the mean over measures, then over clips."""
    truth = clips["measured"]
    known = ~torch.isnan(truth)
    error = 2 * torch.tanh((outputs - torch.where(known, truth, 1).log()).abs() / 2) * known
    return (error.sum(dim=1) / known.sum(dim=1).clamp(min=1)).mean()


class _Errors(CollectedOutputs):
    """Compares predictions with true measures."""

    names = ("measured",)

    def measures(self) -> dict[str, float]:
        """Return SMAPE in per cent, MAE and R2 of each measure, and the SMAPE of the best constant."""
        outputs, measured = self.collected()
        travels = np.isfinite(measured[:, 0])
        predicted, true = torch.from_numpy(outputs[travels]).exp().numpy(), measured[travels]
        if not len(true):
            raise PosegenError("none of the validation clips contains locomotion. Generate more samples")
        errors: dict[str, float] = {}
        for column, name in enumerate(MEASURES):
            finite = np.isfinite(true[:, column])
            if not finite.any():
                continue
            own, right = predicted[finite, column], true[finite, column]
            found = {"smape": smape(own, right)} | mean_error(own, right)
            errors |= {f"{name}_{kind}": value for kind, value in found.items()}
            errors[f"{name}_constant"] = smape(best_constant(right), right)
        own, constant = ([value for name, value in errors.items() if name.endswith(end)] for end in ("_smape", "_constant"))
        return {
            "agreement": 1 - sum(own) / len(own) / 200,
            "agreement_constant": 1 - sum(constant) / len(constant) / 200,
            **errors,
            "clips": float(len(true)),
        }


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return each measure of each clip, in its unit."""
    measures = outputs.float().exp().cpu()
    return {name: measures[:, column].tolist() for column, name in enumerate(MEASURES)}


def _configured(settings: Settings) -> Task:
    if settings.data.frames is not None:
        raise UsageError("data.frames is set, but the task attribute needs whole clips. Remove it")
    return TASK


TASK = Task(
    name="attribute",
    recipes=(MOTION, LENGTH, MEASURED),
    labels=("measured",),
    build=lambda view, settings: MotionModel(settings),
    apply=apply_to_motion,
    loss=_loss,
    tally=_Errors,
    monitor="agreement",
    chance="agreement_constant",
    reading=Reading(first_variant_only=True),
    abilities=Abilities(
        describe=_describe,
        network=partial(motion_network, output=f"natural logarithms of {', '.join(MEASURES)}: m/s, steps per minute, J/kg, s"),
    ),
    configure=_configured,
)
