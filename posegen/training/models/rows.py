"""A model of the rows of a table: texts, numbers and vectors in, categories or a number out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.data.captions import VOCABULARY
from posegen.training.data.columns import Columns
from posegen.training.models.words import WordReader
from posegen.training.settings import Model

_HIDDEN = {"small": 256, "medium": 512, "large": 1024}
_MOST_AMOUNTS = 32
"""Outputs that each word adds to. Updating these weights would take most of a step for more."""
_LIMIT = 8.0
"""Largest deviation of a number, in standard deviations, that the model distinguishes."""


class RowModel(nn.Module):
    """Predicts the label of rows.

    Each word adds a learned amount to the outputs, which is exact where effects of words add up. A network of the texts, in
    which words meet their neighbours, and of the numbers adds the rest. Two texts, and two vectors of one
    dimension, are also compared with each other.

    Parameters
    ----------
    columns : Columns
    answers : int
        Number of outputs.
    settings : Model
    """

    def __init__(self, columns: Columns, answers: int, settings: Model) -> None:
        super().__init__()
        self.reader = WordReader(settings.dropout)
        self.amounts = nn.Embedding(VOCABULARY, answers) if answers <= _MOST_AMOUNTS else None
        if self.amounts is not None:
            nn.init.zeros_(self.amounts.weight)
        self.centre: Tensor
        self.spread: Tensor
        self.log_centre: Tensor
        self.log_spread: Tensor
        self.numbers, self.is_pair = len(columns.numbers), len(columns.texts) == 2
        for name in ("centre", "spread", "log_centre", "log_spread"):
            self.register_buffer(name, torch.tensor(getattr(columns, name), dtype=torch.float32))
        given = self.reader.width * (len(columns.texts) + 2 * self.is_pair) + self.is_pair
        sizes = [size for _, size in columns.vectors]
        self.compared = sizes[0] if len(sizes) == 2 and sizes[0] == sizes[1] else 0
        given += 2 * columns.values + self.numbers + (self.compared + 1 if self.compared else 0)
        width = _HIDDEN[settings.size]
        self.mix = nn.Sequential(
            nn.Linear(given, width), nn.GELU(), nn.Dropout(settings.dropout), nn.Linear(width, width), nn.GELU(),
            nn.Dropout(settings.dropout),
        )  # fmt: skip
        self.answer = nn.Linear(width, answers)
        nn.init.zeros_(self.answer.weight)
        nn.init.zeros_(self.answer.bias)

    def forward(self, words: Tensor, values: Tensor) -> Tensor:
        """Predict the label.

        Parameters
        ----------
        words : Tensor [row, text, word]
            Word numbers; 0 behind the last word. Each text has at least one word.
        values : Tensor [row, value]
            Numbers, then the components of vectors; NaN where there is none. What follows them is not read.

        Returns
        -------
        Tensor [row, answer]
            Scores of the categories, or one number as the label is encoded.
        """
        rows, texts, count = words.shape
        read = self.reader(words.reshape(rows * texts, count)).reshape(rows, texts, self.reader.width)
        parts = [read.flatten(1), self._described(values)]
        if self.is_pair:
            one, other = read[:, 0], read[:, 1]
            parts += [(one - other).abs(), one * other, functional.cosine_similarity(one, other)[:, None]]
        if self.compared:
            vectors = torch.nan_to_num(values[:, self.numbers : self.numbers + 2 * self.compared])
            one, other = vectors[:, : self.compared], vectors[:, self.compared :]
            parts += [self.compared * one * other, functional.cosine_similarity(one, other)[:, None]]
        outputs: Tensor = self.answer(self.mix(torch.cat(parts, dim=1)))
        if self.amounts is not None:
            outputs = outputs + (self.amounts(words) * (words > 0)[..., None]).sum(dim=(1, 2))
        return outputs.float()

    def _described(self, values: Tensor) -> Tensor:
        """Return deviations of the values and of the logarithms of the numbers, and which values are present."""
        values = values[:, : len(self.centre)]
        present = ~torch.isnan(values)
        known = torch.where(present, values, 0.0)
        numbers = known[:, : self.numbers]
        logs = torch.sign(numbers) * torch.log1p(numbers.abs())
        deviations = (known - self.centre) / self.spread * present
        log_deviations = (logs - self.log_centre) / self.log_spread * present[:, : self.numbers]
        return torch.cat([deviations.clamp(-_LIMIT, _LIMIT), log_deviations.clamp(-_LIMIT, _LIMIT), present.float()], dim=1)
