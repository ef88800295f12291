"""``retrieval``: which caption goes with which motion.

Motions and captions are put into one space, so that a motion lies next to its captions. The motion's side is the encoder that
tasks share, looked at by a few learned questions; the text's side is a frozen text encoder's vector of the caption, from
``posegen embed``, and a small network behind it. What the model says of a clip is a vector for the motion and one for each of
its texts, all of unit length.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.contrastive import counted, info_nce, triplet
from posegen.training.model import MotionEncoder, there
from posegen.training.ranking import rank_pairs
from posegen.training.recipes import LENGTH, MOTION, View
from posegen.training.settings import Contrast, Model
from posegen.training.task import Clips, Task
from posegen.training.verification import verify_pairs

__all__ = ["DIMENSION", "TASK", "RetrievalModel"]

Array = NDArray[Any]

DIMENSION = 256
"""Numbers in a vector of the space that motions and captions share."""

POOL = 256
_TIMES = 3
_QUESTIONS = 8
_HIDDEN = 512
_PLACES = 16


class RetrievalModel(nn.Module):
    """Puts motions and captions into one space.

    Parameters
    ----------
    given : int
        Numbers in the vector of a caption, as the text encoder gives it.
    settings : Model
    """

    def __init__(self, given: int, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout)
        self.summary = _Summary(self.encoder.width, settings.dropout)
        self.text = _projection(given, settings.dropout)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode motions: Tensor [clip, DIMENSION], of unit length."""
        frames = self.encoder(motion, length)
        return functional.normalize(self.summary(frames, there(motion, length), length), dim=-1)

    def encode_text(self, vectors: Tensor) -> Tensor:
        """Encode captions, given by their vectors [..., given]: Tensor [..., DIMENSION], of unit length."""
        return functional.normalize(self.text(vectors), dim=-1)


class _Summary(nn.Module):
    """One vector of a clip's frames: learned questions look for what they ask about, and when it is.

    A mean over frames would not know what came first, which captions tell.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.questions = nn.Parameter(torch.randn(_QUESTIONS, width) / math.sqrt(width))
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)
        self.when = nn.Linear(2 * _PLACES, width)
        self.out = _projection(_QUESTIONS * width, dropout)

    def forward(self, frames: Tensor, mask: Tensor, length: Tensor) -> Tensor:
        """Sum up frames [clip, frame, width], of which those count where the mask is 1."""
        when = self.when(_places(frames.shape[1], length).to(frames.dtype))
        scores = torch.einsum("qw,ctw->cqt", self.questions, self.key(frames) + when) / math.sqrt(frames.shape[-1])
        looks = scores.masked_fill(mask[:, None, :] == 0, -math.inf).softmax(dim=-1)
        summed: Tensor = self.out((looks @ (self.value(frames) + when)).flatten(1))
        return summed


def _places(frames: int, length: Tensor) -> Tensor:
    """Tell by sines and cosines where in its clip each frame is, from 0 at the first to 1 at the last."""
    share = torch.arange(frames, device=length.device)[None, :] / (length[:, None] - 1).clamp(min=1)
    angles = share[:, :, None] * torch.arange(_PLACES, device=length.device) * (math.pi / 2)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def _projection(given: int, dropout: float) -> nn.Module:
    return nn.Sequential(
        nn.LayerNorm(given), nn.Linear(given, _HIDDEN), nn.GELU(), nn.Dropout(dropout), nn.Linear(_HIDDEN, DIMENSION)
    )


def _build(view: View, settings: Model) -> nn.Module:
    return RetrievalModel(view.text_dimension, settings)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Encode clips and their texts: Tensor [clip, 1 + text, DIMENSION], the motion first."""
    motion: Tensor = model(clips["motion"], clips["length"])
    texts: Tensor = model.encode_text(clips["text"].to(motion.dtype))  # type: ignore[operator]
    return torch.cat([motion[:, None], texts], dim=1)


def _loss(contrast: Contrast, said: Tensor, clips: Clips) -> Tensor:
    """Hold each motion's caption, which is the first of its texts, against all others; further texts are hard negatives."""
    said = said.float()
    motion, captions, hard = said[:, 0], said[:, 1], said[:, 2:]
    there_is = clips["row"][:, 1:] >= 0
    given = clips["text"]
    hard_of = there_is.nonzero()[:, 0]
    counts = counted(given[:, 0], clips["sample"], contrast.alike, given[:, 1:][there_is], hard_of)
    texts = torch.cat([captions, hard[there_is]])
    if contrast.loss == "triplet":
        return triplet(motion, texts, contrast.margin, counts)
    return info_nce(motion, texts, 1 / contrast.temperature, counts)


class _Pairs:
    """Keeps the vectors of clips and captions, and measures them together."""

    def __init__(self, view: View) -> None:
        del view
        self._kept: list[tuple[Array, Array, Array]] = []

    def add(self, said: Tensor, clips: Clips) -> None:
        self._kept.append((said.float().cpu().numpy(), clips["row"].cpu().numpy(), clips["sample"].cpu().numpy()))

    def measures(self) -> dict[str, float]:
        """Tell recall and median rank both ways, and how well pairs are verified; see :mod:`posegen.training.ranking`."""
        said, rows, sample = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        # Each motion is to be found among those of other samples, and in an order that no loading decides.
        _, first = np.unique(sample, return_index=True)
        motion, text, rows = said[first, 0], said[first, 1:], rows[first]
        found = _flat(motion, text, rows) | _verified(motion, text, rows)
        return {**found, "clips": float(len(motion))}

    def table(self) -> dict[str, Any]:
        """There is nothing to show beside the measures."""
        return {}


def _flat(motion: Array, text: Array, rows: Array) -> dict[str, float]:
    ranked = rank_pairs(motion, text, rows, pool=POOL, times=_TIMES)
    measures: dict[str, float] = {}
    for way, ranking in ranked.items():
        measures |= {f"{way}_r{k}": share for k, share in ranking.recall.items()}
        measures[f"{way}_median"] = ranking.median
    ways = ranked["motion_to_text"], ranked["text_to_motion"]
    shown = {k: k for k in ways[0].recall}
    mean = {f"r{k}": sum(way.recall[k] for way in ways) / 2 for k in shown}
    chance = {f"chance_r{k}": sum(way.chance[k] for way in ways) / 2 for k in shown}
    # Of a pool so small that everything is among the first three, the largest recall there is.
    watched = mean.get("r3", max(mean.values()))
    return {"recall": watched, **mean, **chance, "pool": float(ways[0].pool), **measures}


def _verified(motion: Array, text: Array, rows: Array) -> dict[str, float]:
    """Hold each caption against its motion, and against the one after, where its words are others."""
    other = np.roll(np.arange(len(motion)), 1)
    there_is = rows >= 0
    right = np.einsum("md,mcd->mc", motion, text)[there_is]
    told_of_other = (rows[:, :, None] == rows[other][:, None, :]).any(axis=2)
    wrong = np.einsum("md,mcd->mc", motion[other], text)[there_is & ~told_of_other]
    if not wrong.size:
        return {}
    found = verify_pairs(right, wrong)
    return {"auc": found.area, "equal_error": found.equal_error}


def _tell(said: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """For each clip its vector, and the cosine of each of its captions."""
    del view
    vectors = said.float().cpu()
    cosines = torch.einsum("cd,ctd->ct", vectors[:, 0], vectors[:, 1:])
    own = clips["row"].cpu() >= 0
    return {
        "vector": vectors[:, 0].tolist(),
        "cosines": [row[kept].tolist() for row, kept in zip(cosines, own, strict=True)],
    }


def _task(contrast: Contrast) -> Task:
    return Task(
        name="retrieval",
        recipes=(MOTION, LENGTH),
        labels=("text", "row"),
        build=_build,
        apply=_apply,
        loss=partial(_loss, contrast),
        tally=_Pairs,
        watched="recall",
        tell=_tell,
        captions=True,
        whole=True,
        one_variant=True,
        configure=lambda settings: _task(settings.contrast),
    )


TASK = _task(Contrast())
