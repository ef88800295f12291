"""Contrastive losses: they pull motions towards their captions, or clips of one kind towards each other, and push others apart.

In a batch of pairs, the captions of all other motions serve as negatives. Some of them are true of the motion too: captions of
another variant of the same sample, and of samples in which the same happens. They are left out of the sum rather than pushed
away (Petrovich et al., TMR, 2023). Hard negatives are texts without a motion in the batch: each is known to be false of one
motion, however similar its words are.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_EXCLUDED = -1e9


def valid_pairs(captions: Tensor, sample: Tensor, threshold: float, hard: Tensor, hard_of: Tensor) -> Tensor:
    """Return which texts a motion is compared with: its own caption and those that are certainly false of it.

    Parameters
    ----------
    captions : Tensor [n, k]
        Embeddings of the motions' captions, of unit length.
    sample : Tensor [n]
        Sample of each motion.
    threshold : float
        Captions whose embeddings have a larger cosine may be true of each other's motion.
    hard : Tensor [h, k]
        Embeddings of hard negatives.
    hard_of : Tensor [h]
        Index of the motion of which each is false.

    Returns
    -------
    bool Tensor [n, n + h]
        A hard negative is always compared with its own motion, and with others as any other text.
    """
    number = torch.arange(len(captions), device=captions.device)
    own = number[:, None] == number
    apart = (captions @ captions.T <= threshold) & (sample[:, None] != sample)
    own_hard = number[:, None] == hard_of
    others = (captions @ hard.T <= threshold) & (sample[:, None] != sample[hard_of])
    return torch.cat([own | apart, own_hard | others], dim=1)


def info_nce(motion: Tensor, text: Tensor, scale: Tensor | float, valid: Tensor) -> Tensor:
    """Return the cross entropy of finding the caption of each motion and the motion of each caption (symmetric InfoNCE).

    Parameters
    ----------
    motion : Tensor [n, d]
        Of unit length.
    text : Tensor [n + h, d]
        Of unit length: the motions' captions in their order, then hard negatives.
    scale : Tensor or float
        Factor on cosines: one over the temperature.
    valid : bool Tensor [n, n + h]
        Which pairs are compared; see :func:`valid_pairs`.

    Returns
    -------
    Tensor
        A scalar; about log n for an untrained model.
    """
    scores = (scale * motion @ text.T).masked_fill(~valid, -torch.inf)
    target = torch.arange(len(motion), device=motion.device)
    captions = scores[:, : len(motion)]
    return (functional.cross_entropy(scores, target) + functional.cross_entropy(captions.T, target)) / 2


def triplet(motion: Tensor, text: Tensor, margin: float, valid: Tensor) -> Tensor:
    """Return by how much wrong pairs violate a margin below the right pair: the mean over the violations.

    Parameters
    ----------
    motion, text, valid : Tensor
        As for :func:`info_nce`.
    margin : float
        Required difference of the cosines of a right and a wrong pair.

    Returns
    -------
    Tensor
        A scalar; 0 without violations.
    """
    scores = motion @ text.T
    own = scores.diagonal()
    wrong = valid.clone()
    wrong.fill_diagonal_(False)
    by_motion = (margin + scores - own[:, None]).clamp(min=0)[wrong]
    by_text = (margin + scores[:, : len(motion)] - own).clamp(min=0)[wrong[:, : len(motion)]]
    return _mean_violation(by_motion) + _mean_violation(by_text)


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


def _mean_violation(violation: Tensor) -> Tensor:
    return violation.sum() / (violation > 0).sum().clamp(min=1)
