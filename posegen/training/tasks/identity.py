"""``identity``: decide whether two clips show the same person.

The model puts clips into a vector space in which clips of one identity are close. Training batches hold several clips of each
of several identities. Validation and test use identities that were never trained on: the cosines of pairs of clips of one
identity, of two, and of two that look alike. Both clips of a pair are base variants of different samples. The model sees the
body and the movement, or the movement alone (``identity.by=style``).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.training.data.features import LENGTH, MOTION, View
from posegen.training.data.identities import ALIKE, OTHER, SAME
from posegen.training.data.poses import STYLE_MOTION
from posegen.training.encoder import MotionEncoder, frame_mask, pooled, projection
from posegen.training.settings import Identity, Model
from posegen.training.task import Abilities, Clips, CollectedOutputs, Reading, Task, apply_to_motion, motion_network
from posegen.training.verification import ScoredPairs, true_accept_rate, verification_rates, verify_pairs

_DIMENSION = 128
_EXCLUDED = -1e9
_KINDS = {"same": SAME, "other": OTHER, "alike": ALIKE}


class IdentityModel(nn.Module):
    """Puts clips into a vector space in which clips of one identity are close.

    Parameters
    ----------
    view : View
    settings : Model
    """

    def __init__(self, view: View, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout)
        self.person = projection(2 * self.encoder.width, settings.dropout, _DIMENSION)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode clips: Tensor [clip, dimension], of unit length."""
        frames = self.encoder(motion, length)
        return functional.normalize(self.person(pooled(frames, frame_mask(motion, length))), dim=-1)


def _loss(settings: Identity, vectors: Tensor, clips: Clips) -> Tensor:
    return supervised(vectors.float(), clips["person"], clips["sample"], 1 / settings.temperature)


def supervised(vectors: Tensor, kind: Tensor, sample: Tensor, scale: float) -> Tensor:
    """Return the cross entropy of finding clips of the same kind among all others.

    This is supervised contrastive learning (Khosla et al., 2020) with the sum outside of the logarithm. Pairs of two variants
    of one sample are excluded: they are alike whatever their kind.

    Parameters
    ----------
    vectors : Tensor [n, d]
        Of unit length.
    kind, sample : Tensor [n]
        Kind and sample of each clip.
    scale : float
        Factor on cosines: one over the temperature.

    Returns
    -------
    Tensor
        A scalar: the mean over clips with another clip of their kind; 0 if there are none.
    """
    apart = sample[:, None] != sample
    right = apart & (kind[:, None] == kind)
    # Not -inf: a clip without any other sample would have a sum over nothing, which has no gradient.
    scores = (scale * vectors @ vectors.T).masked_fill(~apart, _EXCLUDED)
    log_probability = torch.where(right, scores - torch.logsumexp(scores, dim=1, keepdim=True), torch.zeros_like(scores))
    count = right.sum(dim=1)
    has = count > 0
    return -(log_probability.sum(dim=1)[has] / count[has]).sum() / has.sum().clamp(min=1)


def _accuracy(vectors: Tensor, clips: Clips) -> Tensor:
    """Return the share of clips whose closest other clip of the batch shows the same person."""
    closest = (vectors @ vectors.T).fill_diagonal_(-1).argmax(dim=1)
    return (clips["person"][closest] == clips["person"]).float().mean()


class _Pairs(CollectedOutputs):
    """Measures pairs of clips by their vectors."""

    names = ("sample", "person", "size", "partner")

    def measures(self) -> dict[str, float]:
        """Return how well pairs of one identity are separated from pairs of two, and of two that look alike (``alike_``).

        Measures that end in ``size_auc`` are those of a baseline that compares bone lengths only. The true accept rate is at a
        false accept rate of 1 %.
        """
        _, sample, person, _, _ = self.collected()
        scores, sizes, _ = self.pairs()
        measures: dict[str, float] = {}
        for kind, name in (("other", ""), ("alike", "alike_")):
            # With few identities there are no look-alikes.
            if kind == "alike" and not len(scores[kind]):
                continue
            by_model, by_size = (verify_pairs(own["same"], own[kind]) for own in (scores, sizes))
            by_model |= {"tar": true_accept_rate(scores["same"], scores[kind]), "size_auc": by_size["auc"]}
            measures |= {f"{name}{measure}": value for measure, value in by_model.items()}
        pairs = {f"{kind}_pairs": float(len(scores[kind])) for kind in _KINDS}
        return {**measures, **pairs, "persons": float(len(np.unique(person))), "clips": float(len(sample))}

    def pairs(self) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
        """Return for pairs of each kind the cosines, the negative distances of bone lengths, and both persons [pair, 2]."""
        vectors, sample, person, size, partner = self.collected()
        order = np.argsort(sample)
        other = order[np.minimum(np.searchsorted(sample, partner, sorter=order), len(sample) - 1)]
        present = sample[other] == partner
        cosines, distances, persons = {}, {}, {}
        for kind, columns in _KINDS.items():
            one, column = np.nonzero(present[:, columns])
            two = other[:, columns][one, column]
            cosines[kind] = np.einsum("pd,pd->p", vectors[one], vectors[two])
            distances[kind] = -np.sqrt(((size[one] - size[two]) ** 2).sum(axis=1))
            persons[kind] = np.stack([person[one], person[two]], axis=1)
        if not len(cosines["same"]) or not len(cosines["other"]):
            problem = "have no two clips of one identity, or no two identities"
            raise PosegenError(f"the {len(sample)} validation clips {problem}. Use more: --set checks.clips=10000")
        return cosines, distances, persons


def _calibrate(validation: _Pairs, test: _Pairs) -> dict[str, Any]:
    """Return the thresholds of the validation split, and the error rates that the test split, with other persons, has there."""
    (scores, _, persons), (unseen, _, _) = validation.pairs(), test.pairs()
    same, other = (ScoredPairs(scores[kind], persons[kind]) for kind in ("same", "other"))
    return {"rates": verification_rates(same, other, *(unseen[kind] for kind in _KINDS))}


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return the vector of each clip. The cosine of two vectors is the similarity of the identities."""
    return {"vector": outputs.float().cpu().tolist()}


def _task(settings: Identity) -> Task:
    motion = STYLE_MOTION if settings.by == "style" else MOTION
    return Task(
        name="identity",
        recipes=(motion, LENGTH),
        labels=(),
        build=IdentityModel,
        apply=partial(apply_to_motion, array=motion.name),
        loss=partial(_loss, settings),
        tally=_Pairs,
        monitor="auc",
        chance=0.5,
        accuracy=_accuracy,
        needs_whole_batch=True,
        reading=Reading(normalised_array=motion.name, first_variant_only=True, by_identity=True),
        abilities=Abilities(
            describe=_describe,
            network=partial(
                motion_network, output="embeddings of unit length; the cosine of two is the similarity of the persons"
            ),
            calibrate=_calibrate,
        ),
        form="" if settings.by == "body" else settings.by,
        restore=lambda form: _task(Identity(by="style" if form else "body")),
        configure=lambda chosen: _task(chosen.identity),
    )


TASK = _task(Identity())
