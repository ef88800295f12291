"""Captions of clips as model input: embeddings of a text encoder, tokens beside hard negatives, or word numbers.

In training a clip is shown with one of its captions, or with a pair; the choice depends on the seed, the batch, the sample and
the variant only. In validation and test a clip has all its captions. Captions are written by :mod:`posegen.captions` and
embedded by :mod:`posegen.embedding`, which also mines negatives from a dataset.

A hard negative is a caption with one statement changed, so that it is false of its scene. The phrases of the library are known.
A statement is located in the text by its own phrases and replaced by another of the same kind: another side, direction, path,
speed or count of an action, or another action in the same verb form. A statement is left alone if its phrase does not occur
exactly once, if the changed statement may be true of another part of the scene, or if the caption states more about the action
than that it happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.captions.grammar import verb_forms
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.layout import ROWS
from posegen.embedding import Encoder, load_encoder
from posegen.embedding.pairs import PairTable, open_pairs
from posegen.errors import PosegenError, UsageError
from posegen.library.load import load_library
from posegen.randomness import integers
from posegen.training.data.features import Draw, Recipe, View, clip_draws

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

CHANGED = ("action", "side", "direction", "path", "speed", "count")
"""Kinds of statements that are changed."""

_OTHERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "side": {"left": ("right",), "right": ("left",)},
    "direction": {"left": ("right",), "right": ("left",)},
    "path": {
        "left": ("right", "straight"),
        "right": ("left", "straight"),
        "straight": ("left", "right"),
        "left_circle": ("right_circle",),
        "right_circle": ("left_circle",),
        "left_diagonal": ("right_diagonal",),
        "right_diagonal": ("left_diagonal",),
    },
    "speed": {"slow": ("fast",), "fast": ("slow",)},
}
"""Values that are certainly false where the key is true. A turn may be both to a side and around; normal speed is vague."""
_NOT_OF_ONE_ACTION = ("order", "people")
_MOST_TIMES = 5
_ONCE_TWICE = {1: "once", 2: "twice"}
_PARTNER, _THEIR, _BEFORE, _NEUTRAL_THEIR = "{partner}", "{their}", " ~", "their"
_IMPLIED = {"speed": "speed_verbs", "side": "side_verbs"}
"""Kinds of statements that verbs may imply, and the key of such verbs."""

Statement = tuple[str, str, str]
"""Kind, action and value of a statement."""


class Alternative(NamedTuple):
    """A caption with one false statement, and the kind of that statement (one of :data:`CHANGED`)."""

    text: str
    kind: str


@dataclass(frozen=True)
class _Phrases:
    """The phrases of a library by meaning.

    Attributes
    ----------
    verbs : verbs of each action, each in all forms
    stopped : verbs that an action has only behind a gait, such as "stop walking and stand"
    details : phrases for an action, a kind and a value
    counts : phrases for a number of repetitions
    theirs : possessive pronouns
    """

    verbs: dict[str, tuple[tuple[str, ...], ...]]
    stopped: dict[str, tuple[tuple[str, ...], ...]]
    details: dict[tuple[str, str, str], tuple[str, ...]]
    counts: dict[int, tuple[str, ...]]
    theirs: tuple[str, ...]


@lru_cache(1)
def _phrases() -> _Phrases:
    """Collect the phrases of posegen's own library."""
    words: Mapping[str, Any] = load_library().words
    forms, theirs = tuple(words["forms"]), tuple(sorted(set(words["their"].values())))
    verbs, stopped, details = {}, {}, {}
    for name, own in words["actions"].items():
        listed = [*own["verbs"], *own.get("once", ())]
        verbs[name] = tuple(verb_forms(verb, forms) for verb in dict.fromkeys(listed) if _PARTNER not in verb)
        stopped[name] = tuple(verb_forms(verb, forms) for verb in own.get("stopped", ()))
        for kind in _OTHERS:
            for value, phrases in own.get(kind, {}).items():
                details[name, kind, value] = tuple(phrase.removesuffix(_BEFORE) for phrase in phrases)
        for key in _IMPLIED.values():
            for value, listed in own.get(key, {}).items():
                details[name, key, value] = tuple(form for verb in listed for form in verb_forms(verb, forms))
    counts = {count: tuple(dict.fromkeys(words["counts"][name])) for count, name in _ONCE_TWICE.items()}
    for count in range(len(counts) + 1, len(words["numbers"])):
        counts[count] = tuple(phrase.replace("{number}", words["numbers"][count]) for phrase in words["counts"]["more"])
    return _Phrases(verbs, stopped, details, counts, theirs)


@lru_cache(1 << 14)
def alternatives_of(text: str, statements: tuple[Statement, ...], done: tuple[str, ...], most: int) -> tuple[Alternative, ...]:
    """Change one statement of a caption, in up to `most` ways, of different kinds where possible.

    Parameters
    ----------
    text : str
        The caption.
    statements : tuple of (str, str, str)
        Kind, action and value of each statement.
    done : tuple of str
        Actions of the scene, each as often as it is performed.
    most : int

    Returns
    -------
    tuple of Alternative
        The choice is a function of a hash of the text.
    """
    stated = [action for kind, action, _ in statements if kind not in _NOT_OF_ONE_ACTION]
    by_kind: dict[str, list[Alternative]] = {}
    for kind, action, value in statements:
        if kind == "action" and value == "" and stated.count(action) == 1:
            changed = _other_action(text, action, frozenset(done))
        elif kind in CHANGED and kind != "action" and done.count(action) == 1:
            changed = _other_value(text, action, kind, value)
        else:
            continue
        if changed is not None:
            by_kind.setdefault(kind, []).append(Alternative(changed, kind))
    # One of each kind in turn; the first kind, and the first of each kind, are selected by a hash.
    kinds = _rotated(sorted(by_kind), _hash(text, "kind"))
    in_turn = [_rotated(by_kind[kind], _hash(text, kind)) for kind in kinds]
    rounds = max(map(len, in_turn), default=0)
    return tuple([own[i] for i in range(rounds) for own in in_turn if i < len(own)][:most])


def _other_value(text: str, action: str, kind: str, value: str) -> str | None:
    known = _phrases()
    if kind == "count":
        counts = [other for other in range(1, _MOST_TIMES + 1) if other != int(value)]
        count = counts[_hash(text, kind, action) % len(counts)]
        return _replaced(text, _pairs(known.counts.get(int(value), ()), known.counts[count]))
    others: tuple[str, ...] = _OTHERS[kind].get(value, ())
    if not others:
        return None
    other = others[_hash(text, kind, action) % len(others)]
    pairs = _pairs(*(known.details.get((action, kind, one), ()) for one in (value, other)))
    if kind in _IMPLIED:
        pairs = {**pairs, **_pairs(*(known.details.get((action, _IMPLIED[kind], one), ()) for one in (value, other)))}
    return _replaced(text, pairs)


def _other_action(text: str, action: str, done: frozenset[str]) -> str | None:
    known = _phrases()
    names = [name for name, verbs in known.verbs.items() if verbs and name not in done]
    if not names:
        return None
    drawn = _hash(text, "action", action)
    verbs = known.verbs[names[drawn % len(names)]]
    other = verbs[drawn // len(names) % len(verbs)]
    forms = {surface: other[form].replace(_THEIR, their) for surface, form, their in _verb_surfaces(action) if surface in text}
    return _replaced(text, forms)


@lru_cache(1 << 10)
def _verb_surfaces(action: str) -> tuple[tuple[str, int, str], ...]:
    """Return all forms of an action's verbs, each with the index of the form and its possessive."""
    known = _phrases()
    return tuple(
        (form.replace(_THEIR, their), index, their)
        for verb in (*known.verbs.get(action, ()), *known.stopped.get(action, ()))
        for index, form in enumerate(verb)
        for their in (known.theirs if _THEIR in form else (_NEUTRAL_THEIR,))
    )


@lru_cache(1 << 12)
def _pairs(old: tuple[str, ...], new: tuple[str, ...]) -> Mapping[str, str]:
    """Pair phrases of one meaning with phrases of another, in the order in which they are listed."""
    pairs: dict[str, str] = {}
    for one, other in zip(old, cycle(new), strict=False):
        if one and other:
            for their in _phrases().theirs if _THEIR in one else (_NEUTRAL_THEIR,):
                # For a phrase that is listed twice, the first pair counts.
                pairs.setdefault(one.replace(_THEIR, their), other.replace(_THEIR, their))
    return pairs


def _replaced(text: str, pairs: Mapping[str, str]) -> str | None:
    """Replace the one phrase that occurs in a text; None if none or several occur."""
    spans = [(start, start + len(phrase)) for phrase in pairs for start in _occurrences(text, phrase)]
    # A shorter phrase may lie within a longer one.
    widest = [own for own in spans if not any(own != other and other[0] <= own[0] and own[1] <= other[1] for other in spans)]
    if len(widest) != 1:
        return None
    ((start, end),) = widest
    new = pairs[text[start:end]]
    return None if text[start:end] == new else text[:start] + new + text[end:]


def _occurrences(text: str, phrase: str) -> list[int]:
    """Return the positions at which a phrase occurs as whole words; a hyphen joins words."""
    if phrase not in text:
        return []
    return [match.start() for match in re.finditer(rf"(?<![^\W_])(?<!-)(?={re.escape(phrase)}(?!-)(?![^\W_]))", text)]


def _rotated(values: list[Any], by: int) -> list[Any]:
    start = by % max(1, len(values))
    return values[start:] + values[:start]


def _hash(*words: str) -> int:
    return xxhash.xxh3_64_intdigest("|".join(words).encode())


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


def open_captions(dataset: Path, shard: int, encoder: str | None, hard: int = 0) -> Captions:
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
:data:`posegen.training.data.captions.CHANGED`; -1 where there is none.
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
