"""A model that reads captions word by word, and learns from nothing what words tell."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.clips.spelling import SPELLINGS

__all__ = ["CaptionReader"]

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
