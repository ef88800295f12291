"""Trainable text encoders: transformers of sentence-transformers, and a small network that reads word numbers.

Frozen encoders, which only embed captions, are in :mod:`posegen.embedding`.
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
from posegen.embedding.models import FoundEncoder, find_encoder
from posegen.embedding.transformer import is_transformer, load_model, model_prompts, pad_tokens
from posegen.errors import UsageError
from posegen.training.data.captions import VOCABULARY
from posegen.training.settings import Model

ENCODER = "encoder"
"""Folder of a run that holds its text encoder, as sentence-transformers saves it."""
_AT_ONCE = 32
"""Texts that are encoded at once. They have similar lengths, so that there is little padding."""
_MOST_TOKENS = 512
_SCORE_GAIN = 10.0
"""Factor on class scores. AdamW moves every weight by about the learning rate, which suits pre-trained weights; the factor
makes the scores move further."""

_WIDTH = 96
_DILATIONS = (1, 2, 4)
_HEADS = 4


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
        found = find_trainable_encoder(source)
        assert found.folder is not None, "checked by find_trainable_encoder"
        model = load_model(found.folder, "cpu")
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
        self._prompt, self._limit = prompts[0], min(int(model.max_seq_length or _MOST_TOKENS), _MOST_TOKENS)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = settings.dropout
        for name, parameter in model.named_parameters():
            # sentence-transformers has its own pooling.
            parameter.requires_grad_("pooler" not in name)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Encode texts: Tensor [text, dimension] of unit length, or scores [text, class]."""
        vectors = functional.normalize(self._vectors(texts).float(), dim=-1)
        if self.answer is None:
            return vectors
        # Rescaled to the usual magnitude of a linear layer's input.
        scores: Tensor = _SCORE_GAIN * self.answer(vectors * vectors.shape[1] ** 0.5)
        return scores

    def _vectors(self, texts: Sequence[str]) -> Tensor:
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        prompted = [self._prompt + text for text in distinct]
        tokens = self.encoder.tokenizer(prompted, truncation=True, max_length=self._limit, padding=False)["input_ids"]
        order = np.argsort([len(own) for own in tokens], kind="stable")
        # Weights with adapters are computed once for all texts.
        with parametrize.cached():
            parts = [self._encoded([tokens[i] for i in order[at : at + _AT_ONCE]]) for at in range(0, len(order), _AT_ONCE)]
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        rows = torch.from_numpy(position[[distinct[text] for text in texts]])
        every = torch.cat(parts)
        return every[rows.to(every.device)]

    def _encoded(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        device = next(self.encoder.parameters()).device
        features = {name: values.to(device) for name, values in pad_tokens(self.encoder.tokenizer, tokens).items()}
        for module in self.encoder:
            features = module(features)
        vectors: Tensor = features["sentence_embedding"]
        return vectors


def find_trainable_encoder(source: str) -> FoundEncoder:
    """Find an encoder that has trainable weights.

    Raises
    ------
    UsageError
        If there is none, or it is of another kind.
    """
    found = find_encoder(source)
    if found.folder is None:
        hint = "Use all-MiniLM-L6-v2, or the folder of a sentence-transformers transformer"
        msg = f"text.encoder={source}: has no weights that could be trained here. {hint}"
        raise UsageError(msg)
    return found


def save_encoder(model: nn.Module, run: Path) -> None:
    """Write the encoder of a model into the folder of its run, for ``posegen embed --encoder RUN``."""
    encoder: Any = model.encoder
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        encoder.cpu().save(folder, create_model_card=False)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            write_durably(run / ENCODER / path.relative_to(folder), path.read_bytes())


class CaptionReader(nn.Module):
    """Computes a vector for each caption from its word numbers; it is not pre-trained.

    Convolutions mix each word with its neighbours. The words are then pooled by learned attention and by the maximum.

    Parameters
    ----------
    dropout : float

    Attributes
    ----------
    width : int
        Length of a vector.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.width, self.dropout = _WIDTH * (_HEADS + 1), dropout
        self.words = nn.Embedding(VOCABULARY, _WIDTH)
        nn.init.normal_(self.words.weight, std=0.1)
        self.normalise = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in _DILATIONS)
        self.mix = nn.ModuleList(nn.Conv1d(_WIDTH, _WIDTH, 3, padding=far, dilation=far) for far in _DILATIONS)
        self.look = nn.Linear(_WIDTH, _HEADS)

    def forward(self, words: Tensor) -> Tensor:
        """Read captions.

        Parameters
        ----------
        words : Tensor [caption, word]
            Word numbers; 0 behind the last word. A caption has at least one word.

        Returns
        -------
        Tensor [caption, width]
        """
        mask = (words > 0)[..., None]
        x = self._dropped(self.words(words)) * mask
        for normalise, mix in zip(self.normalise, self.mix, strict=True):
            inner = mix((normalise(x) * mask).transpose(1, 2)).transpose(1, 2)
            x = x + self._dropped(functional.gelu(inner)) * mask
        attention = self.look(x).masked_fill(~mask, -math.inf).softmax(dim=1)
        attended = torch.einsum("cwl,cwn->cln", attention, x).flatten(1)
        return torch.cat([attended, x.masked_fill(~mask, -math.inf).amax(dim=1)], dim=1)

    def _dropped(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.dropout, self.training)
