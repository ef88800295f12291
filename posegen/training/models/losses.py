"""What pulls motions towards their captions, or clips towards those of the same kind, and away from others.

In a batch of pairs each caption that belongs to another motion is taken for wrong. Some are not: captions of the same sample
in another variant, and of other samples that happen to do the same, are true of the motion, too. They are left out of the sum
rather than pushed away (as Petrovich et al. do, TMR, 2023). Hard negatives are texts that stand for no motion of the batch:
each is known to be false of one of its motions, however alike the words are.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["counted", "info_nce", "supervised", "triplet"]


_NOT_TO_BE_FOUND = -1e9


def counted(
    captions: Tensor, sample: Tensor, threshold: float, hard: Tensor | None = None, hard_of: Tensor | None = None
) -> Tensor:
    """Tell which texts count for which motions: each motion's own, and those that are surely false of it.

    Parameters
    ----------
    captions : Tensor [n, k]
        Vectors of the motions' captions as the text encoder has them, of unit length.
    sample : Tensor [n]
        Which sample each motion is of.
    threshold : float
        Captions more alike than this may be true of each other's motion.
    hard : Tensor [h, k], optional
        Vectors of hard negatives.
    hard_of : Tensor [h], optional
        Number of the motion that each is false of.

    Returns
    -------
    bool Tensor [n, n + h]
        A hard negative counts for its own motion however alike it is, and for others as any text does.
    """
    number = torch.arange(len(captions), device=captions.device)
    own = number[:, None] == number
    apart = (captions @ captions.T <= threshold) & (sample[:, None] != sample)
    if hard is None or hard_of is None:
        return own | apart
    meant = number[:, None] == hard_of
    others = (captions @ hard.T <= threshold) & (sample[:, None] != sample[hard_of])
    return torch.cat([own | apart, meant | others], dim=1)


def info_nce(motion: Tensor, text: Tensor, scale: Tensor | float, counts: Tensor) -> Tensor:
    """Cross entropy of finding the caption of each motion and the motion of each caption, both ways alike (InfoNCE).

    Parameters
    ----------
    motion : Tensor [n, d]
        Of unit length.
    text : Tensor [n + h, d]
        Of unit length: the motions' captions in their order, then hard negatives.
    scale : Tensor or float
        What cosines are multiplied by: one over the temperature.
    counts : bool Tensor [n, n + h]
        Which texts count for which motions; see :func:`counted`.

    Returns
    -------
    Tensor
        A number; log n at the beginning, when all are equally likely.
    """
    scores = (scale * motion @ text.T).masked_fill(~counts, -torch.inf)
    target = torch.arange(len(motion), device=motion.device)
    captions = scores[:, : len(motion)]
    return (functional.cross_entropy(scores, target) + functional.cross_entropy(captions.T, target)) / 2


def triplet(motion: Tensor, text: Tensor, margin: float, counts: Tensor) -> Tensor:
    """How much less than `margin` each right pair is above the wrong ones: the mean over wrong ones that are too near.

    Parameters
    ----------
    motion, text, counts : Tensor
        As :func:`info_nce` takes them.
    margin : float
        By which the cosine of a right pair should be above that of a wrong one.

    Returns
    -------
    Tensor
        A number; 0 where all are far enough, and where there are none.
    """
    scores = motion @ text.T
    own = scores.diagonal()
    wrong = counts.clone()
    wrong.fill_diagonal_(False)
    by_motion = (margin + scores - own[:, None]).clamp(min=0)[wrong]
    inner = wrong[:, : len(motion)]
    by_text = (margin + scores[:, : len(motion)] - own).clamp(min=0)[inner]
    return _mean_of_near(by_motion) + _mean_of_near(by_text)


def supervised(vectors: Tensor, kind: Tensor, sample: Tensor, scale: float) -> Tensor:
    """Cross entropy of finding those of the same kind among all others.

    That is supervised contrastive learning, Khosla et al., 2020, with the sum outside of the logarithm.

    Two variants of one sample are alike whatever their kind is: such pairs count neither way.

    Parameters
    ----------
    vectors : Tensor [n, d]
        Of unit length.
    kind, sample : Tensor [n]
        Of which kind each is, and of which sample.
    scale : float
        What cosines are multiplied by: one over the temperature.

    Returns
    -------
    Tensor
        A number: the mean over those that have one of their kind; 0 if none has.
    """
    apart = sample[:, None] != sample
    right = apart & (kind[:, None] == kind)
    # Not -inf: of who has no other sample beside it, the sum over nothing would have no gradient.
    scores = (scale * vectors @ vectors.T).masked_fill(~apart, _NOT_TO_BE_FOUND)
    found = torch.where(right, scores - torch.logsumexp(scores, dim=1, keepdim=True), torch.zeros_like(scores))
    count = right.sum(dim=1)
    has = count > 0
    return -(found.sum(dim=1)[has] / count[has]).sum() / has.sum().clamp(min=1)


def _mean_of_near(short: Tensor) -> Tensor:
    return short.sum() / (short > 0).sum().clamp(min=1)
