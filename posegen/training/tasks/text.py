"""``text``: fine-tune a text encoder on captions.

With ``text.goal=pairs`` the encoder learns paraphrases: captions of one scene in different words are pulled together and pushed
away from those of other scenes and from hard negatives. With ``text.goal=families`` the encoder and a linear layer learn which
families of actions a caption states.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import xxhash
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

from posegen.dataset.files import write_durably
from posegen.embedding.models import find_encoder
from posegen.embedding.transformer import is_transformer, model_prompts, pad_tokens
from posegen.embedding.transformer import load_model as load_transformer
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.randomness import Stream, integers, uniform
from posegen.training.data.captions import FAMILY_RECIPES, PAIR_RECIPES, CaptionSampler, family_names
from posegen.training.data.features import Recipe, View
from posegen.training.data.negatives import CHANGED
from posegen.training.data.tokens import Tokeniser, numbers_of
from posegen.training.measures import pools, ranking_of, ranks_of
from posegen.training.models.losses import info_nce
from posegen.training.settings import Model, Settings, Text
from posegen.training.task import Abilities, Clips, CollectedOutputs, Forms, Network, Reading, Task
from posegen.training.trained_models import load_model

_POOL = 256
"""Scenes in a pool, with one caption each."""
_ADAPTER_GAIN = 8.0
"""Factor on low-rank adapters, which start at zero."""
_FARTHER = 2.0
"""How many times as far from a caption as its other caption a hard negative should be."""
_LEAST_DISTANCE = 1e-4
_FAMILIES = "families at a rate of their own"
"""The form of the task that learns families."""

_ENCODER = "encoder"
"""Folder of a run that holds its text encoder, as sentence-transformers saves it."""
_AT_ONCE, _AT_ONCE_ON_GPU = 32, 512
"""Texts that are encoded at once. They have similar lengths, so that there is little padding. A GPU spends most of the time of
few texts on starting kernels: with 32 it was 29 % utilised."""
_EXAMPLE_TOKENS = 16
_SCORE_GAIN = 10.0
"""Factor on class scores. AdamW moves every weight by about the learning rate, which suits pre-trained weights; the factor
makes the scores move further."""


class TextModel(nn.Module):
    """Computes embeddings of texts, or class scores from them.

    Parameters
    ----------
    source : str
        The pre-trained encoder; see :func:`posegen.embedding.models.find_encoder`.
    answers : int
        Number of classes; 0: return embeddings.
    settings : Model
        Only the dropout is used. The size is that of the encoder.
    """

    def __init__(self, source: str, answers: int, settings: Model) -> None:
        super().__init__()
        found = find_encoder(source)
        assert found.folder is not None, "checked by open_setup"
        model = load_transformer(found.folder, "cpu")
        if not is_transformer(model):
            msg = f"{source}: is not a transformer that can be trained. Choose another: --set text.encoder=NAME|PATH"
            raise UsageError(msg)
        prompts = model_prompts(found.name, dict(model.prompts), model.default_prompt_name)
        # The folder of a run has another name, from which the prompts could not be looked up.
        model.prompts = {"query": prompts[1], "document": prompts[0]}
        self.encoder = model
        self.answer = nn.Linear(int(model.get_embedding_dimension()), answers) if answers else None
        if self.answer is not None:
            nn.init.zeros_(self.answer.weight)
            nn.init.zeros_(self.answer.bias)
        self._tokenise, self.prompt = Tokeniser.of_model(model, found.name), prompts[0]
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = settings.dropout
        for name, parameter in model.named_parameters():
            # sentence-transformers has its own pooling.
            parameter.requires_grad_("pooler" not in name)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Encode texts: Tensor [text, dimension] of unit length, or scores [text, class]."""
        return self.of_numbers(self._tokenise(texts))

    def of_numbers(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Encode texts from their token numbers, each distinct one once; see :meth:`forward`."""
        return self._answers(self._vectors([tuple(text) for text in texts]))

    def _answers(self, vectors: Tensor) -> Tensor:
        vectors = functional.normalize(vectors.float(), dim=-1)
        if self.answer is None:
            return vectors
        # Rescaled to the usual magnitude of a linear layer's input.
        scores: Tensor = _SCORE_GAIN * self.answer(vectors * vectors.shape[1] ** 0.5)
        return scores

    def _vectors(self, texts: Sequence[tuple[int, ...]]) -> Tensor:
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        tokens = [list(text) for text in distinct]
        order = np.argsort([len(own) for own in tokens], kind="stable")
        # Weights with adapters are computed once for all texts, except where the backward pass recomputes them.
        recomputed = any(getattr(module, "gradient_checkpointing", False) for module in self.encoder.modules())
        size = _AT_ONCE if next(self.encoder.parameters()).device.type == "cpu" else _AT_ONCE_ON_GPU
        with nullcontext() if recomputed and self.training else parametrize.cached():
            parts = [self._encoded([tokens[i] for i in order[at : at + size]]) for at in range(0, len(order), size)]
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        rows = torch.from_numpy(position[[distinct[text] for text in texts]])
        every = torch.cat(parts)
        return every[rows.to(every.device)]

    def _encoded(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        device = next(self.encoder.parameters()).device
        padded = pad_tokens(self.encoder.tokenizer, tokens)
        return self._embeddings({name: values.to(device) for name, values in padded.items()})

    def _embeddings(self, features: dict[str, Tensor]) -> Tensor:
        for module in self.encoder:
            features = module(features)
        return features["sentence_embedding"]

    def of_tokens(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode token numbers [text, token] with their mask, as the encoder's tokenizer returns them; see :meth:`forward`."""
        return self._answers(self._embeddings({"input_ids": input_ids, "attention_mask": attention_mask}))


class _ByTokens(nn.Module):
    """A :class:`TextModel` without its tokenizer."""

    def __init__(self, model: TextModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model.of_tokens(input_ids, attention_mask)


def _network(model: nn.Module, view: View) -> Network:
    encoder: Any = model.encoder

    def example(texts: int, tokens: int) -> dict[str, Array]:
        drawn = integers(uniform(0, np.arange(texts), Stream.AUGMENT, tokens), 0, len(encoder.tokenizer) - 1)
        mask = np.arange(tokens) < tokens - 2 * np.arange(texts)[:, None]
        return {"input_ids": np.where(mask, drawn, 0).astype(np.int64), "attention_mask": mask.astype(np.int64)}

    assert isinstance(model, TextModel)
    output = f"logits of {', '.join(view.answers)}" if view.answers else "embeddings of unit length"
    shapes: dict[str, tuple[str | int, ...]] = dict.fromkeys(("input_ids", "attention_mask"), ("text", "token"))
    return Network(_ByTokens(model), shapes, example, _EXAMPLE_TOKENS, output, {"tokenizer": _ENCODER, "prompt": model.prompt})


def _describe_texts(model: nn.Module, table: pa.Table, view: View) -> dict[str, list[Any]]:
    """Return the embedding of each text, or the probability of each family and the families above .5."""
    outputs: Tensor = model(table["text"].to_pylist())
    if not view.answers:
        return {"vector": outputs.tolist()}
    rows = torch.sigmoid(outputs).tolist()
    stated = [[name for name, share in zip(view.answers, row, strict=True) if share > 0.5] for row in rows]
    return {"families": stated} | {name: [row[i] for row in rows] for i, name in enumerate(view.answers)}


def _save_encoder(model: nn.Module, run: Path) -> None:
    """Write the encoder of a model into the folder of its run, for ``posegen embed --encoder RUN``."""
    encoder: Any = model.encoder
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        encoder.cpu().save(folder, create_model_card=False)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            write_durably(run / _ENCODER / path.relative_to(folder), path.read_bytes())


def _encoded(model: nn.Module, tokens: Tensor) -> Tensor:
    """Encode texts [..., token]; zeros where there is none."""
    flat = tokens.reshape(-1, tokens.shape[-1]).cpu().numpy()
    present = flat.any(axis=1)
    assert isinstance(model, TextModel)
    outputs = model.of_numbers(numbers_of(flat[present]))
    every = outputs.new_zeros(len(flat), outputs.shape[1])
    every[torch.from_numpy(present).to(outputs.device)] = outputs
    shaped: Tensor = every.reshape(*tokens.shape[:-1], -1)
    return shaped


def _apply_pairs(model: nn.Module, clips: Clips) -> Tensor:
    """Return vectors [clip, caption, alternative, dimension] of the two captions of a training clip, or of all captions."""
    tokens = clips["tokens"]
    return _encoded(model, torch.stack([tokens, clips["other"]], dim=1) if "other" in clips else tokens)


def _apply_families(model: nn.Module, clips: Clips) -> Tensor:
    """Return scores [clip, family] of the caption of a training clip, or [clip, caption, family] of all captions."""
    tokens = clips["tokens"]
    return _encoded(model, tokens if tokens.dim() == 2 else tokens[:, :, 0])


def _pair_loss(settings: Text, outputs: Tensor, clips: Clips) -> Tensor:
    """Compare each caption of a pair with the other one, with false captions of other scenes, and with hard negatives."""
    vectors, count = outputs.float(), len(outputs)
    present = (torch.stack([clips["tokens"], clips["other"]], dim=1)[:, :, 1:] != 0).any(dim=-1)
    number = torch.arange(count, device=outputs.device)
    own = number[:, None] == number
    apart = clips["sample"][:, None] != clips["sample"]
    losses = []
    for query, stated in enumerate((clips["second_actions"], clips["first_actions"])):
        hard = vectors[:, query, 1:].flatten(0, 1)
        own_hard = (number[:, None] == number.repeat_interleave(vectors.shape[2] - 1)) & present[:, query].flatten()
        valid = torch.cat([own | (_is_false(clips["scene_actions"], stated) & apart), own_hard], dim=1)
        other = vectors[:, 1 - query, 0]
        near = _hard_negative_loss(vectors[:, query, 0], other, vectors[:, query, 1:], present[:, query])
        losses.append(info_nce(vectors[:, query, 0], torch.cat([other, hard]), 1 / settings.temperature, valid) + 2 * near)
    return (losses[0] + losses[1]) / 2


def _hard_negative_loss(query: Tensor, other: Tensor, hard: Tensor, present: Tensor) -> Tensor:
    """Return the mean of log(1 + 2 a / b), with the distance a of a caption to the other one and b to a hard negative.

    To a pre-trained encoder a left and a right hand are almost the same, and the cosine of two equal unit vectors has no
    gradient, so InfoNCE does not separate them. The gradient of the logarithm grows as the distance shrinks. Since distances
    are compared, it fades only where a hard negative is farther than the other caption, wherever that is.
    """
    own, distance = 1 - (query * other).sum(dim=-1, keepdim=True), 1 - (query[:, None] * hard).sum(dim=-1)
    nearer = torch.log1p(_FARTHER * own.clamp(min=0) / (distance.clamp(min=0) + _LEAST_DISTANCE))
    return (nearer * present).sum() / present.sum().clamp(min=1)


def _is_false(scene: Tensor, stated: Tensor) -> Tensor:
    """Return for each scene which captions are certainly false: those that state an action that does not occur."""
    occurs = (stated[None, :, :, None] == scene[:, None, None, :]).any(dim=-1)
    return ((stated[None] != 0) & ~occurs).any(dim=-1)


def _family_loss(outputs: Tensor, clips: Clips) -> Tensor:
    truth = clips["families"][:, : outputs.shape[1]].to(outputs)
    return functional.binary_cross_entropy_with_logits(outputs.float(), truth.float())


def _pair_accuracy(outputs: Tensor, clips: Clips) -> Tensor:
    """Return the share of captions whose other caption is the closest of those of the batch."""
    closest = (outputs[:, 0, 0] @ outputs[:, 1, 0].T).argmax(dim=1)
    return (closest == torch.arange(len(outputs), device=outputs.device)).float().mean()


def _family_accuracy(outputs: Tensor, clips: Clips) -> Tensor:
    """Return the share of captions with all families right."""
    truth = clips["families"][:, : outputs.shape[1]].bool()
    return ((outputs > 0) == truth).all(dim=1).float().mean()


class _Paraphrases(CollectedOutputs):
    """Measures how well captions of the same scene are found by their vectors."""

    names = ("tokens", "changes", "sample")

    def measures(self) -> dict[str, float]:
        """Return recall in pools of scenes and among hard negatives."""
        *collected, sample = self.collected()
        outputs, tokens, changes = (values[np.argsort(sample, kind="stable")] for values in collected)
        first = tokens[:, :, 0]
        words = np.full(first.shape[:2], -1, np.int64)
        for clip, caption in np.argwhere(first.any(axis=-1)):
            words[clip, caption] = xxhash.xxh3_64_intdigest(first[clip, caption].tobytes()) >> 1
        vectors, hard = outputs[:, :, 0], outputs[:, :, 1:]
        recall = recall_in_pools(vectors, words)
        if not recall:
            raise PosegenError("no validation scene has two captions in different words. Generate more samples")
        return {**recall, **recall_among_hard_negatives(vectors, words, hard, changes), "clips": float(len(sample))}


class _Families(CollectedOutputs):
    """Compares predicted and true families of captions."""

    names = ("tokens", "families")

    def measures(self) -> dict[str, float]:
        """Return the mean F1 of the families that occur, and the share of captions with all families right.

        ``commonest`` is that share for always predicting the commonest set of families.
        """
        predicted, true = self._answers()
        hits, answered, stated = self._counts()
        occurs = stated > 0
        _, counts = np.unique(true, axis=0, return_counts=True)
        return {
            "macro_f1": float((2 * hits[occurs] / (answered + stated)[occurs]).mean()),
            "exact": float((predicted == true).all(axis=1).mean()),
            "commonest": float(counts.max() / len(true)),
            "captions": float(len(true)),
            "clips": float(sum(len(outputs) for outputs, *_ in self.batches)),
        }

    def table(self) -> dict[str, Any]:
        """Return for each family the number of captions: correctly predicted, predicted, and true."""
        return {"names": list(self.view.answers), "said": self._counts().tolist()}

    def _answers(self) -> tuple[Array, Array]:
        """Return the predicted and the true families of all captions, bool [caption, family]."""
        outputs, tokens, families = self.collected()
        present = tokens[:, :, 0].any(axis=-1)
        return outputs[present] > 0, families[present][:, : len(self.view.answers)].astype(bool)

    def _counts(self) -> Array:
        predicted, true = self._answers()
        return np.array([(predicted & true).sum(axis=0), predicted.sum(axis=0), true.sum(axis=0)])


def recall_in_pools(vectors: Array, words: Array, pool: int = _POOL) -> dict[str, float]:
    """Measure how well captions of the same scene are found in pools of scenes.

    The rules are those of :mod:`posegen.training.measures`. Each caption in turn is the query, and the next one the
    answer; pairs with the same words are skipped. Any caption with the words of the answer or of the query counts as right.

    Parameters
    ----------
    vectors : float [scene, caption, dimension]
        Of unit length.
    words : int [scene, caption]
        Equal numbers for equal words; -1, behind the others, where a scene has fewer captions.
    pool : int
        Scenes per pool.

    Returns
    -------
    dict of str to float
        ``r1``, ``r3``, ``r10`` as far as the pool allows, ``median`` rank, ``chance_r1``, ``pool`` and ``questions``.
    """
    ranks, rights = [], []
    several = np.flatnonzero((words >= 0).sum(axis=1) > 1)
    size = min(pool, len(several))
    for turn in range(words.shape[1]):
        for chosen in (several[numbers] for numbers in pools(0, len(several), size, turn)):
            query, answer = _turn(words[chosen], turn)
            questions, answers = words[chosen, query], words[chosen, answer]
            valid = questions != answers
            scores = vectors[chosen, query] @ vectors[chosen, answer].T
            right = (answers[:, None] == answers) | (questions[:, None] == answers)
            if valid.any():
                ranks.append(ranks_of(scores[valid], right[valid]))
                rights.append(right[valid].sum(axis=1))
    if not ranks:
        return {}
    ranking = ranking_of(np.concatenate(ranks), np.concatenate(rights), size, (1, 3, 10))
    recalls = {f"r{k}": share for k, share in ranking.recall.items()}
    counts = {"pool": float(ranking.pool), "questions": float(ranking.questions)}
    return {**recalls, "median": ranking.median, "chance_r1": ranking.chance[1], **counts}


def recall_among_hard_negatives(vectors: Array, words: Array, hard: Array, changes: Array) -> dict[str, float]:
    """Measure how often a paraphrase is closer to a caption than all hard negatives of that caption.

    Parameters
    ----------
    vectors, words
        As for :func:`recall_in_pools`.
    hard : float [scene, caption, alternative, dimension]
        Hard negatives of each caption.
    changes : int [scene, caption, alternative]
        Kind of the changed statement; -1 where there is no hard negative.

    Returns
    -------
    dict of str to float
        ``hard_r1``, ``hard_chance`` and ``hard_questions``; ``hard_KIND`` for each kind: how often the paraphrase is closer
        than one hard negative of this kind (0.5 by chance).
    """
    first, chance, over = [], [], []
    several = np.flatnonzero((words >= 0).sum(axis=1) > 1)
    for turn in range(words.shape[1]):
        query, answer = _turn(words[several], turn)
        vector, known = vectors[several, query], changes[several, query]
        own = (vector * vectors[several, answer]).sum(axis=-1)
        other = np.einsum("sd,sad->sa", vector, hard[several, query])
        valid = (words[several, query] != words[several, answer]) & (known >= 0).any(axis=1)
        closer = own[:, None] > other
        first.append((closer | (known < 0)).all(axis=1)[valid])
        chance.append(1 / (1 + (known[valid] >= 0).sum(axis=1)))
        over.append(np.stack([known[valid].ravel(), closer[valid].ravel()], axis=1))
    right, by_chance, pairs = (np.concatenate(parts) for parts in (first, chance, over))
    if not len(right):
        return {}
    kinds = {
        f"hard_{name}": float(pairs[pairs[:, 0] == kind, 1].mean())
        for kind, name in enumerate(CHANGED)
        if (pairs[:, 0] == kind).any()
    }
    totals = {"hard_r1": right.mean(), "hard_chance": by_chance.mean(), "hard_questions": len(right)}
    return {name: float(value) for name, value in totals.items()} | kinds


def _turn(words: Array, turn: int) -> tuple[Array, Array]:
    """Return which caption of each scene is the query in a turn, and which one the answer."""
    count = (words >= 0).sum(axis=1)
    return turn % count, (turn + 1) % count


def predict_families(run: Path, texts: Sequence[str]) -> list[dict[str, float]]:
    """Return the probability that texts state each family of actions.

    Parameters
    ----------
    run : Path
        Run of ``posegen train --task text --set text.goal=families``.
    texts : sequence of str

    Returns
    -------
    list of dict of str to float
        For each text the probability by family; above .5 the family counts as stated.

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
    if trained.task.name != TASK.name or not trained.view.answers:
        raise UsageError(f"{run}: its model predicts no families. Train one with --task text --set text.goal=families")
    if not texts:
        return []
    with torch.inference_mode():
        probabilities = torch.sigmoid(trained.model(list(texts)))
    return [dict(zip(trained.view.answers, row, strict=True)) for row in probabilities.tolist()]


def _task(recipes: tuple[Recipe, ...], sampler: CaptionSampler, form: str, classes: tuple[str, ...], **own: Any) -> Task:
    """Return the task with what both goals share."""
    return Task(
        name="text",
        recipes=recipes,
        build=lambda view, settings: TextModel(view.text_encoder, len(view.answers), settings),
        adapter_gain=_ADAPTER_GAIN,
        reading=Reading(first_variant_only=True, caption_sampler=sampler),
        abilities=Abilities(
            takes_motion=False, describe_texts=_describe_texts, class_names=classes, network=_network, save_extras=_save_encoder
        ),
        forms=Forms(form=form, configure=_configured, restore=_restored),
        **own,
    )


def _pairs(settings: Text) -> Task:
    return _task(
        PAIR_RECIPES,
        CaptionSampler(settings.pairs, settings.hard),
        "both ways",
        (),
        labels=("other", "second_actions"),
        apply=_apply_pairs,
        loss=partial(_pair_loss, settings),
        tally=_Paraphrases,
        monitor="r1",
        chance="chance_r1",
        accuracy=_pair_accuracy,
        needs_whole_batch=True,
    )


def _families(settings: Text) -> Task:
    return _task(
        FAMILY_RECIPES,
        CaptionSampler(settings.pairs, 0),
        _FAMILIES,
        family_names(),
        labels=("families",),
        apply=_apply_families,
        loss=_family_loss,
        tally=_Families,
        monitor="macro_f1",
        accuracy=_family_accuracy,
    )


def _restored(form: str) -> Task:
    return _families(Text()) if form == _FAMILIES else _pairs(Text())


def _configured(settings: Settings) -> Task:
    if settings.data.frames is not None:
        raise UsageError("data.frames is set, but the task text learns from captions of whole clips. Remove it")
    return _pairs(settings.text) if settings.text.goal == "pairs" else _families(settings.text)


TASK = _pairs(Text())
