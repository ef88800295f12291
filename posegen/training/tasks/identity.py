"""``identity``: whether two clips are of the same person.

The model puts a clip into a space where clips of one person lie near one another. It is trained on batches that hold several
clips of each of several persons, and judged on persons that it was never trained on: by the cosines of pairs of clips of one
person, of two, and of two who look alike. Both clips of a pair are bases of different samples. It goes by bodies and how they
move, or by how they move alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from posegen.errors import PosegenError
from posegen.training.data.features import LENGTH, MOTION, View
from posegen.training.data.identities import ALIKE, OTHER, SAME
from posegen.training.measures.verification import true_accept_rate, verify_pairs
from posegen.training.models.encoder import MotionEncoder, projection, summary, there
from posegen.training.models.losses import supervised
from posegen.training.models.poses import STYLE_MOTION
from posegen.training.settings import Identity, Model
from posegen.training.task import Clips, Task

__all__ = ["DIMENSION", "TASK", "IdentityModel"]

Array = NDArray[Any]

DIMENSION = 128
"""Numbers in a vector of the space that clips are put into."""

_KINDS = {"same": SAME, "other": OTHER, "alike": ALIKE}


class IdentityModel(nn.Module):
    """Puts clips into a space where those of one person lie near one another.

    Parameters
    ----------
    settings : Model
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout)
        self.person = projection(2 * self.encoder.width, settings.dropout, DIMENSION)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode clips: Tensor [clip, DIMENSION], of unit length."""
        frames = self.encoder(motion, length)
        return functional.normalize(self.person(summary(frames, there(motion, length))), dim=-1)


def _build(view: View, settings: Model) -> nn.Module:
    del view
    return IdentityModel(settings)


def _apply(seen: str, model: nn.Module, clips: Clips) -> Tensor:
    vectors: Tensor = model(clips[seen], clips["length"])
    return vectors


def _loss(settings: Identity, said: Tensor, clips: Clips) -> Tensor:
    return supervised(said.float(), clips["person"], clips["sample"], 1 / settings.temperature)


class _Pairs:
    """Keeps the vectors of clips, and measures pairs of them."""

    def __init__(self, view: View) -> None:
        del view
        self._kept: list[tuple[Array, ...]] = []

    def add(self, said: Tensor, clips: Clips) -> None:
        own = (clips[name].cpu().numpy() for name in ("sample", "person", "size", "partner"))
        self._kept.append((said.float().cpu().numpy(), *own))

    def measures(self) -> dict[str, float]:
        """Tell how well pairs of one person are told from those of two, and of two who look alike.

        What begins with `alike_` is of the latter; what ends with `size_auc` is what the lengths of bones alone would get, by
        the distance between them. TAR is at a FAR of 1 %.
        """
        vectors, sample, person, size, partner = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        scores, sizes = _scores(vectors, size, sample, partner)
        found: dict[str, float] = {}
        for kind, name in (("other", ""), ("alike", "alike_")):
            # The least dataset has nobody who looks like anybody, as there is nobody else.
            if kind == "alike" and not len(scores[kind]):
                continue
            by_model, by_size = (verify_pairs(of["same"], of[kind]) for of in (scores, sizes))
            found |= {f"{name}auc": by_model.area, f"{name}equal_error": by_model.equal_error}
            found |= {f"{name}tar": true_accept_rate(scores["same"], scores[kind]), f"{name}size_auc": by_size.area}
        pairs = {f"{kind}_pairs": float(len(scores[kind])) for kind in _KINDS}
        return {**found, **pairs, "persons": float(len(np.unique(person))), "clips": float(len(sample))}

    def table(self) -> dict[str, Any]:
        return {}


def _scores(vectors: Array, size: Array, sample: Array, partner: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    """Compute cosines of the pairs of each kind of which both clips are there, and how near their bones are in length."""
    order = np.argsort(sample)
    place = np.minimum(np.searchsorted(sample, partner, sorter=order), len(sample) - 1)
    other = order[place]
    there_is = sample[other] == partner
    cosines, near = {}, {}
    for kind, places in _KINDS.items():
        one, column = np.nonzero(there_is[:, places])
        two = other[:, places][one, column]
        cosines[kind] = np.einsum("pd,pd->p", vectors[one], vectors[two])
        near[kind] = -np.sqrt(((size[one] - size[two]) ** 2).sum(axis=1))
    if not len(cosines["same"]) or not len(cosines["other"]):
        msg = (
            f"among {len(sample)} clips there are no two of one person, or no two persons. --set checks.clips=10000 takes more"
        )
        raise PosegenError(msg)
    return cosines, near


def _tell(said: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """For each clip its vector, whose cosine with another one's tells how likely both are of one person."""
    del clips, view
    return {"vector": said.float().cpu().tolist()}


def _task(settings: Identity) -> Task:
    seen = STYLE_MOTION if settings.by == "style" else MOTION
    return Task(
        name="identity",
        recipes=(seen, LENGTH),
        labels=(),
        build=_build,
        apply=partial(_apply, seen.name),
        normalised_array=seen.name,
        loss=partial(_loss, settings),
        tally=_Pairs,
        monitor="auc",
        describe=_tell,
        needs_whole_batch=True,
        first_variant_only=True,
        by_identity=True,
        form="" if settings.by == "body" else settings.by,
        restore=lambda form: _task(Identity(by="style" if form else "body")),
        configure=lambda chosen: _task(chosen.identity),
    )


TASK = _task(Identity())
