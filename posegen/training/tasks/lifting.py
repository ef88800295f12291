"""``lifting``: estimate the joints of a person from their projections by one camera.

A clip is seen by a camera that follows the person: from 3 to 5 m, .9 to 1.9 m high, from any side, directed at the pelvis. In
training each step has another camera; in validation and test it depends on the number of the clip. The input is the
projections from that of the pelvis, in units of their root mean square distance from it, which contain neither the distance nor
the focal length. The model is the shared motion encoder, so that a frame is estimated from those around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from posegen.training.data.features import LENGTH, MOTION, Draw, Recipe, View, clip_draws, to_half
from posegen.training.encoder import MotionEncoder, frame_mask
from posegen.training.settings import Model
from posegen.training.task import Abilities, Clips, Tally, Task

_DISTANCE, _HEIGHT = (3.0, 5.0), (0.9, 1.9)
_WITHIN = 0.15
"""Metres; 3DPCK of Mehta et al., Monocular 3D human pose estimation in the wild, 3DV 2017."""


def _joints(fields: Mapping[str, Array], view: View) -> Array:
    """Return the joints of the first actor [clip, frame, 66], the pelvis above the origin; 0 in absent frames."""
    joints = fields["joints"][:, 0, :: view.stride].copy()
    joints[..., [0, 2]] -= joints[..., :1, [0, 2]]
    return to_half(np.nan_to_num(joints.reshape(*joints.shape[:2], -1), nan=0.0).astype(np.float32))


class _PictureEncoder(MotionEncoder):
    def normalise_by(self, mean: Array, spread: Array) -> None:
        """Keep mean 0 and spread 1, which projections have."""


class LiftingModel(nn.Module):
    """Estimates joints from the pelvis, in the axes of the camera and metres, from projections.

    Parameters
    ----------
    view : View
    settings : Model
    """

    def __init__(self, view: View, settings: Model) -> None:
        super().__init__()
        del view
        self.encoder = _PictureEncoder(settings.size, settings.dropout, numbers=2 * len(JOINTS))
        self.joints = nn.Linear(self.encoder.width, 3 * len(JOINTS))

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Lift clips of projections [clip, frame, 44]: Tensor [clip, frame, 66]."""
        lifted: Tensor = self.joints(self.encoder(motion, length))
        return lifted


def cameras(clips: dict[str, Array], seed: int, number: int) -> dict[str, Array]:
    """Return ``camera`` float32 [clip, 3]: side, distance and height of the camera of each clip of a batch, on [0, 1)."""
    drawn = clip_draws(clips["sample"], clips["variant"], seed, number, Draw.CAMERA, 3)
    return {"camera": drawn.astype(np.float32)}


def seen(joints: Tensor, camera: Tensor) -> tuple[Tensor, Tensor]:
    """Project clips.

    Parameters
    ----------
    joints : Tensor [clip, frame, 22, 3]
        Metres, y up, the pelvis above the origin.
    camera : Tensor [clip, 3]
        See :func:`cameras`.

    Returns
    -------
    picture : Tensor [clip, frame, 44]
        Right and down from the pelvis.
    axes : Tensor [clip, 3, 3]
        Rows are the camera's right, down and forward.
    """
    side = 2 * torch.pi * camera[:, 0]
    away, high = (low + draw * (top - low) for draw, (low, top) in zip(camera[:, 1:].T, (_DISTANCE, _HEIGHT), strict=True))
    target = torch.zeros(len(joints), 3, dtype=joints.dtype, device=joints.device)
    target[:, 1] = joints[:, :, 0, 1].mean(dim=1)
    eye = torch.stack([away * torch.sin(side), high, away * torch.cos(side)], dim=1).to(joints.dtype)
    forward = nn.functional.normalize(target - eye, dim=1)
    right = nn.functional.normalize(torch.stack([-forward[:, 2], torch.zeros_like(high), forward[:, 0]], dim=1), dim=1)
    axes = torch.stack([right, torch.linalg.cross(forward, right), forward], dim=1)
    inside = torch.einsum("cij,cfkj->cfki", axes, joints - eye[:, None, None])
    picture = inside[..., :2] / inside[..., 2:].clamp(min=0.1)
    picture = picture - picture[:, :, :1]
    size = picture.square().sum(dim=-1).mean(dim=-1).sqrt().clamp(min=1e-6)
    return (picture / size[..., None, None]).flatten(2), axes


def _points(values: Tensor) -> Tensor:
    return values.reshape(*values.shape[:-1], -1, 3)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Return the estimated joints from the pelvis, in the axes of the clips [clip, frame, 22, 3]."""
    motion = clips["motion"].float()
    camera = clips.get("camera")
    if camera is None:
        each = {name: clips[name].cpu().numpy() if name in clips else np.arange(len(motion)) for name in ("sample", "variant")}
        camera = torch.from_numpy(cameras(each, 0, 0)["camera"]).to(motion.device)
    picture, axes = seen(_points(motion), camera)
    return torch.einsum("cij,cfki->cfkj", axes, _points(model(picture, clips["length"]).float()))


def errors(found: Tensor, clips: Clips) -> tuple[Tensor, Tensor]:
    """Return the distance of each joint from its true position in metres [clip, frame, 22], and a mask [clip, frame]."""
    true = _points(clips["motion"].float())
    off = found - found[:, :, :1] - (true - true[:, :, :1])
    return (off.square().sum(dim=-1) + 1e-8).sqrt(), frame_mask(found, clips["length"])


def _means(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over joints and frames of each clip."""
    return (values.mean(dim=-1) * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def _loss(found: Tensor, clips: Clips) -> Tensor:
    return _means(*errors(found, clips)).mean()


class _Errors(Tally):
    """Mean errors of clips."""

    def __init__(self, view: View) -> None:
        self.clips: list[Tensor] = []

    def add(self, outputs: Tensor, clips: Clips) -> None:
        """Add a batch."""
        off, mask = errors(outputs, clips)
        self.clips.append(torch.stack([_means(off, mask), _means((off < _WITHIN).float(), mask)]).cpu())

    def measures(self) -> dict[str, float]:
        """Return the mean distance of joints with equal pelvis in mm, and the share of joints within 150 mm."""
        off, near = torch.cat(self.clips, dim=1)
        return {"mpjpe": 1000 * float(off.mean()), "pck150": float(near.mean()), "clips": float(len(off))}


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return the mean error of each clip in mm."""
    return {"mpjpe": (1000 * _means(*errors(outputs, clips))).cpu().tolist()}


TASK = Task(
    name="lifting",
    recipes=(Recipe(MOTION.name, 1, ("joints",), "float16", ("frame", 3 * len(JOINTS)), _joints, "lifting"), LENGTH),
    labels=(),
    build=LiftingModel,
    apply=_apply,
    loss=_loss,
    tally=_Errors,
    monitor="pck150",
    draw=cameras,
    abilities=Abilities(describe=_describe),
)
