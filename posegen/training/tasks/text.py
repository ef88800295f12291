"""``text``: an encoder of sentences learns what captions mean.

It begins with an encoder that is trained already. To find pairs, captions of one scene in different words are drawn near one
another, and away from those of other scenes and from what differs in one statement. To tell families, the encoder and a layer
behind it learn which families of actions a caption tells of.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from posegen.errors import PosegenError, UsageError
from posegen.training.contrastive import info_nce
from posegen.training.recipes import View
from posegen.training.sentences.captions import CHANGES, FAMILIES, LENGTH, SENTENCE, TOLD, Showing, family_names, texts_of
from posegen.training.sentences.encoder import TextModel, keep_encoder
from posegen.training.sentences.paraphrases import found_among_hard, found_in_pools
from posegen.training.settings import Model, Settings, Text
from posegen.training.task import Clips, Task

__all__ = ["TASK"]

Array = NDArray[Any]


def _build(view: View, settings: Model) -> nn.Module:
    return TextModel(view.text_encoder, len(view.answers), settings)


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
    """Vectors [clip, text, dimension] of what a clip is shown with; [clip, caption, alternative, dimension] of all of it."""
    letters = clips["sentence"]
    if "other" in clips:
        letters = torch.cat([letters[:, None], clips["other"][:, None], clips["hard"]], dim=1)
    return _encoded(model, letters)


def _apply_families(model: nn.Module, clips: Clips) -> Tensor:
    """Scores [clip, family] of the caption that a clip is shown with; [clip, caption, family] of all of them."""
    letters = clips["sentence"]
    return _encoded(model, letters if letters.dim() == 2 else letters[:, :, 0])


def _pair_loss(settings: Text, said: Tensor, clips: Clips) -> Tensor:
    """Hold each caption against the others of the batch that are surely false of its scene, and its own hard negatives."""
    vectors, count = said.float(), len(said)
    number = torch.arange(count, device=said.device)
    counts = (number[:, None] == number) | (_false(clips) & (clips["sample"][:, None] != clips["sample"]))
    hard = vectors[:, 2:].flatten(0, 1)
    there = (clips["hard"] != 0).any(dim=-1).flatten().to(said.device)
    own = (number[:, None] == number.repeat_interleave(vectors.shape[1] - 2)) & there
    texts = torch.cat([vectors[:, 1], hard])
    return info_nce(vectors[:, 0], texts, 1 / settings.temperature, torch.cat([counts, own], dim=1))


def _false(clips: Clips) -> Tensor:
    """Tell of each scene which captions surely are false of it: those that tell of an action that nobody does there."""
    scene, claimed = clips["scene"], clips["claimed"]
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


def _pairs(settings: Text) -> Task:
    return Task(
        name="text",
        recipes=(SENTENCE, LENGTH, CHANGES, TOLD),
        labels=("other", "claimed"),
        build=_build,
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
        restore=_restored,
        leave=keep_encoder,
    )


def _families(settings: Text) -> Task:
    return Task(
        name="text",
        recipes=(SENTENCE, LENGTH, FAMILIES),
        labels=("families",),
        build=_build,
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
        form="families",
        restore=_restored,
        leave=keep_encoder,
    )


def _configured(settings: Settings) -> Task:
    if settings.data.frames is not None:
        msg = "text learns from captions of whole clips, so it takes no data.frames"
        raise UsageError(msg)
    return _pairs(settings.text) if settings.text.goal == "pairs" else _families(settings.text)


def _restored(form: str) -> Task:
    return _families(Text()) if form else _pairs(Text())


TASK = _pairs(Text())
