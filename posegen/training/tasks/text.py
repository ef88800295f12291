"""``text``: an encoder of sentences learns what captions mean.

It begins with an encoder that is trained already. To find pairs, captions of one scene in different words are drawn near one
another, and away from those of other scenes and from what differs in one statement. To tell families, the encoder and a layer
behind it learn which families of actions a caption tells of.


How well paraphrases are found: captions of one scene in different words, among those of other scenes, and beside captions
that differ in one statement.

The rules are those of :mod:`posegen.training.measures.ranking`. Captions take turns as what is asked and what is to be found;
where both have the same words, nothing is asked. Right are the scene's own caption, and what has its words or those of what is
asked.


What a trained classifier says of texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from posegen.errors import PosegenError, UsageError
from posegen.training.data.captions import (
    CAPTIONED_LENGTH,
    CHANGES,
    FAMILIES,
    SENTENCE,
    TOLD,
    CaptionSampler,
    family_names,
    texts_of,
)
from posegen.training.data.features import View
from posegen.training.data.hard_negatives import CHANGED
from posegen.training.measures.ranking import pools, ranking_of, ranks_of
from posegen.training.model_files import load_model
from posegen.training.models.losses import info_nce
from posegen.training.models.text_encoders import TextModel, save_encoder
from posegen.training.settings import Model, Settings, Text
from posegen.training.task import Clips, Task

__all__ = ["POOL", "TASK", "predict_families", "recall_among_hard_negatives", "recall_in_pools"]

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
        found = recall_in_pools(vectors, words)
        if not found:
            msg = "no scene that the encoder is held against has two captions in different words. Generate more samples"
            raise PosegenError(msg)
        return {**found, **recall_among_hard_negatives(vectors, words, hard, changes), "clips": float(len(sample))}

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
        recipes=(SENTENCE, CAPTIONED_LENGTH, CHANGES, TOLD),
        labels=("other", "claimed"),
        build=partial(_build, 1.0),
        apply=_apply_pairs,
        loss=partial(_pair_loss, settings),
        tally=_Paraphrases,
        monitor="r1",
        describe=None,
        needs_whole_batch=True,
        first_variant_only=True,
        takes_motion=False,
        caption_sampler=CaptionSampler(settings.pairs, settings.hard),
        configure=_configured,
        form=form,
        restore=_restored,
        adapter_gain=_OF_ADAPTERS,
        save_extras=save_encoder,
    )


def _families(settings: Text, form: str = "families at a rate of their own", gain: float = _QUICKER) -> Task:
    return Task(
        name="text",
        recipes=(SENTENCE, CAPTIONED_LENGTH, FAMILIES),
        labels=("families",),
        build=partial(_build, gain),
        apply=_apply_families,
        loss=_family_loss,
        tally=_Families,
        monitor="macro_f1",
        describe=None,
        first_variant_only=True,
        takes_motion=False,
        class_names=family_names(),
        caption_sampler=CaptionSampler(settings.pairs, 0),
        configure=_configured,
        form=form,
        restore=_restored,
        adapter_gain=_OF_ADAPTERS,
        save_extras=save_encoder,
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


POOL = 256
"""Scenes in a pool, of each one caption."""


def recall_in_pools(vectors: Array, words: Array, pool: int = POOL) -> dict[str, float]:
    """Measure recall in pools of scenes.

    Parameters
    ----------
    vectors : float [scene, caption, dimension]
        Of unit length.
    words : int [scene, caption]
        The same number for the same words; -1, behind the others, where a scene has fewer captions.
    pool : int

    Returns
    -------
    dict of str to float
        ``r1``, ``r3``, ``r10`` as far as the pool is so large, ``median`` rank, ``chance_r1``, ``pool`` and ``questions``.
    """
    ranks, rights = [], []
    told = np.flatnonzero((words >= 0).sum(axis=1) > 1)
    size = min(pool, len(told))
    for turn in range(words.shape[1]):
        for places in pools(0, len(told), size, turn):
            chosen = told[places]
            asked, right_one = _turn(words[chosen], turn)
            questions, answers = words[chosen, asked], words[chosen, right_one]
            valid = questions != answers
            scores = vectors[chosen, asked] @ vectors[chosen, right_one].T
            right = (answers[:, None] == answers) | (questions[:, None] == answers)
            if valid.any():
                ranks.append(ranks_of(scores[valid], right[valid]))
                rights.append(right[valid].sum(axis=1))
    if not ranks:
        return {}
    found = ranking_of(np.concatenate(ranks), np.concatenate(rights), size, (1, 3, 10))
    recalls = {f"r{k}": share for k, share in found.recall.items()}
    counted = {"pool": float(found.pool), "questions": float(found.questions)}
    return {**recalls, "median": found.median, "chance_r1": found.chance[1], **counted}


def recall_among_hard_negatives(vectors: Array, words: Array, hard: Array, changes: Array) -> dict[str, float]:
    """Measure how often a paraphrase is nearer to a caption than all that differs from that caption in one statement.

    Parameters
    ----------
    vectors, words : as :func:`recall_in_pools` takes them
    hard : float [scene, caption, alternative, dimension]
        Hard negatives of each caption.
    changes : int [scene, caption, alternative]
        Which kind of statement was changed; -1 where there is no hard negative.

    Returns
    -------
    dict of str to float
        ``hard_r1``, ``hard_chance`` and ``hard_questions``; for each kind that there is ``hard_KIND``, how often the paraphrase
        is nearer than one hard negative of this kind, half by chance.
    """
    first, chance, over = [], [], []
    told = np.flatnonzero((words >= 0).sum(axis=1) > 1)
    for turn in range(words.shape[1]):
        asked, right_one = _turn(words[told], turn)
        query, known = vectors[told, asked], changes[told, asked]
        own = (query * vectors[told, right_one]).sum(axis=-1)
        other = np.einsum("sd,sad->sa", query, hard[told, asked])
        valid = (words[told, asked] != words[told, right_one]) & (known >= 0).any(axis=1)
        nearer = own[:, None] > other
        first.append((nearer | (known < 0)).all(axis=1)[valid])
        chance.append(1 / (1 + (known[valid] >= 0).sum(axis=1)))
        over.append(np.stack([known[valid].ravel(), nearer[valid].ravel()], axis=1))
    right, by_chance, pairs = (np.concatenate(parts) for parts in (first, chance, over))
    if not len(right):
        return {}
    kinds = {
        f"hard_{name}": float(pairs[pairs[:, 0] == kind, 1].mean())
        for kind, name in enumerate(CHANGED)
        if (pairs[:, 0] == kind).any()
    }
    return {
        "hard_r1": float(right.mean()),
        "hard_chance": float(by_chance.mean()),
        "hard_questions": float(len(right)),
        **kinds,
    }


def _turn(words: Array, turn: int) -> tuple[Array, Array]:
    """Tell which caption of each scene is asked for in a turn, and which is to be found."""
    count = (words >= 0).sum(axis=1)
    return turn % count, (turn + 1) % count


def predict_families(run: Path, texts: Sequence[str]) -> list[dict[str, float]]:
    """Tell how likely it is that texts tell of each family of actions.

    Parameters
    ----------
    run : Path
        Of ``posegen train --task text --set text.goal=families``.
    texts : sequence of str

    Returns
    -------
    list of dict of str to float
        For each text, by family; what is above .5 is said of it.

    Raises
    ------
    UsageError
        If the run has another model.
    PosegenError
        If it is damaged.

    Examples
    --------
    >>> predict_families(Path("runs/families"), ["a person waves"])[0]["gestures"]  # doctest: +SKIP
    0.98
    """
    trained = load_model(run)
    if trained.task.name != "text" or not trained.view.answers:
        msg = f"{run}: its model does not tell families of texts. Train one with --task text --set text.goal=families"
        raise UsageError(msg)
    if not texts:
        return []
    with torch.inference_mode():
        likely = torch.sigmoid(trained.model(list(texts)))
    return [dict(zip(trained.view.answers, row, strict=True)) for row in likely.tolist()]


TASK = _pairs(Text())
