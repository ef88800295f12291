"""``imu``: classify the action by the readings of one inertial sensor, in windows of the clips.

The model and the measures are those of the task ``action``: convolutions along time, with a label for each frame. A frame has
:data:`posegen.fields.imu.READINGS` readings. Sensors of real people have other axes than the placements of the field `imu`, so
training turns the sensor of each clip at random, unless `imu.any_mounting` is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from posegen.fields.imu import COMPONENTS, PLACEMENTS, READINGS
from posegen.foundations.arrays import Array
from posegen.foundations.errors import require_known
from posegen.training.data.features import ACTION, LENGTH, MOTION, Draw, Recipe, View, clip_draws, to_half
from posegen.training.settings import Imu, Settings
from posegen.training.task import Clips, Reading, Task
from posegen.training.tasks import action

NUMBERS = READINGS * len(COMPONENTS)
"""Numbers of a frame: those of each reading in turn."""


def _readings(placement: int, fields: Mapping[str, Array], view: View) -> Array:
    """Return the readings of one sensor of the first actor [clip, frame, NUMBERS]; 0 in absent frames.

    With a stride, each of them is the mean of so many, so that none is left out.
    """
    every = fields["imu"][:, 0]
    own = every[..., placement if every.shape[-2] > 1 else 0, :].astype(np.float32)
    own = np.pad(own, ((0, 0), (0, -own.shape[1] % view.stride), (0, 0), (0, 0)), constant_values=np.nan)
    own = own.reshape(len(own), -1, READINGS, view.stride, len(COMPONENTS))
    count = np.maximum((~np.isnan(own)).sum(axis=3), 1)
    means = np.nan_to_num(own, nan=0.0).sum(axis=3) / count
    return to_half(means.reshape(*means.shape[:2], NUMBERS).astype(np.float32))


def _length(fields: Mapping[str, Array], view: View) -> Array:
    """Return the number of frames of each clip."""
    return np.asarray((~np.isnan(fields["imu"][:, 0, :: view.stride, 0, 0, 0])).sum(axis=-1), np.int32)


def mountings(clips: dict[str, Array], seed: int, number: int) -> dict[str, Array]:
    """Return ``mounting`` float32 [clip, 3, 3]: a rotation for each clip of a batch, all equally likely.

    Shoemake, Uniform random rotations, in Graphics Gems III, 1992.
    """
    shape, *turns = clip_draws(clips["sample"], clips["variant"], seed, number, Draw.MOUNTING, 3).T
    one, other = (2 * np.pi * turn for turn in turns)
    low, high = np.sqrt(1 - shape), np.sqrt(shape)
    x, y, z, w = low * np.sin(one), low * np.cos(one), high * np.sin(other), high * np.cos(other)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return {"mounting": np.moveaxis(np.array(rows), -1, 0).astype(np.float32)}


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Return the scores of all actions in each frame, of sensors that are turned where the clips have mountings."""
    motion = clips["motion"]
    if "mounting" in clips:
        vectors = motion.reshape(*motion.shape[:2], -1, 3)
        motion = torch.einsum("cij,cfrj->cfri", clips["mounting"].to(motion.dtype), vectors).flatten(2)
    outputs: Tensor = model(motion, clips["length"])
    return outputs


def _task(settings: Imu) -> Task:
    require_known("imu.placement: there is no placement", settings.placement, [*PLACEMENTS])
    worn = partial(_readings, [*PLACEMENTS].index(settings.placement))
    readings = Recipe(MOTION.name, 1, ("imu",), "float16", ("frame", NUMBERS), worn, f"imu-{settings.placement}")
    return replace(
        action.TASK,
        name="imu",
        recipes=(readings, Recipe(LENGTH.name, 1, ("imu",), "int32", (), _length, "imu-length"), ACTION),
        build=partial(action.ActionModel, numbers=NUMBERS),
        apply=_apply,
        draw=mountings if settings.any_mounting else None,
        reading=Reading(),
        form=settings.placement,
        configure=_configured,
        restore=_restored,
    )


def _configured(settings: Settings) -> Task:
    return _task(settings.imu)


def _restored(form: str) -> Task:
    return _task(Imu(placement=form))


TASK = _task(Imu())
