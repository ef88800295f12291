"""``text``: an encoder of sentences learns what captions mean.

It begins with an encoder that is trained already. To find pairs, captions of one scene in different words are drawn near one
another, and away from those of other scenes and from what differs in one statement. To tell families, the encoder and a layer
behind it learn which families of actions a caption tells of.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from posegen.errors import PosegenError, UsageError
from posegen.training.clips.recipes import View
from posegen.training.networks.contrastive import info_nce
from posegen.training.sentences.captions import CHANGES, FAMILIES, LENGTH, SENTENCE, TOLD, Showing, family_names, texts_of
from posegen.training.sentences.encoder import TextModel, keep_encoder
from posegen.training.sentences.paraphrases import found_among_hard, found_in_pools
from posegen.training.settings import Model, Settings, Text
from posegen.training.task import Clips, Task

__all__ = ["TASK"]

Array = NDArray[Any]


_QUICKER = 10.0
"""How much further a step moves the scores of families than weights of an encoder that is trained already."""
_APART = 0.5
"""Of a cosine how far below 1 is enough for a caption that is false in one statement."""
_LEAST = 1e-4
_OF_ADAPTERS = 8.0
"""How much further a step moves low-rank adapters, which begin at nothing."""


def _build(gain: float, view: View, settings: Model) -> nn.Module:
    return TextModel(view.text_encoder, len(view.answers), settings, gain)


def _encoded(model: nn.Module, letters: Tensor) -> Tensor:
    """Encode texts [..., letter]; zeros where there is none."""
    flat = letters.reshape(-1, letters.shape[-1]).cpu().numpy()
    there = flat.any(axis=1)
    said = model(texts_of(flat[there]))
    found = said.new_zeros(len(flat), said.shape[1])
    found[torch.from_numpy(there).to(said.device)] = said
    shaped: Tensor = found.reshape(*letters.shape[:-1], -1)
    return shaped


def _apply_pairs(model: nn.Module, clips: Clips) -> Tensor:
    """Vectors [clip, caption, alternative, dimension]: of the two that a clip is shown with, or of all of its captions."""
    letters = clips["sentence"]
    return _encoded(model, torch.stack([letters, clips["other"]], dim=1) if "other" in clips else letters)


def _apply_families(model: nn.Module, clips: Clips) -> Tensor:
    """Scores [clip, family] of the caption that a clip is shown with; [clip, caption, family] of all of them."""
    letters = clips["sentence"]
    return _encoded(model, letters if letters.dim() == 2 else letters[:, :, 0])


def _pair_loss(settings: Text, said: Tensor, clips: Clips) -> Tensor:
    """Hold both captions of each pair against what is surely false of their scene: others of the batch, and their own hard
    negatives.
    """
    vectors, count = said.float(), len(said)
    there = (torch.stack([clips["sentence"], clips["other"]], dim=1)[:, :, 1:] != 0).any(dim=-1)
    number = torch.arange(count, device=said.device)
    own = number[:, None] == number
    apart = clips["sample"][:, None] != clips["sample"]
    ways = []
    for asked, claimed in enumerate((clips["claimed"], clips["asked"])):
        hard = vectors[:, asked, 1:].flatten(0, 1)
        meant = (number[:, None] == number.repeat_interleave(vectors.shape[2] - 1)) & there[:, asked].flatten()
        counts = torch.cat([own | (_false(clips["scene"], claimed) & apart), meant], dim=1)
        texts = torch.cat([vectors[:, 1 - asked, 0], hard])
        near = _nearness(vectors[:, asked, :1], vectors[:, asked, 1:], there[:, asked])
        ways.append(info_nce(vectors[:, asked, 0], texts, 1 / settings.temperature, counts) + 2 * near)
    return (ways[0] + ways[1]) / 2


def _nearness(asked: Tensor, hard: Tensor, there: Tensor) -> Tensor:
    """How much nearer captions are to what is false in one statement than they should be: the mean logarithm.

    At first a left hand and a right one are nearly the same to an encoder, and of two vectors of unit length that coincide the
    cosine has no slope: InfoNCE does not part them. The logarithm of their distance has the more slope the nearer they are.
    """
    distance = 1 - (asked * hard).sum(dim=-1)
    short = (math.log(_APART) - torch.log(distance.clamp(min=0) + _LEAST)).clamp(min=0)
    return (short * there).sum() / there.sum().clamp(min=1)


def _false(scene: Tensor, claimed: Tensor) -> Tensor:
    """Tell of each scene which captions surely are false of it: those that tell of an action that nobody does there."""
    done = (claimed[None, :, :, None] == scene[:, None, None, :]).any(dim=-1)
    return ((claimed[None] != 0) & ~done).any(dim=-1)


def _family_loss(said: Tensor, clips: Clips) -> Tensor:
    truth = clips["families"][:, : said.shape[1]].to(said)
    return functional.binary_cross_entropy_with_logits(said.float(), truth.float())


class _Paraphrases:
    """Keeps the vectors of captions, and measures which are found by others of the same scene."""

    def __init__(self, view: View) -> None:
        del view
        self._kept: list[tuple[Array, ...]] = []

    def add(self, said: Tensor, clips: Clips) -> None:
        letters = clips["sentence"][:, :, 0].cpu().numpy()
        words = np.full(letters.shape[:2], -1, np.int64)
        for clip, caption in np.argwhere(letters.any(axis=-1)):
            words[clip, caption] = xxhash.xxh3_64_intdigest(letters[clip, caption].tobytes()) >> 1
        own = (clips[name].cpu().numpy() for name in ("changes", "sample"))
        self._kept.append((said.float().cpu().numpy(), words, *own))

    def measures(self) -> dict[str, float]:
        """Tell recall in pools of scenes, and among hard negatives."""
        said, words, changes, sample = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        order = np.argsort(sample, kind="stable")
        said, words, changes = said[order], words[order], changes[order]
        vectors, hard = said[:, :, 0], said[:, :, 1:]
        found = found_in_pools(vectors, words)
        if not found:
            msg = "no scene that the encoder is held against has two captions in different words. Generate more samples"
            raise PosegenError(msg)
        return {**found, **found_among_hard(vectors, words, hard, changes), "clips": float(len(sample))}

    def table(self) -> dict[str, Any]:
        return {}


class _Families:
    """Counts what is said of captions beside what they tell of."""

    def __init__(self, view: View) -> None:
        self._names = view.answers
        self._counts = np.zeros((3, len(self._names)), np.int64)
        self._true: list[Array] = []
        self._exact = self._clips = 0

    def add(self, said: Tensor, clips: Clips) -> None:
        there = (clips["sentence"][:, :, 0] != 0).any(dim=-1).cpu().numpy()
        found = (said > 0).cpu().numpy()[there]
        true = clips["families"].cpu().numpy()[there][:, : len(self._names)].astype(bool)
        self._counts += [(found & true).sum(axis=0), found.sum(axis=0), true.sum(axis=0)]
        self._exact += int((found == true).all(axis=1).sum())
        self._true.append(true)
        self._clips += len(said)

    def measures(self) -> dict[str, float]:
        """Tell the mean of F1 over the families that occur, in which share of captions all are right, and in which they
        would be if the commonest were always said.
        """
        hits, said, true = self._counts
        occurs = true > 0
        every = np.concatenate(self._true)
        _, counts = np.unique(every, axis=0, return_counts=True)
        return {
            "macro_f1": float((2 * hits[occurs] / (said + true)[occurs]).mean()),
            "exact": self._exact / len(every),
            "commonest": float(counts.max() / len(every)),
            "captions": float(len(every)),
            "clips": float(self._clips),
        }

    def table(self) -> dict[str, Any]:
        """Give for each family how often it was rightly said, said, and true."""
        return {"names": list(self._names), "said": self._counts.tolist()}


def _pairs(settings: Text, form: str = "both ways") -> Task:
    return Task(
        name="text",
        recipes=(SENTENCE, LENGTH, CHANGES, TOLD),
        labels=("other", "claimed"),
        build=partial(_build, 1.0),
        apply=_apply_pairs,
        loss=partial(_pair_loss, settings),
        tally=_Paraphrases,
        watched="r1",
        tell=None,
        whole=True,
        one_variant=True,
        motion=False,
        sentences=Showing(settings.pairs, settings.hard),
        configure=_configured,
        form=form,
        restore=_restored,
        adapter_gain=_OF_ADAPTERS,
        leave=keep_encoder,
    )


def _families(settings: Text, form: str = "families at a rate of their own", gain: float = _QUICKER) -> Task:
    return Task(
        name="text",
        recipes=(SENTENCE, LENGTH, FAMILIES),
        labels=("families",),
        build=partial(_build, gain),
        apply=_apply_families,
        loss=_family_loss,
        tally=_Families,
        watched="macro_f1",
        tell=None,
        one_variant=True,
        motion=False,
        answers=family_names(),
        sentences=Showing(settings.pairs, 0),
        configure=_configured,
        form=form,
        restore=_restored,
        adapter_gain=_OF_ADAPTERS,
        leave=keep_encoder,
    )


def _configured(settings: Settings) -> Task:
    if settings.data.frames is not None:
        msg = "text learns from captions of whole clips, so it takes no data.frames"
        raise UsageError(msg)
    return _pairs(settings.text) if settings.text.goal == "pairs" else _families(settings.text)


def _restored(form: str) -> Task:
    # Before both ways, and before their own rate, runs had no form, and this one.
    if form == "families":
        return _families(Text(), form, 1.0)
    return _families(Text()) if form.startswith("families") else _pairs(Text(), form)


TASK = _pairs(Text())
