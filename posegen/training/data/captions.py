"""Captions of clips as model input: embeddings of a text encoder, tokens beside hard negatives, or word numbers.

In training a clip is shown with one of its captions, or with a pair; the choice depends on the seed, the batch, the sample and
the variant only. In validation and test a clip has all its captions. Captions are written by :mod:`posegen.captions` and
embedded by :mod:`posegen.embedding`, which also mines negatives from a dataset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import xxhash

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.layout import ROWS
from posegen.dataset.storage.address import AnyPath
from posegen.embedding import Encoder, load_encoder
from posegen.embedding.pairs import PairTable, open_pairs
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.randomness import integers
from posegen.library.load import load_library
from posegen.training.data.features import Draw, Recipe, View, clip_draws
from posegen.training.data.negatives import CHANGED, Alternative, alternatives_of

MOST_CAPTIONS = 8
"""Captions of a clip that are spelled."""
VOCABULARY = 8192
"""Word numbers. Words are hashed, so some share a number; captions of the default config have some thousand words."""
_LONGEST_SPELLING = 96
_WORD = re.compile(r"\w+|[.,;:!?]")

PAIRED_CAPTIONS = 3
"""Captions of a clip of which pairs are learned: as many as posegen writes."""
MOST_ALTERNATIVES = 2
"""Hard negatives that are kept for each of them."""
_FAMILIES = 24
_ACTIONS = 16
_ACTION_NUMBERS = 1 << 30
_OTHER = "other"

_CACHED_BATCHES = 100


@dataclass(frozen=True)
class Captions:
    """Embedded captions of a dataset.

    Attributes
    ----------
    embeddings : Embeddings
    shard : int
        Samples per shard of the dataset.
    hard : int
        Hard negatives that a clip is shown with in training.
    pairs : PairTable or None
        Table of hard negatives. Validation uses it even if `hard` is 0.
    unfit : str or None
        Why an existing table cannot be used.
    """

    embeddings: Embeddings
    shard: int
    hard: int = 0
    pairs: PairTable | None = None
    unfit: str | None = None

    def all_of(self, sample: Array, variant: Array) -> dict[str, Array]:
        """Return all captions of clips.

        Parameters
        ----------
        sample, variant : int64 [clip]
            Sample numbers and variant indices.

        Returns
        -------
        dict
            ``row`` int64 [clip, caption]: number of each text, -1 where a clip has fewer captions; ``text`` float32 [clip,
            caption, dimension]: its embedding, or zeros. If there is a table of pairs, ``hard_row`` and ``hard_text`` are the
            same for the nearest hard negative of each caption.
        """
        rows = self._rows(sample, variant)
        captions = self._embedded(rows)
        if self.pairs is None:
            return captions
        nearest = np.array([[next(iter(self._negatives(row)), -1) for row in own] for own in rows.tolist()], np.int64)
        return captions | {f"hard_{name}": values for name, values in self._embedded(nearest).items()}

    def drawn(self, sample: Array, variant: Array, seed: int, number: int) -> dict[str, Array]:
        """Draw one caption per clip for batch `number`, followed by `hard` hard negatives; arrays as in :meth:`all_of`."""
        rows = self._rows(sample, variant)
        draws = clip_draws(sample, variant, seed, number, Draw.CAPTION, 1 + self.hard)
        count = (rows >= 0).sum(axis=1)
        shown = np.full((len(rows), 1 + self.hard), -1, np.int64)
        shown[:, 0] = rows[np.arange(len(rows)), integers(draws[:, 0], 0, np.maximum(count, 1) - 1)]
        if self.hard:
            for i, row in enumerate(shown[:, 0].tolist()):
                known = self._negatives(row)
                if len(known):
                    shown[i, 1:] = known[integers(draws[i, 1:], 0, len(known) - 1)]
        return self._embedded(shown)

    def _negatives(self, row: int) -> Array:
        """Return the hard negatives of a text; none for a text that was added after the pairs were mined."""
        if self.pairs is None or not 0 <= row < self.pairs.texts:
            return np.empty(0, np.int64)
        return self.pairs.negatives(row)

    def _rows(self, sample: Array, variant: Array) -> Array:
        shards, within = np.divmod(sample, self.shard)
        rows = np.full((len(sample), self.embeddings.captions), -1, np.int64)
        for shard in np.unique(shards).tolist():
            own = shards == shard
            rows[own] = self.embeddings.of_sequences(shard)[within[own], variant[own]]
        return rows

    def _embedded(self, rows: Array) -> dict[str, Array]:
        return {"row": rows, "text": np.nan_to_num(self.embeddings.take(rows), copy=False, nan=0.0)}


def open_captions(dataset: str | AnyPath, shard: int, encoder: str | None, hard: int = 0) -> Captions:
    """Open the embedded captions of a dataset.

    Raises
    ------
    UsageError
        If the captions are not embedded, or `hard` is not 0 and there is no table of pairs.
    """
    embeddings, unfit = open_embeddings(dataset, encoder), None
    try:
        pairs: PairTable | None = open_pairs(dataset, encoder)
    except PosegenError as error:
        if hard:
            raise
        # Training can do without pairs. A missing table is not worth a message.
        pairs, unfit = None, None if isinstance(error, UsageError) else str(error)
    return Captions(embeddings, shard, hard, pairs, unfit)


@dataclass(frozen=True)
class FreshCaptions:
    """Captions of clips that are generated during training; they are embedded when a batch needs them.

    The captions drawn are those that :class:`Captions` draws for the same clips.

    Attributes
    ----------
    encoder : str
        Name of the text encoder. Each process loads it with the same number of threads, so that the embeddings do not depend on
        the process.
    """

    encoder: str

    def all_of(self, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
        """Return all captions of clips; see :meth:`Captions.all_of`. Results are cached, as validation clips recur."""
        return _embed_cached(self.encoder, tuple(tuple(own) for own in texts))

    def drawn(self, sample: Array, variant: Array, texts: Sequence[Sequence[str]], seed: int, number: int) -> dict[str, Array]:
        """Draw one caption per clip for batch `number`; see :meth:`Captions.drawn`."""
        draws = clip_draws(sample, variant, seed, number, Draw.CAPTION)[:, 0]
        chosen = integers(draws, 0, [max(1, len(own)) - 1 for own in texts])
        return _embed(self.encoder, [own[i : i + 1] for own, i in zip(texts, chosen.tolist(), strict=True)])


@lru_cache(2)
def encoder_of(name: str) -> Encoder:
    """Load a text encoder, once per process."""
    return load_encoder(name, workers=1)


def _embed(encoder: str, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Embed some texts per clip: ``row``, equal for equal texts, and ``text``, the embeddings."""
    loaded = encoder_of(encoder)
    rows = np.full((len(texts), max(map(len, texts))), -1, np.int64)
    vectors = np.zeros((*rows.shape, loaded.dimension), np.float32)
    flat = [(i, j, text) for i, own in enumerate(texts) for j, text in enumerate(own)]
    index = [i for i, _, _ in flat], [j for _, j, _ in flat]
    rows[index] = [xxhash.xxh3_64_intdigest(text.encode()) >> 1 for _, _, text in flat]
    vectors[index] = loaded.encode([text for _, _, text in flat])
    return {"row": rows, "text": vectors}


_embed_cached = lru_cache(_CACHED_BATCHES)(_embed)


def spell(text: str, most: int = _LONGEST_SPELLING) -> list[int]:
    """Return a number from 1 for each word and punctuation mark of a text, `most` at most.

    >>> spell("A man walks.") == spell("a  man walks .")
    True
    """
    return [word_hash(word, VOCABULARY - 1) for word in _WORD.findall(text.lower())[:most]]


@lru_cache(100_000)
def word_hash(word: str, size: int) -> int:
    """Return a number from 1 to `size` for a word."""
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % size


@lru_cache(1)
def family_names() -> tuple[str, ...]:
    """Return the names of the action families, then ``other`` for actions that posegen's own library lacks."""
    return (*sorted(load_library().families), _OTHER)


@lru_cache(1)
def _family_of() -> dict[str, int]:
    names = family_names()
    return {action: names.index(family) for family, actions in load_library().families.items() for action in actions}


def _captions(rows: Array, most: int = PAIRED_CAPTIONS) -> Iterator[tuple[int, int, Mapping[str, Any], Mapping[str, Any]]]:
    """Iterate over the first captions of metadata rows: clip, caption number, caption and row."""
    for clip, row in enumerate(rows):
        for number, caption in enumerate(row["captions"][:most]):
            yield clip, number, caption, row


def _hard_negatives(caption: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Alternative, ...]:
    statements = tuple((statement["kind"], statement["action"], statement["value"]) for statement in caption["statements"])
    return alternatives_of(caption["text"], statements, _scene_actions(row), MOST_ALTERNATIVES)


def _scene_actions(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(segment["action"] for actor in row["actors"] for segment in actor["segments"])


def _caption_actions(caption: Mapping[str, Any]) -> set[str]:
    return {statement["action"] for statement in caption["statements"] if statement["kind"] == "action"}


def alternatives_in(rows: Array) -> Iterator[tuple[int, int, int, str]]:
    """Iterate over the first captions of metadata rows and their hard negatives.

    Yields
    ------
    clip, caption, alternative : int
        Alternative 0 is the caption itself.
    text : str
    """
    for clip, number, caption, row in _captions(rows):
        for i, text in enumerate((caption["text"], *(other.text for other in _hard_negatives(caption, row)))):
            yield clip, number, i, text


def _changes(fields: Mapping[str, Array], view: View) -> Array:
    changes = np.full((len(fields[ROWS]), PAIRED_CAPTIONS, MOST_ALTERNATIVES), -1, np.int8)
    for clip, number, caption, row in _captions(fields[ROWS]):
        for i, other in enumerate(_hard_negatives(caption, row)):
            changes[clip, number, i] = CHANGED.index(other.kind)
    return changes


def _stated_actions(fields: Mapping[str, Array], view: View) -> Array:
    stated = np.zeros((len(fields[ROWS]), 1 + PAIRED_CAPTIONS, _ACTIONS), np.int32)
    for clip, row in enumerate(fields[ROWS]):
        captions = [_caption_actions(caption) for caption in row["captions"][:PAIRED_CAPTIONS]]
        for i, actions in enumerate((set(_scene_actions(row)), *captions)):
            numbers = sorted(word_hash(action, _ACTION_NUMBERS) for action in actions)[:_ACTIONS]
            stated[clip, i, : len(numbers)] = numbers
    return stated


def _families(fields: Mapping[str, Array], view: View) -> Array:
    numbers, families = _family_of(), np.zeros((len(fields[ROWS]), PAIRED_CAPTIONS, _FAMILIES), np.uint8)
    other = family_names().index(_OTHER)
    for clip, number, caption, _ in _captions(fields[ROWS]):
        families[clip, number, [numbers.get(action, other) for action in _caption_actions(caption)]] = 1
    return families


def _spelled(fields: Mapping[str, Array], view: View) -> Array:
    spelled = np.zeros((len(fields[ROWS]), MOST_CAPTIONS, _LONGEST_SPELLING), np.int16)
    for clip, number, caption, _ in _captions(fields[ROWS], MOST_CAPTIONS):
        words = spell(caption["text"])
        spelled[clip, number, : len(words)] = words
    return spelled


def _length(fields: Mapping[str, Array], view: View) -> Array:
    return np.array([-(-row["length"] // view.stride) for row in fields[ROWS]], np.int32)


TEXT_LENGTH = Recipe("length", 2, (ROWS,), "int32", (), _length)
"""Number of frames of the clip, from the metadata: for tasks that read no motion."""

CHANGES = Recipe("changes", 1, (ROWS,), "int8", (PAIRED_CAPTIONS, MOST_ALTERNATIVES), _changes)
"""Kind of the changed statement of each hard negative, an index into
:data:`posegen.training.data.negatives.CHANGED`; -1 where there is none.
"""

STATED_ACTIONS = Recipe("stated_actions", 1, (ROWS,), "int32", (1 + PAIRED_CAPTIONS, _ACTIONS), _stated_actions)
"""Hashes of the actions of the scene, then of the actions that each caption states; 0 behind them."""

FAMILIES = Recipe("families", 1, (ROWS,), "uint8", (PAIRED_CAPTIONS, _FAMILIES), _families)
"""Whether each caption states an action of each of :func:`family_names`."""

PAIR_RECIPES = (TEXT_LENGTH, CHANGES, STATED_ACTIONS)
FAMILY_RECIPES = (TEXT_LENGTH, FAMILIES)
"""Recipes from which pairs of captions, and the families of their actions, are learned, beside the tokens of the captions
(:mod:`posegen.training.data.tokens`).
"""

SPELLED = Recipe("spelled", 1, (ROWS,), "int16", (MOST_CAPTIONS, _LONGEST_SPELLING), _spelled)
"""Word numbers of each caption, in order; 0 behind them.

A sentence embedding describes a caption as a whole. The order of actions, and which of them is slow, are hard to recover from
it.
"""


@dataclass(frozen=True)
class CaptionSampler:
    """Selects the captions of a batch for training a text encoder.

    The selection depends on the seed, the batch, the sample and the variant only.

    Attributes
    ----------
    pairs : int or None
        Number of pairs of captions per clip that are used; None: all.
    hard : int
        Hard negatives that follow each caption of a pair.
    """

    pairs: int | None
    hard: int

    def __call__(self, clips: Mapping[str, Array], seed: int, number: int) -> dict[str, Array]:
        """Draw a pair of captions per clip, or one caption where families are learned.

        Returns
        -------
        dict of str to ndarray
            For pairs: ``tokens`` and ``other`` [clip, 1 + hard, token], each followed by its hard negatives (the same
            caption twice if a clip has one only); ``scene_actions``, ``first_actions`` and ``second_actions`` [clip, action]:
            the actions of the scene and those stated by the two captions. For families: ``tokens`` [clip, token] and its
            ``families`` [clip, family].
        """
        every, rows = clips["tokens"], np.arange(len(clips["tokens"]))
        draws = clip_draws(clips["sample"], clips["variant"], seed, number, Draw.CAPTION, 4)
        first, second = _draw_pairs(every[:, :, 0].any(axis=-1).sum(axis=1), draws, self.pairs)
        if "families" in clips:
            return {**clips, "tokens": every[rows, first, 0], "families": clips["families"][rows, first]}
        stated = clips["stated_actions"]
        return {name: values for name, values in clips.items() if name not in ("tokens", "stated_actions")} | {
            "tokens": self._with_negatives(every[rows, first], draws[:, 2]),
            "other": self._with_negatives(every[rows, second], draws[:, 3]),
            "scene_actions": stated[:, 0],
            "first_actions": stated[rows, 1 + first],
            "second_actions": stated[rows, 1 + second],
        }

    def _with_negatives(self, texts: Array, drawn: Array) -> Array:
        """Keep the captions, the first of texts [clip, text, token], and `hard` hard negatives of each from a drawn one on."""
        known = np.maximum(texts[:, 1:].any(axis=-1).sum(axis=1), 1)
        chosen = (integers(drawn, 0, known - 1)[:, None] + np.arange(self.hard)) % known[:, None]
        # A hard negative is not shown twice.
        chosen = np.where(np.arange(self.hard) < known[:, None], chosen, MOST_ALTERNATIVES - 1)
        rows = np.arange(len(texts))[:, None]
        return np.concatenate([texts[:, :1], texts[rows, 1 + chosen]], axis=1)


def _draw_pairs(count: Array, draws: Array, most: int | None) -> tuple[Array, Array]:
    """Draw one of the first `most` pairs of `count` captions, and which of the two comes first."""
    pairs: Sequence[tuple[int, int]] = [(i, j) for j in range(1, PAIRED_CAPTIONS) for i in range(j)]
    available = np.array([max(1, n * (n - 1) // 2) for n in count.tolist()])
    drawn = integers(draws[:, 0], 0, np.minimum(available, most or len(pairs)) - 1)
    both = np.where((count > 1)[:, None], np.array(pairs)[drawn], 0)
    both = np.where((draws[:, 1] < 0.5)[:, None], both[:, ::-1], both)
    return both[:, 0], both[:, 1]
