"""``retrieval``: which caption goes with which motion.

Motions and captions are put into one space, so that a motion lies next to its captions. The motion's side is the encoder that
tasks share, summed up over the clip; the text's side is a frozen text encoder's vector of the caption, from
``posegen embed``, and a small network behind it. What the model says of a clip is a vector for the motion and one for each of
its texts, all of unit length.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.data.features import LENGTH, MOTION, View
from posegen.training.data.feed import LEAST_SPREAD
from posegen.training.measures.ranking import Ranking, rank_pairs
from posegen.training.measures.verification import verify_pairs
from posegen.training.models.encoder import MotionEncoder, projection, summary, there
from posegen.training.models.losses import counted, info_nce, triplet
from posegen.training.settings import Contrast, Model
from posegen.training.task import Clips, Task

__all__ = ["DIMENSION", "TASK", "RetrievalModel"]

Array = NDArray[Any]

DIMENSION = 256
"""Numbers in a vector of the space that motions and captions share."""

POOL = 256
_TIMES = 3
_WATCHED = 3


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
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=LEAST_SPREAD)
        self.motion = projection(2 * self.encoder.width, settings.dropout, DIMENSION)
        self.text = projection(given, settings.dropout, DIMENSION)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode motions: Tensor [clip, DIMENSION], of unit length."""
        frames = self.encoder(motion, length)
        return functional.normalize(self.motion(summary(frames, there(motion, length))), dim=-1)

    def encode_text(self, vectors: Tensor) -> Tensor:
        """Encode captions, given by their vectors [..., given]: Tensor [..., DIMENSION], of unit length."""
        return functional.normalize(self.text(vectors), dim=-1)


def _build(view: View, settings: Model) -> nn.Module:
    return RetrievalModel(view.text_dimension, settings)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    """Encode clips and their texts, if they have any: Tensor [clip, 1 + text, DIMENSION], the motion first, hard negatives that
    they are judged by last.
    """
    motion: Tensor = model(clips["motion"], clips["length"])
    if "text" not in clips:
        return motion[:, None]
    given = [clips[name].to(motion.dtype) for name in ("text", "hard_text") if name in clips]
    texts: list[Tensor] = [model.encode_text(vectors) for vectors in given]  # type: ignore[operator]
    return torch.cat([motion[:, None], *texts], dim=1)


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
        self._hard: list[tuple[Array, Array]] = []

    def add(self, said: Tensor, clips: Clips) -> None:
        vectors, rows = said.float().cpu().numpy(), clips["row"].cpu().numpy()
        own = 1 + rows.shape[1]
        self._kept.append((vectors[:, :own], rows, clips["sample"].cpu().numpy()))
        if "hard_row" in clips:
            there_is = clips["hard_row"].cpu().numpy() >= 0
            # Of each caption that has a hard negative: how well it fits its motion, and how well the other one does.
            right, wrong = (np.einsum("md,mcd->mc", vectors[:, 0], texts) for texts in (vectors[:, 1:own], vectors[:, own:]))
            self._hard.append((right[there_is], wrong[there_is]))

    def measures(self) -> dict[str, float]:
        """Tell recall and median rank both ways, and how well pairs are verified.

        See :mod:`posegen.training.measures.ranking`.
        """
        motion, text, rows = self._pairs()
        verified = _verified(motion, text, rows) | self._verified_hard()
        return {**_found(motion, text, rows), **verified, "clips": float(len(motion))}

    def table(self) -> dict[str, Any]:
        """Give the ranks as they are told, with chance, and strictly: where only a motion's own caption counts."""
        motion, text, rows = self._pairs()
        return {"ranking": {way: asdict(ranking) for way, ranking in _ranked(motion, text, rows).items()}}

    def _verified_hard(self) -> dict[str, float]:
        """Hold each caption against the text that is nearest to it in words and false of its motion."""
        if not sum(len(right) for right, _ in self._hard):
            return {}
        found = verify_pairs(*(np.concatenate(scores) for scores in zip(*self._hard, strict=True)))
        return {"hard_auc": found.area, "hard_equal_error": found.equal_error}

    def _pairs(self) -> tuple[Array, Array, Array]:
        most = max(rows.shape[1] for _, rows, _ in self._kept)
        padded = [(_wider(said, 1 + most, 0.0), _wider(rows, most, -1), sample) for said, rows, sample in self._kept]
        said, rows, sample = (np.concatenate(parts) for parts in zip(*padded, strict=True))
        # A motion is to be found among those of other samples, and in an order that no loading decides.
        _, first = np.unique(sample, return_index=True)
        return said[first, 0], said[first, 1:], rows[first]


def _wider(values: Array, size: int, absent: float) -> Array:
    """Have room for as many captions as any clip has."""
    room = [(0, 0), (0, size - values.shape[1]), *([(0, 0)] * (values.ndim - 2))]
    return np.pad(values, room, constant_values=absent)


def _ranked(motion: Array, text: Array, rows: Array) -> dict[str, Ranking]:
    return rank_pairs(motion, text, rows, pool=POOL, times=_TIMES)


def _found(motion: Array, text: Array, rows: Array) -> dict[str, float]:
    ranked = _ranked(motion, text, rows)
    ways = {way: ranked[way] for way in ("motion_to_text", "text_to_motion")}
    measures: dict[str, float] = {}
    for way, ranking in ways.items():
        measures |= {f"{way}_r{k}": share for k, share in ranking.recall.items()}
        measures[f"{way}_median"] = ranking.median
    # Among fewer than three, the first is what can be found.
    third = max(k for k in ranked["motion_to_text"].recall if k <= _WATCHED)
    mean = {"r3": sum(way.recall[third] for way in ways.values()) / 2}
    chance = {"chance_r3": sum(way.chance[third] for way in ways.values()) / 2}
    return {**mean, **chance, "pool": float(ranked["motion_to_text"].pool), **measures}


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
    """For each clip its vector, which is near those of captions that tell of it."""
    del clips, view
    return {"vector": said[:, 0].float().cpu().tolist()}


def _task(contrast: Contrast) -> Task:
    return Task(
        name="retrieval",
        recipes=(MOTION, LENGTH),
        labels=("text", "row"),
        build=_build,
        apply=_apply,
        loss=partial(_loss, contrast),
        tally=_Pairs,
        monitor="r3",
        describe=_tell,
        takes_captions=True,
        embeds_captions=True,
        needs_whole_batch=True,
        first_variant_only=True,
        vary_skeleton=True,
        configure=lambda settings: _task(settings.contrast),
    )


TASK = _task(Contrast())
