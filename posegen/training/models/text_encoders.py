"""Encoders of sentences as models to be trained: those of sentence-transformers, with their own tokens and pooling.

A model that reads captions word by word, and learns from nothing what words tell.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.embedding.models import FoundEncoder, find_encoder
from posegen.embedding.transformer import is_transformer, load_model, model_prompts
from posegen.errors import UsageError
from posegen.training.data.captions import SPELLINGS
from posegen.training.settings import Model

__all__ = ["ENCODER", "CaptionReader", "TextModel", "find_trainable_encoder", "save_encoder"]


ENCODER = "encoder"
"""Folder of a run in which its encoder lies, as sentence-transformers saves it."""
_TOGETHER = 32
"""Texts that go through the model at once: those of like length, so that little is padded."""
_LIMIT = 512


class TextModel(nn.Module):
    """Puts texts into the space of an encoder, or answers by where they are in it.

    Parameters
    ----------
    source : str
        The encoder that it begins with, as :func:`posegen.embedding.models.find_encoder` knows it.
    answers : int
        How many scores it gives of a text; 0: it gives its vector.
    settings : Model
        Only the dropout counts: the size is that of the encoder.
    gain : float
        What scores are multiplied by, so that a step moves them further: an optimiser's steps have the size of the rate,
        whatever the gradient, and the rate is one for weights that are trained already.
    """

    def __init__(self, source: str, answers: int, settings: Model, gain: float = 1.0) -> None:
        super().__init__()
        found = find_trainable_encoder(source)
        model = load_model(_folder(found), "cpu")
        if not is_transformer(model):
            msg = f"{source}: is no transformer that can be trained here. Choose another with --set text.encoder=NAME|PATH"
            raise UsageError(msg)
        prompts = model_prompts(found.name, dict(model.prompts), model.default_prompt_name)
        # A run has another name, by which nobody would know what is to be written before its texts.
        model.prompts = {"query": prompts[1], "document": prompts[0]}
        self.encoder = model
        self.answer = nn.Linear(int(model.get_embedding_dimension()), answers) if answers else None
        if self.answer is not None:
            nn.init.zeros_(self.answer.weight)
            nn.init.zeros_(self.answer.bias)
        self._gain = gain
        self._prompt, self._limit = prompts[0], min(int(model.max_seq_length or _LIMIT), _LIMIT)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = settings.dropout
        for name, parameter in model.named_parameters():
            # sentence-transformers pools by itself.
            parameter.requires_grad_("pooler" not in name)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Encode texts: Tensor [text, dimension] of unit length, or [text, answer]."""
        vectors = functional.normalize(self._vectors(texts).float(), dim=-1)
        if self.answer is None:
            return vectors
        # As far apart as the numbers that a linear layer usually gets.
        scores: Tensor = self._gain * self.answer(vectors * vectors.shape[1] ** 0.5)
        return scores

    def _vectors(self, texts: Sequence[str]) -> Tensor:
        different = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        prompted = [self._prompt + text for text in different]
        tokens = self.encoder.tokenizer(prompted, truncation=True, max_length=self._limit, padding=False)["input_ids"]
        order = np.argsort([len(own) for own in tokens], kind="stable")
        # Weights that adapters add to are computed once for all.
        with parametrize.cached():
            parts = [self._together([tokens[i] for i in order[at : at + _TOGETHER]]) for at in range(0, len(order), _TOGETHER)]
        place_of = np.empty(len(order), np.int64)
        place_of[order] = np.arange(len(order))
        rows = torch.from_numpy(place_of[[different[text] for text in texts]])
        every = torch.cat(parts)
        return every[rows.to(every.device)]

    def _together(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        tokenizer, longest = self.encoder.tokenizer, max(map(len, tokens))
        numbers = torch.full((len(tokens), longest), tokenizer.pad_token_id or 0)
        mask = torch.zeros_like(numbers)
        for row, own in enumerate(tokens):
            place = slice(None, len(own)) if tokenizer.padding_side == "right" else slice(longest - len(own), None)
            numbers[row, place], mask[row, place] = torch.tensor(own), 1
        device = next(self.encoder.parameters()).device
        features: dict[str, Any] = {"input_ids": numbers.to(device), "attention_mask": mask.to(device)}
        for module in self.encoder:
            features = module(features)
        vectors: Tensor = features["sentence_embedding"]
        return vectors


def find_trainable_encoder(source: str) -> FoundEncoder:
    """Find an encoder that has weights to be trained.

    Raises
    ------
    UsageError
        If there is none, or it is of another kind.
    """
    found = find_encoder(source)
    if found.folder is None:
        msg = (
            f"text.encoder={source}: has no weights that could be trained here. all-MiniLM-L6-v2 has, and any "
            f"folder of a transformer of sentence-transformers"
        )
        raise UsageError(msg)
    return found


def _folder(found: FoundEncoder) -> Path:
    assert found.folder is not None, "refused before"
    return found.folder


def save_encoder(model: nn.Module, run: Path) -> None:
    """Write the encoder of a model into the folder of its run, for ``posegen embed --encoder RUN``."""
    encoder: Any = model.encoder
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        encoder.cpu().save(folder, create_model_card=False)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            write_durably(run / ENCODER / path.relative_to(folder), path.read_bytes(), current_run())


_WIDTH = 96
_DILATIONS = (1, 2, 4)
_LOOKS = 4


class CaptionReader(nn.Module):
    """Gives each caption a vector.

    Each word is mixed with its neighbours, those with theirs; then some words are looked at, which ones is learned, and the
    most of each number is taken.

    Parameters
    ----------
    dropout : float

    Attributes
    ----------
    width : int
        Numbers in the vector of a caption.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.width, self.dropout = _WIDTH * (_LOOKS + 1), dropout
        self.words = nn.Embedding(SPELLINGS, _WIDTH)
        nn.init.normal_(self.words.weight, std=0.1)
        self.normalise = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in _DILATIONS)
        self.mix = nn.ModuleList(nn.Conv1d(_WIDTH, _WIDTH, 3, padding=far, dilation=far) for far in _DILATIONS)
        self.look = nn.Linear(_WIDTH, _LOOKS)

    def forward(self, words: Tensor) -> Tensor:
        """Read captions.

        Parameters
        ----------
        words : Tensor [caption, word]
            Their numbers; 0 behind the last one. A caption has one word at least.

        Returns
        -------
        Tensor [caption, width]
        """
        there = (words > 0)[..., None]
        x = self._dropped(self.words(words)) * there
        for normalise, mix in zip(self.normalise, self.mix, strict=True):
            inner = mix((normalise(x) * there).transpose(1, 2)).transpose(1, 2)
            x = x + self._dropped(functional.gelu(inner)) * there
        shares = self.look(x).masked_fill(~there, -math.inf).softmax(dim=1)
        seen = torch.einsum("cwl,cwn->cln", shares, x).flatten(1)
        return torch.cat([seen, x.masked_fill(~there, -math.inf).amax(dim=1)], dim=1)

    def _dropped(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.dropout, self.training)
