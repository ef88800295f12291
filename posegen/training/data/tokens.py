"""Token numbers of captions, for a text encoder that is trained: computed once, before training, and cached like features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from posegen.dataset.layout import ROWS
from posegen.embedding.models import FoundEncoder
from posegen.embedding.transformer import load_model, model_prompts
from posegen.foundations.arrays import Array
from posegen.training.data.captions import MOST_ALTERNATIVES, PAIRED_CAPTIONS, alternatives_in
from posegen.training.data.features import Recipe, View

MOST_TOKENS = 512
"""Most tokens of a text, if the encoder takes as many."""


@dataclass(frozen=True)
class Tokeniser:
    """Splits texts into tokens of an encoder.

    Attributes
    ----------
    tokenizer : object
        Of Hugging Face.
    prompt : str
        What documents begin with.
    most : int
        Most tokens of a text; the rest is cut off.
    """

    tokenizer: Any
    prompt: str
    most: int

    @classmethod
    def of_model(cls, model: Any, name: str, most: int = MOST_TOKENS) -> Tokeniser:
        """Return that of a model of sentence-transformers with a name."""
        prompt, _ = model_prompts(name, dict(model.prompts), model.default_prompt_name)
        return cls(model.tokenizer, prompt, min(int(model.max_seq_length or most), most))

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of texts."""
        prompted = [self.prompt + text for text in texts]
        numbers: list[list[int]] = self.tokenizer(prompted, truncation=True, max_length=self.most, padding=False)["input_ids"]
        return numbers


def caption_tokens(encoder: FoundEncoder, most: int) -> Recipe:
    """Return the recipe of the tokens of captions and of their hard negatives, padded with zeros.

    A token is stored as its number plus 1. The version is a hash of the encoder and of `most`.

    Parameters
    ----------
    encoder : FoundEncoder
        A transformer of sentence-transformers.
    most : int
        Most tokens of a caption.
    """
    assert encoder.folder is not None, "checked by open_setup"
    version = xxhash.xxh3_64_intdigest(f"{encoder.fingerprint} {most}".encode())
    compute = partial(_tokens, encoder.folder, encoder.name, most)
    return Recipe("tokens", version, (ROWS,), "int32", (PAIRED_CAPTIONS, 1 + MOST_ALTERNATIVES, most), compute)


@lru_cache(1)
def _tokeniser(folder: Path, name: str, most: int) -> Tokeniser:
    return Tokeniser.of_model(load_model(folder, "cpu"), name, most)


def _tokens(folder: Path, name: str, most: int, fields: Mapping[str, Array], view: View) -> Array:
    found = list(alternatives_in(fields[ROWS]))
    tokens = np.zeros((len(fields[ROWS]), PAIRED_CAPTIONS, 1 + MOST_ALTERNATIVES, most), np.int32)
    # Tokenised at once, which the tokenizer does in all cores.
    every = _tokeniser(folder, name, most)([text for *_, text in found])
    for (clip, caption, alternative, _), numbers in zip(found, every, strict=True):
        tokens[clip, caption, alternative, : len(numbers)] = np.array(numbers) + 1
    return tokens


def numbers_of(tokens: Array) -> list[list[int]]:
    """Return the token numbers of texts from an array of the recipe, int32 [text, token].

    Examples
    --------
    >>> numbers_of(np.array([[102, 8, 0], [1, 0, 0]]))
    [[101, 7], [0]]
    """
    return [(row[row > 0] - 1).tolist() for row in tokens]
