"""A reader of texts by their words, which is not pre-trained."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.data.captions import VOCABULARY

_WIDTH = 96
_DILATIONS = (1, 2, 4)
_HEADS = 4


class WordReader(nn.Module):
    """Computes a vector for each text from its word numbers; it is not pre-trained.

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
        """Read texts.

        Parameters
        ----------
        words : Tensor [text, word]
            Word numbers; 0 behind the last word. A text has at least one word.

        Returns
        -------
        Tensor [text, width]
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
