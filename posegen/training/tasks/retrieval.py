"""``retrieval``: find the caption of a motion and the motion of a caption.

Motions and captions are put into one vector space, so that a motion is close to its captions. The motion side is the shared
motion encoder, pooled over the clip. The text side is a small network on the embedding of a frozen text encoder (``posegen
embed``). Where samples have several actors, a motion is that of all of them, each in its own axes with its position and heading
relative to the first one. The outputs of a clip are a vector for the motion and one for each of its texts, all of unit length.

In a batch, the captions of all other motions serve as negatives. Some of them are true of the motion too: captions of another
variant of the same sample, and of samples in which the same happens. They are left out of the sum rather than pushed away
(Petrovich et al., TMR, 2023).
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.foundations.arrays import Array
from posegen.training.data.features import FEATURES, LENGTH, MOTION, RELATION, SCENE_MOTION, View
from posegen.training.encoder import ANY_SKELETON_SPREAD, MotionEncoder, frame_mask, pooled, projection
from posegen.training.measures import rank_pairs
from posegen.training.settings import Contrast, Model
from posegen.training.task import Abilities, Clips, CollectedOutputs, Reading, Task, apply_to_motion, motion_network
from posegen.training.verification import verify_pairs

DIMENSION = 256
"""Dimension of the shared vector space."""

_POOL = 256
_TIMES = 3
_MONITORED = 3


class RetrievalModel(nn.Module):
    """Puts motions and captions into one vector space.

    Parameters
    ----------
    view : View
    settings : Model
    """

    def __init__(self, view: View, settings: Model) -> None:
        super().__init__()
        numbers = FEATURES if view.actors == 1 else view.actors * (FEATURES + RELATION)
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=ANY_SKELETON_SPREAD, numbers=numbers)
        self.motion = projection(2 * self.encoder.width, settings.dropout, DIMENSION)
        self.text = projection(view.text_dimension, settings.dropout, DIMENSION)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode motions of one actor, or of all actors of scenes: Tensor [clip, DIMENSION], of unit length."""
        motion = motion.flatten(2)
        frames = self.encoder(motion, length)
        return functional.normalize(self.motion(pooled(frames, frame_mask(motion, length))), dim=-1)

    def encode_text(self, vectors: Tensor) -> Tensor:
        """Encode captions from their embeddings [..., given]: Tensor [..., DIMENSION], of unit length."""
        return functional.normalize(self.text(vectors), dim=-1)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Encode clips and their captions: Tensor [clip, 1 + text, DIMENSION], first the motion."""
    motion = apply_to_motion(model, clips)
    if "text" not in clips:
        return motion[:, None]
    texts: Tensor = model.encode_text(clips["text"].to(motion.dtype))  # type: ignore[operator]
    return torch.cat([motion[:, None], texts], dim=1)


def _loss(contrast: Contrast, vectors: Tensor, clips: Clips) -> Tensor:
    """Compare each motion with all captions of the batch, and each caption with all motions."""
    vectors = vectors.float()
    valid = valid_pairs(clips["text"][:, 0], clips["sample"], contrast.alike)
    return info_nce(vectors[:, 0], vectors[:, 1], 1 / contrast.temperature, valid)


def valid_pairs(captions: Tensor, sample: Tensor, threshold: float) -> Tensor:
    """Return which captions a motion is compared with: its own one and those that are certainly false of it.

    Parameters
    ----------
    captions : Tensor [n, k]
        Embeddings of the motions' captions, of unit length.
    sample : Tensor [n]
        Sample of each motion.
    threshold : float
        Captions whose embeddings have a larger cosine may be true of each other's motion.

    Returns
    -------
    bool Tensor [n, n]
    """
    own = torch.eye(len(captions), dtype=torch.bool, device=captions.device)
    return own | ((captions @ captions.T <= threshold) & (sample[:, None] != sample))


def info_nce(motion: Tensor, text: Tensor, scale: Tensor | float, valid: Tensor) -> Tensor:
    """Return the cross entropy of finding the caption of each motion and the motion of each caption (symmetric InfoNCE).

    Parameters
    ----------
    motion, text : Tensor [n, d]
        Of unit length: motions, and a caption of each.
    scale : Tensor or float
        Factor on cosines: one over the temperature.
    valid : bool Tensor [n, n]
        Which pairs are compared; see :func:`valid_pairs`.

    Returns
    -------
    Tensor
        A scalar; about log n for an untrained model.
    """
    scores = (scale * motion @ text.T).masked_fill(~valid, -torch.inf)
    target = torch.arange(len(motion), device=motion.device)
    return (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2


def _accuracy(vectors: Tensor, clips: Clips) -> Tensor:
    """Return the share of motions whose own caption is the closest of those of the batch."""
    closest = (vectors[:, 0] @ vectors[:, 1].T).argmax(dim=1)
    return (clips["row"][closest, 0] == clips["row"][:, 0]).float().mean()


class _Pairs(CollectedOutputs):
    """Ranks the vectors of motions and captions."""

    names = ("sample", "row")

    def measures(self) -> dict[str, float]:
        """Return recall and median rank in both directions, and how well right and wrong pairs are separated.

        See :mod:`posegen.training.measures`.
        """
        motion, text, rows = self._in_order()
        ranked = rank_pairs(motion, text, rows, pool=_POOL, times=_TIMES)
        directions = {name: ranked[name] for name in ("motion_to_text", "text_to_motion")}
        # With fewer than three clips, recall at the largest possible rank is monitored.
        rank = max(k for k in ranked["motion_to_text"].recall if k <= _MONITORED)
        measures = {
            "r3": sum(one.recall[rank] for one in directions.values()) / 2,
            "chance_r3": sum(one.chance[rank] for one in directions.values()) / 2,
            "pool": float(ranked["motion_to_text"].pool),
        }
        for name, ranking in directions.items():
            measures |= {f"{name}_r{k}": share for k, share in ranking.recall.items()}
            measures[f"{name}_median"] = ranking.median
        return {**measures, **_verified(motion, text, rows), "clips": float(len(motion))}

    def table(self) -> dict[str, Any]:
        """Return all ranks with chance, also strictly: where only a motion's own caption counts."""
        ranked = rank_pairs(*self._in_order(), pool=_POOL, times=_TIMES)
        return {"ranking": {name: asdict(ranking) for name, ranking in ranked.items()}}

    def _in_order(self) -> list[Array]:
        """Return motions, captions and their rows, in the order of samples."""
        outputs, sample, rows = self.collected()
        order = np.argsort(sample)
        return [outputs[order, 0], outputs[order, 1:], rows[order]]


def _verified(motion: Array, text: Array, rows: Array) -> dict[str, float]:
    """Compare each caption's score for its motion with that for the next motion, where the captions differ."""
    other = np.roll(np.arange(len(motion)), 1)
    present = rows >= 0
    right = np.einsum("md,mcd->mc", motion, text)[present]
    true_of_other = (rows[:, :, None] == rows[other][:, None, :]).any(axis=2)
    wrong = np.einsum("md,mcd->mc", motion[other], text)[present & ~true_of_other]
    return verify_pairs(right, wrong) if wrong.size else {}


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return the vector of each clip, which is close to the vectors of captions that describe it."""
    return {"vector": outputs[:, 0].float().cpu().tolist()}


def _task(contrast: Contrast) -> Task:
    return Task(
        name="retrieval",
        recipes=(MOTION, LENGTH),
        labels=("text", "row"),
        build=RetrievalModel,
        apply=_apply,
        loss=partial(_loss, contrast),
        tally=_Pairs,
        monitor="r3",
        chance="chance_r3",
        accuracy=_accuracy,
        needs_whole_batch=True,
        reading=Reading(scene_recipes=(SCENE_MOTION, LENGTH), takes_captions=True, first_variant_only=True, vary_skeleton=True),
        abilities=Abilities(
            describe=_describe,
            network=partial(motion_network, output="embeddings of unit length, near those of captions that describe the clip"),
            embeds_captions=True,
        ),
        configure=lambda settings: _task(settings.contrast),
    )


TASK = _task(Contrast())
