"""Captions of clips, as a text encoder's vectors: read from what ``posegen embed`` left beside the dataset.

In training each clip is shown with one of its captions, which one depends on the step, the sample and the variant; with so
many hard negatives behind it as are asked for. When a model is judged, a clip has all its captions.


Captions of clips that are made on the way: their texts come with the clips, and are embedded when a batch needs them.

They are as :mod:`posegen.training.clips.captions` gives those of a dataset: which one is drawn is the same there and here.


Captions as words: what recipes keep of them, and which of them a clip is shown with.

Texts are kept as their letters (UTF-8, zeros behind them), so that one cache serves every encoder; beside each caption lie what
differs from it in one statement, and the actions that it tells of.


Captions word by word, as numbers: what a model reads that learns by itself which words tell of what.

A sentence encoder's vector says what a caption is about as a whole. Which of three actions comes first, and which of them is
slow, is hard to get out of it; it stands in the words and their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.layout import ROWS
from posegen.embedding import Encoder, load_encoder
from posegen.embedding.pairs import PairTable, open_pairs
from posegen.errors import PosegenError, UsageError
from posegen.library.load import load_library
from posegen.randomness import integers
from posegen.training.data.features import CAPTION, Recipe, View, draws_of
from posegen.training.data.hard_negatives import CHANGED, Alternative, alternatives_of

__all__ = [
    "CAPTIONED_LENGTH",
    "CAPTIONS",
    "CHANGES",
    "FAMILIES",
    "HARD",
    "MOST_CAPTIONS",
    "SENTENCE",
    "SPELLED",
    "SPELLINGS",
    "TOLD",
    "CaptionSampler",
    "Captions",
    "FreshCaptions",
    "encoder_of",
    "family_names",
    "open_captions",
    "spelled",
    "texts_of",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Captions:
    """Captions of the clips of a dataset.

    Attributes
    ----------
    embeddings : Embeddings
    shard : int
        Samples in a shard of the dataset.
    hard : int
        Hard negatives that a clip is shown with.
    pairs : PairTable or None
        That knows them; without any in training, too, models are judged by them.
    unfit : str or None
        Why pairs that are there cannot be used.
    """

    embeddings: Embeddings
    shard: int
    hard: int = 0
    pairs: PairTable | None = None
    unfit: str | None = None

    def all_of(self, sample: Array, variant: Array) -> dict[str, Array]:
        """Give all captions of clips.

        Parameters
        ----------
        sample, variant : int64 [clip]
            Their samples, and the places of their variants.

        Returns
        -------
        dict
            ``row`` int64 [clip, caption]: number of each text, -1 where there is none; ``text`` float32
            [clip, caption, dimension]: its vector, zeros where there is none. Where pairs are known, ``hard_row`` and
            ``hard_text`` are the same of the hard negative that is nearest to each caption.
        """
        rows = self._rows(sample, variant)
        found = self._with_vectors(rows)
        if self.pairs is None:
            return found
        nearest = self._with_vectors(np.array([[self._nearest(row) for row in own] for own in rows.tolist()], np.int64))
        return found | {f"hard_{name}": values for name, values in nearest.items()}

    def drawn(self, sample: Array, variant: Array, seed: int, number: int) -> dict[str, Array]:
        """Draw a caption of each clip for batch `number`, and give it with hard negatives behind it; as :meth:`all_of`."""
        rows, hard = self._rows(sample, variant), self.hard
        draws = draws_of(sample, variant, seed, number, CAPTION, 1 + hard)
        told = (rows >= 0).sum(axis=1)
        chosen = rows[np.arange(len(rows)), integers(draws[:, 0], 0, np.maximum(told, 1) - 1)]
        shown = np.full((len(rows), 1 + hard), -1, np.int64)
        shown[:, 0] = chosen
        if hard:
            for i, row in enumerate(chosen.tolist()):
                known = self._negatives(row)
                if len(known):
                    shown[i, 1:] = known[integers(draws[i, 1:], 0, len(known) - 1)]
        return self._with_vectors(shown)

    def _negatives(self, row: int) -> Array:
        """Give the hard negatives of a text; none of one that came when pairs were found already."""
        known = self.pairs is not None and 0 <= row < self.pairs.texts
        return self.pairs.negatives(row) if self.pairs is not None and known else np.empty(0, np.int64)

    def _nearest(self, row: int) -> int:
        known = self._negatives(row)
        return int(known[0]) if len(known) else -1

    def _rows(self, sample: Array, variant: Array) -> Array:
        shards, places = np.divmod(sample, self.shard)
        found = np.full((len(sample), self.embeddings.captions), -1, np.int64)
        for shard in np.unique(shards).tolist():
            here = shards == shard
            found[here] = self.embeddings.of_sequences(shard)[places[here], variant[here]]
        return found

    def _with_vectors(self, rows: Array) -> dict[str, Array]:
        return {"row": rows, "text": np.nan_to_num(self.embeddings.take(rows), copy=False, nan=0.0)}


def open_captions(dataset: Path, shard: int, encoder: str | None, hard: int = 0) -> Captions:
    """Open the captions of a dataset, with `hard` hard negatives each.

    Raises
    ------
    UsageError
        If there are no vectors of them, or no pairs where those are needed.
    """
    embeddings, unfit = open_embeddings(dataset, encoder), None
    try:
        pairs: PairTable | None = open_pairs(dataset, encoder)
    except PosegenError as error:
        if hard:
            raise
        # Nothing is learned from them, so nothing need wait for them; where there are none at all, nothing is to be told.
        pairs, unfit = None, None if isinstance(error, UsageError) else str(error)
    return Captions(embeddings, shard, hard, pairs, unfit)


_REMEMBERED = 100
"""Batches that models are judged by; those of `best` are so many."""


@dataclass(frozen=True)
class FreshCaptions:
    """Captions that an encoder embeds on the way.

    Attributes
    ----------
    encoder : str
        Its name. The model is loaded by each process that needs it, and always has the same number of threads, so that
        vectors do not depend on which process makes them.
    dimension : int
        Numbers in a vector.
    """

    encoder: str
    dimension: int

    def all_of(self, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
        """Give all captions of clips; see :meth:`posegen.training.clips.captions.Captions.all_of`.

        Clips that a model is judged by come again and again, so the last ones are remembered.
        """
        return _embedded_again(self.encoder, tuple(tuple(own) for own in texts))

    def drawn(self, sample: Array, variant: Array, texts: Sequence[Sequence[str]], seed: int, number: int) -> dict[str, Array]:
        """Draw a caption of each clip for batch `number`; see :meth:`posegen.training.clips.captions.Captions.drawn`."""
        draws = draws_of(sample, variant, seed, number, CAPTION)[:, 0]
        places = integers(draws, 0, [max(1, len(own)) - 1 for own in texts])
        return _embedded(self.encoder, [own[place : place + 1] for own, place in zip(texts, places.tolist(), strict=True)])


def encoder_of(name: str) -> Encoder:
    """Load an encoder, once in each process."""
    return _loaded(name)


@lru_cache(2)
def _loaded(name: str) -> Encoder:
    return load_encoder(name, workers=1)


@lru_cache(_REMEMBERED)
def _embedded_again(encoder: str, texts: tuple[tuple[str, ...], ...]) -> dict[str, Array]:
    return _embedded(encoder, texts)


def _embedded(encoder: str, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Embed some texts of each clip: ``row``, by which equal texts are known, and ``text``, their vectors."""
    loaded = _loaded(encoder)
    rows = np.full((len(texts), max(map(len, texts))), -1, np.int64)
    vectors = np.zeros((*rows.shape, loaded.dimension), np.float32)
    flat = [(i, j, text) for i, own in enumerate(texts) for j, text in enumerate(own)]
    clip, place = [i for i, _, _ in flat], [j for _, j, _ in flat]
    rows[clip, place] = [xxhash.xxh3_64_intdigest(text.encode()) >> 1 for _, _, text in flat]
    vectors[clip, place] = loaded.encode([text for _, _, text in flat])
    return {"row": rows, "text": vectors}


CAPTIONS = 3
"""Captions of a clip: as many as posegen writes."""
HARD = 2
"""Hard negatives that are kept of each."""
LETTERS = 384
"""Letters of a caption that are kept; the longest of the default config has 312."""

_FAMILIES = 16
_ACTIONS = 16
_NUMBERS = 1 << 30
_OTHER = "other"


def texts_of(letters: Array) -> list[str]:
    r"""Read texts: those of uint8 [text, letter].

    Examples
    --------
    >>> texts_of(np.frombuffer(b"a jump\0\0\0\0", np.uint8)[None])
    ['a jump']
    """
    # What was cut may have been cut within a letter.
    return [bytes(row).rstrip(b"\0").decode("utf-8", "ignore") for row in np.ascontiguousarray(letters)]


@lru_cache(1)
def family_names() -> tuple[str, ...]:
    """Name the families of actions, and ``other`` for actions that posegen itself does not have."""
    return (*sorted(load_library().families), _OTHER)


@lru_cache(1)
def _family_of() -> dict[str, int]:
    names = family_names()
    return {action: names.index(family) for family, actions in load_library().families.items() for action in actions}


def _letters(fields: Mapping[str, Array], view: View) -> Array:
    del view
    found = np.zeros((len(fields[ROWS]), CAPTIONS, 1 + HARD, LETTERS), np.uint8)
    for clip, row in enumerate(fields[ROWS]):
        for number, caption in enumerate(row["captions"][:CAPTIONS]):
            others = _others(caption, row)
            for place, text in enumerate((caption["text"], *(other.text for other in others))):
                letters = np.frombuffer(text.encode("utf-8")[:LETTERS], np.uint8)
                found[clip, number, place, : len(letters)] = letters
    return found


def _others(caption: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Alternative, ...]:
    said = tuple((told["kind"], told["action"], told["value"]) for told in caption["statements"])
    return alternatives_of(caption["text"], said, _done(row), HARD)


def _done(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(segment["action"] for actor in row["actors"] for segment in actor["segments"])


def _changes(fields: Mapping[str, Array], view: View) -> Array:
    del view
    found = np.full((len(fields[ROWS]), CAPTIONS, HARD), -1, np.int8)
    for clip, row in enumerate(fields[ROWS]):
        for number, caption in enumerate(row["captions"][:CAPTIONS]):
            for place, other in enumerate(_others(caption, row)):
                found[clip, number, place] = CHANGED.index(other.kind)
    return found


def _told(fields: Mapping[str, Array], view: View) -> Array:
    """Number the actions of the scene, then those that each caption tells of; 0 behind them."""
    del view
    found = np.zeros((len(fields[ROWS]), 1 + CAPTIONS, _ACTIONS), np.int32)
    for clip, row in enumerate(fields[ROWS]):
        captions = [_actions(caption) for caption in row["captions"][:CAPTIONS]]
        for place, actions in enumerate((set(_done(row)), *captions)):
            numbers = sorted(_number(action) for action in actions)[:_ACTIONS]
            found[clip, place, : len(numbers)] = numbers
    return found


def _actions(caption: Mapping[str, Any]) -> set[str]:
    return {statement["action"] for statement in caption["statements"] if statement["kind"] == "action"}


def _number(word: str) -> int:
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % _NUMBERS


def _families(fields: Mapping[str, Array], view: View) -> Array:
    del view
    of, found = _family_of(), np.zeros((len(fields[ROWS]), CAPTIONS, _FAMILIES), np.uint8)
    other = family_names().index(_OTHER)
    for clip, row in enumerate(fields[ROWS]):
        for number, caption in enumerate(row["captions"][:CAPTIONS]):
            found[clip, number, [of.get(action, other) for action in _actions(caption)]] = 1
    return found


def _length(fields: Mapping[str, Array], view: View) -> Array:
    return np.array([-(-row["length"] // view.stride) for row in fields[ROWS]], np.int32)


CAPTIONED_LENGTH = Recipe("length", 2, (ROWS,), "int32", (), _length)
"""How many frames of a clip a model would see, told without looking at them."""

SENTENCE = Recipe("sentence", 1, (ROWS,), "uint8", (CAPTIONS, 1 + HARD, LETTERS), _letters)
"""Each caption, and behind it what differs from it in one statement."""

CHANGES = Recipe("changes", 1, (ROWS,), "int8", (CAPTIONS, HARD), _changes)
"""Which kind of statement that is, of :data:`posegen.training.sentences.alternatives.CHANGED`; -1 where there is none."""

TOLD = Recipe("told", 1, (ROWS,), "int32", (1 + CAPTIONS, _ACTIONS), _told)
"""The actions of the scene, and those that each caption tells of, as numbers that stand for them."""

FAMILIES = Recipe("families", 1, (ROWS,), "uint8", (CAPTIONS, _FAMILIES), _families)
"""Whether each caption tells of an action of each of :func:`family_names`."""


@dataclass(frozen=True)
class CaptionSampler:
    """Which captions a clip is shown with in training: a function of the seed, the batch, the sample and the variant.

    Attributes
    ----------
    pairs : int or None
        Pairs of captions of a clip that are shown at most; None: all.
    hard : int
        Captions that are shown behind each one of a pair, and differ from it in one statement.
    """

    pairs: int | None
    hard: int

    def __call__(self, clips: Mapping[str, Array], seed: int, number: int) -> dict[str, Array]:
        """Draw two captions of each clip, one as it is if there are no two, or one where families are learned.

        Returns
        -------
        dict of str to ndarray
            Of a pair ``sentence`` and ``other`` [clip, 1 + hard, letter], each with what differs from it behind it; the actions
            of the ``scene``, those ``asked`` of by the one and ``claimed`` by the other. Else ``sentence`` [clip, letter] and
            its ``families`` [clip, family].
        """
        every, rows = clips["sentence"], np.arange(len(clips["sentence"]))
        draws = draws_of(clips["sample"], clips["variant"], seed, number, CAPTION, 4)
        first, second = _drawn_pairs(every[:, :, 0].any(axis=-1).sum(axis=1), draws, self.pairs)
        if "families" in clips:
            return {**clips, "sentence": every[rows, first, 0], "families": clips["families"][rows, first]}
        found = {name: values for name, values in clips.items() if name not in ("sentence", "told")}
        found |= {
            "sentence": self._behind(every[rows, first], draws[:, 2]),
            "other": self._behind(every[rows, second], draws[:, 3]),
        }
        told = clips["told"]
        return found | {"scene": told[:, 0], "asked": told[rows, 1 + first], "claimed": told[rows, 1 + second]}

    def _behind(self, texts: Array, drawn: Array) -> Array:
        """Keep of captions [clip, 1 + HARD, letter] the first, and of those that differ from it so many from a drawn one on."""
        known = np.maximum(texts[:, 1:].any(axis=-1).sum(axis=1), 1)
        place = (integers(drawn, 0, known - 1)[:, None] + np.arange(self.hard)) % known[:, None]
        # One that is there already is not shown again.
        place = np.where(np.arange(self.hard) < known[:, None], place, HARD - 1)
        rows = np.arange(len(texts))[:, None]
        return np.concatenate([texts[:, :1], texts[rows, 1 + place]], axis=1)


def _drawn_pairs(count: Array, draws: Array, most: int | None) -> tuple[Array, Array]:
    """Draw one of the first `most` pairs that can be made of so many captions, and which of the two is the first."""
    pairs: Sequence[tuple[int, int]] = [(i, j) for j in range(1, CAPTIONS) for i in range(j)]
    there = np.array([max(1, n * (n - 1) // 2) for n in count.tolist()])
    drawn = integers(draws[:, 0], 0, np.minimum(there, most or len(pairs)) - 1)
    both = np.where((count > 1)[:, None], np.array(pairs)[drawn], 0)
    turned = (draws[:, 1] < 0.5)[:, None]
    both = np.where(turned, both[:, ::-1], both)
    return both[:, 0], both[:, 1]


MOST_CAPTIONS = 8
"""Captions of a clip that count, from the first."""
SPELLINGS = 8192
"""Numbers that there are for words. Words share one by chance; captions of the default config have some thousand words."""
_LONGEST = 96
_WORD = re.compile(r"\w+|[.,;:!?]")


def spelled(text: str) -> list[int]:
    """Give a number for each word and mark of a text, from 1 on; those of a long text only from its start.

    >>> spelled("A man walks.") == spelled("a  man walks .")
    True
    """
    return [_word_number(word) for word in _WORD.findall(text.lower())[:_LONGEST]]


@lru_cache(100_000)
def _word_number(word: str) -> int:
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % (SPELLINGS - 1)


def _spelled_captions(fields: Mapping[str, Array], view: View) -> Array:
    del view
    found = np.zeros((len(fields[ROWS]), MOST_CAPTIONS, _LONGEST), np.int16)
    for clip, row in enumerate(fields[ROWS]):
        for place, caption in enumerate(row["captions"][:MOST_CAPTIONS]):
            words = spelled(caption["text"])
            found[clip, place, : len(words)] = words
    return found


SPELLED = Recipe("spelled", 1, (ROWS,), "int16", (MOST_CAPTIONS, _LONGEST), _spelled_captions)
"""The words of each caption of a clip in order; 0 where there is none."""
