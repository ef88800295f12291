"""Pairs of texts, of a user's table or of captions, divided into splits; and hard negatives of captions.

A hard negative is a caption with one statement changed, so that it is false of its scene. A statement is located in the text by
the phrases of the library and replaced by another of the same kind: another side, direction, path, speed or count of an action,
or another action in the same verb form. A statement is left alone if its phrase does not occur exactly once, if the changed
statement may be true of another part of the scene, or if the caption states more about the action than that it happens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from posegen.captions.grammar import verb_forms
from posegen.dataset.read import open_dataset
from posegen.dataset.splits import SPLITS, in_split, split_groups
from posegen.dataset.storage.address import to_path
from posegen.dataset.table_files import read_table, text_columns
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.library.load import load_library

_SAME = {"1", "true", "yes", "same", "similar", "match", "equal", "duplicate", "positive"}
_DIFFERENT = {"0", "false", "no", "different", "other", "unequal", "unrelated", "negative"}
_MOST_HELD_OUT = 1000
"""Most validation and most test pairs of a table whose pairs hang together by shared texts."""

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


@dataclass(frozen=True)
class OwnPairs:
    """Pairs of texts.

    Attributes
    ----------
    texts : dict of str to list of str
        ``anchor``, ``positive`` and, of triplets, ``negative``.
    score : float64 [pair], or None
        Similarity; 1 and 0 for labels.
    splits : dict of str to int64 [n]
        Rows of each split. Splits share no text.
    notes : tuple of str
    has_twins : bool
        Whether the negatives differ from the anchors in one statement.
    """

    texts: dict[str, list[str]]
    score: Array | None
    splits: dict[str, Array]
    notes: tuple[str, ...]
    has_twins: bool = False

    @property
    def is_labelled(self) -> bool:
        """Whether the score says only whether two texts are the same."""
        return self.score is not None and set(np.unique(self.score)) <= {0.0, 1.0}

    @property
    def monitor(self) -> str:
        """Name of the measure that selects the weights."""
        return "r1" if self.score is None else "auc" if self.is_labelled else "spearman"


def read_captions(source: str, most: int | None = None) -> OwnPairs:
    """Read pairs of captions of one scene in different words, with a hard negative each, of the first variant of samples.

    Raises
    ------
    UsageError
        If a split has no pair.
    """
    dataset = open_dataset(to_path(source))
    samples = np.arange(min(len(dataset), most or len(dataset)))
    triplets = [caption_triplets(dataset.rows(sample)[0]) for sample in samples.tolist()]
    of_pair = np.repeat(samples, list(map(len, triplets)))
    splits = {split: np.flatnonzero(np.isin(of_pair, in_split(dataset.header.seed, samples, split))) for split in SPLITS}
    if not all(map(len, splits.values())):
        raise UsageError(f"{source}: a split has no two captions of a scene in different words. Generate a few hundred samples")
    columns = zip(*(triplet for own in triplets for triplet in own), strict=True)
    return OwnPairs(dict(zip(("anchor", "positive", "negative"), map(list, columns), strict=True)), None, splits, (), True)


def read_pairs(path: Path, columns: Sequence[str], score: str | None) -> OwnPairs:
    """Read the pairs of a table and divide them into splits that share no text, where that is possible.

    Raises
    ------
    UsageError
        If columns are missing or do not hold texts and scores.
    """
    notes = list[str]()
    table = read_table(path, notes.append)
    if len(set(columns)) not in (2, 3) or (len(columns) == 3 and score is not None):
        raise UsageError("--pairs takes two columns of texts, A,B, or three without --score: ANCHOR,POSITIVE,NEGATIVE")
    text_columns(path, table, columns)
    cells = [[cell or "" for cell in table[name].to_pylist()] for name in columns]
    values = None if score is None else _scores(path, table, score)
    kept = [i for i, row in enumerate(zip(*cells, strict=True)) if all(map(str.strip, row))]
    if values is not None:
        kept = [i for i in kept if math.isfinite(values[i])]
        values = values[kept]
    if len(kept) < len(table):
        notes.append(f"{len(table) - len(kept):,} rows without text or score are left out")
    texts = {name: [own[i] for i in kept] for name, own in zip(("anchor", "positive", "negative"), cells, strict=False)}
    splits, dropped = _split(path, texts)
    if dropped:
        notes.append(f"{dropped:,} training pairs are left out, because a validation or test pair has one of their texts")
    return OwnPairs(texts, values, splits, tuple(notes))


def _scores(path: Path, table: pa.Table, column: str) -> Array:
    """Return scores, or 1 and 0 for labels; NaN where there is none."""
    require_known(f"{path}: has no column", column, table.column_names)
    cells = table[column].to_pylist()
    if all(cell is None or isinstance(cell, (int, float)) for cell in cells):
        return np.array([math.nan if cell is None else float(cell) for cell in cells])
    words = [str(cell or "").strip().lower() for cell in cells]
    unknown = next((word for word in words if word and word not in _SAME | _DIFFERENT), None)
    if unknown is not None:
        raise UsageError(f"{path}: {column}: {unknown!r} is neither a number nor a label. Write 1 (same) or 0 (different)")
    return np.array([float(word in _SAME) if word else math.nan for word in words])


def _split(path: Path, texts: dict[str, list[str]]) -> tuple[dict[str, Array], int]:
    """Return splits of groups of pairs that share texts, and the number of training pairs that had to be left out."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    number = {text: i for i, text in enumerate(dict.fromkeys(text for own in texts.values() for text in own))}
    rows = np.array([[number[text] for text in own] for own in texts.values()])
    shape, ones = (len(number), len(number)), np.ones(rows.shape[1])
    edges = sum(csr_matrix((ones, (rows[0], other)), shape) for other in rows[1:])
    _, group = connected_components(edges, directed=False)
    groups = np.unique(group[rows[0]], return_inverse=True)[1] if rows.size else np.empty(0, np.int64)
    hang_together = bool(rows.size) and np.bincount(groups).max() > rows.shape[1] / 2
    groups = rows[0] if hang_together else groups
    if len(np.unique(groups)) < 3:
        raise UsageError(f"{path}: has too few pairs with different texts: each of three splits needs one. Add pairs")
    splits = split_groups(groups, 0)
    if not hang_together:
        return splits, 0
    # Anchors are divided, and training pairs with texts of held-out pairs go: the fewer are held out, the more are left.
    most = min(_MOST_HELD_OUT, max(1, rows.shape[1] // 20))
    held_out = {split: splits[split][:most] for split in ("validation", "test")}
    seen = np.unique(rows[:2, np.concatenate(list(held_out.values()))])
    training = np.flatnonzero(~np.isin(rows[:2], seen).any(axis=0))
    if not len(training):
        raise UsageError(f"{path}: each pair shares a text with a validation or test pair. Add pairs of other texts")
    return {**held_out, "training": training}, rows.shape[1] - len(training) - sum(map(len, held_out.values()))


def caption_triplets(row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return pairs of captions of a metadata row in different words, each with a hard negative of the first."""
    captions = row["captions"]
    done = tuple(segment["action"] for actor in row["actors"] for segment in actor["segments"])
    triplets = []
    for caption, other in zip(captions, captions[1:] + captions[:1], strict=True):
        statements = tuple((each["kind"], each["action"], each["value"]) for each in caption["statements"])
        text, by_kind = caption["text"], alternatives_of(caption["text"], statements, done)
        if by_kind and other["text"] != text:
            # The kind, and the alternative of that kind, are selected by hashes.
            kind = sorted(by_kind)[_hash(text, "kind") % len(by_kind)]
            triplets.append((text, other["text"], by_kind[kind][_hash(text, kind) % len(by_kind[kind])]))
    return triplets


@dataclass(frozen=True)
class _Phrases:
    """The phrases of a library by meaning.

    Attributes
    ----------
    verbs : verbs of each action, each in all forms
    stopped : verbs that are only recognised: those after a gait, such as "stop walking and stand", and those of body parts
    details : phrases for an action, a kind and a value
    counts : phrases for a number of repetitions
    theirs : possessive pronouns
    layers : actions that are performed during another one
    """

    verbs: dict[str, tuple[tuple[str, ...], ...]]
    stopped: dict[str, tuple[tuple[str, ...], ...]]
    details: dict[tuple[str, str, str], tuple[str, ...]]
    counts: dict[int, tuple[str, ...]]
    theirs: tuple[str, ...]
    layers: frozenset[str]


@lru_cache(1)
def _phrases() -> _Phrases:
    """Collect the phrases of posegen's own library."""
    library = load_library()
    words: Mapping[str, Any] = library.words
    forms, theirs = tuple(words["forms"]), tuple(sorted(set(words["their"].values())))
    verbs, stopped, details = {}, {}, {}
    for name, own in words["actions"].items():
        listed = [*own["verbs"], *own.get("once", ())]
        verbs[name] = tuple(verb_forms(verb, forms) for verb in dict.fromkeys(listed) if _PARTNER not in verb)
        of_body = [verb for verb in own.get("body", ()) if "{side}" not in verb]
        stopped[name] = tuple(verb_forms(verb, forms) for verb in (*own.get("stopped", ()), *of_body))
        for kind in _OTHERS:
            for value, phrases in own.get(kind, {}).items():
                details[name, kind, value] = tuple(phrase.removesuffix(_BEFORE) for phrase in phrases)
        for key in _IMPLIED.values():
            for value, listed in own.get(key, {}).items():
                details[name, key, value] = tuple(form for verb in listed for form in verb_forms(verb, forms))
    counts = {count: tuple(dict.fromkeys(words["counts"][name])) for count, name in _ONCE_TWICE.items()}
    for count in range(len(counts) + 1, len(words["numbers"])):
        counts[count] = tuple(phrase.replace("{number}", words["numbers"][count]) for phrase in words["counts"]["more"])
    layers = frozenset(name for name in library.actions if library.action(name).layered)
    return _Phrases(verbs, stopped, details, counts, theirs, layers)


@lru_cache(1 << 14)
def alternatives_of(text: str, statements: tuple[tuple[str, str, str], ...], done: tuple[str, ...]) -> dict[str, list[str]]:
    """Change one statement of a caption, in all possible ways.

    Parameters
    ----------
    text : str
        The caption.
    statements : tuple of (str, str, str)
        Kind, action and value of each statement.
    done : tuple of str
        Actions of the scene, each as often as it is performed.

    Returns
    -------
    dict of str to list of str
        Captions with a false statement, by the kind of the statement, one of :data:`CHANGED`.
    """
    stated = [action for kind, action, _ in statements if kind not in _NOT_OF_ONE_ACTION]
    # Steps to the left are another action than steps forward.
    stepping = {action for kind, action, _ in statements if kind == "steps"}
    by_kind: dict[str, list[str]] = {}
    for kind, action, value in statements:
        changed = None
        if kind == "path" and action in stepping:
            continue
        if kind == "action" and value == "" and stated.count(action) == 1:
            changed = _other_action(text, action, frozenset(done))
        elif kind in CHANGED and kind != "action" and done.count(action) == 1:
            changed = _other_value(text, action, kind, value)
        if changed is not None:
            by_kind.setdefault(kind, []).append(changed)
    return by_kind


def _other_value(text: str, action: str, kind: str, value: str) -> str | None:
    known = _phrases()
    if kind == "count":
        counts = [other for other in range(1, _MOST_TIMES + 1) if other != int(value)]
        count = counts[_hash(text, kind, action) % len(counts)]
        return _replaced(text, _pairs(known.counts.get(int(value), ()), known.counts[count]))
    others: tuple[str, ...] = _OTHERS[kind].get(value, ())
    if not others:
        return None
    other, pairs = others[_hash(text, kind, action) % len(others)], dict[str, str]()
    for key in (kind, _IMPLIED.get(kind, kind)):
        pairs |= _pairs(*(known.details.get((action, key, one), ()) for one in (value, other)))
    return _replaced(text, pairs)


def _other_action(text: str, action: str, done: frozenset[str]) -> str | None:
    known = _phrases()
    # "While sitting down" is nothing that one walks.
    suitable = known.layers if action in known.layers else known.verbs.keys()
    names = [name for name, verbs in known.verbs.items() if verbs and name in suitable and name not in done]
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


def _hash(*words: str) -> int:
    return xxhash.xxh3_64_intdigest("|".join(words).encode())
