"""``retrieval``: find the caption of a motion and the motion of a caption.

Motions and captions are put into one vector space, so that a motion is close to its captions. The motion side is the shared
motion encoder, pooled over the clip. The text side is a small network on the embedding of a frozen text encoder (``posegen
embed``). Where samples have several actors, a motion is that of all of them, each in its own axes with its position and heading
relative to the first one. The outputs of a clip are a vector for the motion and one for each of its texts, all of unit length.
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
from posegen.training.measures import Ranking, rank_pairs, verify_pairs
from posegen.training.models.encoder import ANY_SKELETON_SPREAD, MotionEncoder, frame_mask, pooled, projection
from posegen.training.models.losses import info_nce, triplet, valid_pairs
from posegen.training.settings import Contrast, Model
from posegen.training.task import Abilities, Clips, CollectedOutputs, Forms, Reading, Task, apply_to_motion, motion_network

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
    """Encode clips and their texts: Tensor [clip, 1 + text, DIMENSION], first the motion, last the hard negatives."""
    motion = apply_to_motion(model, clips)
    if "text" not in clips:
        return motion[:, None]
    given = [clips[name].to(motion.dtype) for name in ("text", "hard_text") if name in clips]
    texts: list[Tensor] = [model.encode_text(vectors) for vectors in given]  # type: ignore[operator]
    return torch.cat([motion[:, None], *texts], dim=1)


def _loss(contrast: Contrast, vectors: Tensor, clips: Clips) -> Tensor:
    """Compare each motion's caption, the first of its texts, with all others. Further texts are hard negatives."""
    vectors = vectors.float()
    motion, captions, hard = vectors[:, 0], vectors[:, 1], vectors[:, 2:]
    present = clips["row"][:, 1:] >= 0
    given = clips["text"]
    hard_of = present.nonzero()[:, 0]
    valid = valid_pairs(given[:, 0], clips["sample"], contrast.alike, given[:, 1:][present], hard_of)
    texts = torch.cat([captions, hard[present]])
    if contrast.loss == "triplet":
        return triplet(motion, texts, contrast.margin, valid)
    return info_nce(motion, texts, 1 / contrast.temperature, valid)


def _accuracy(vectors: Tensor, clips: Clips) -> Tensor:
    """Return the share of motions whose own caption is the closest of those of the batch."""
    closest = (vectors[:, 0] @ vectors[:, 1].T).argmax(dim=1)
    return (clips["row"][closest, 0] == clips["row"][:, 0]).float().mean()


class _Pairs(CollectedOutputs):
    """Ranks the vectors of motions and captions."""

    names = ("sample", "row", "hard_row")

    def measures(self) -> dict[str, float]:
        """Return recall and median rank in both directions, and how well right and wrong pairs are separated.

        See :mod:`posegen.training.measures`.
        """
        motion, text, rows, *hard = self._in_order()
        ranked = _ranked(motion, text, rows)
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
        by_hard = _verified_hard(motion, text, *hard) if hard else {}
        return {**measures, **_verified(motion, text, rows), **by_hard, "clips": float(len(motion))}

    def table(self) -> dict[str, Any]:
        """Return all ranks with chance, also strictly: where only a motion's own caption counts."""
        motion, text, rows, *_ = self._in_order()
        return {"ranking": {name: asdict(ranking) for name, ranking in _ranked(motion, text, rows).items()}}

    def _in_order(self) -> list[Array]:
        """Return motions, captions, their rows and, if there are any, hard negatives and theirs, in the order of samples."""
        outputs, sample, rows, *hard_rows = self.collected()
        order, texts = np.argsort(sample), 1 + rows.shape[1]
        hard = [outputs[order, texts:], *(own[order] for own in hard_rows)] if hard_rows else []
        return [outputs[order, 0], outputs[order, 1:texts], rows[order], *hard]


def _ranked(motion: Array, text: Array, rows: Array) -> dict[str, Ranking]:
    return rank_pairs(motion, text, rows, pool=_POOL, times=_TIMES)


def _verified(motion: Array, text: Array, rows: Array) -> dict[str, float]:
    """Compare each caption's score for its motion with that for the next motion, where the captions differ."""
    other = np.roll(np.arange(len(motion)), 1)
    present = rows >= 0
    right = np.einsum("md,mcd->mc", motion, text)[present]
    true_of_other = (rows[:, :, None] == rows[other][:, None, :]).any(axis=2)
    wrong = np.einsum("md,mcd->mc", motion[other], text)[present & ~true_of_other]
    return verify_pairs(right, wrong) if wrong.size else {}


def _verified_hard(motion: Array, text: Array, hard: Array, hard_rows: Array) -> dict[str, float]:
    """Compare the score of each caption with that of its nearest hard negative."""
    present = hard_rows >= 0
    if not present.any():
        return {}
    right, wrong = (np.einsum("md,mcd->mc", motion, texts)[present] for texts in (text, hard))
    return {f"hard_{name}": value for name, value in verify_pairs(right, wrong).items()}


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
        forms=Forms(configure=lambda settings: _task(settings.contrast)),
    )


TASK = _task(Contrast())
