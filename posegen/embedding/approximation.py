"""Approximation: clauses of a text whose action is unknown, replaced by the nearest action that an encoder finds."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from posegen.captions.grammar import verb_forms
from posegen.captions.lexicon import lexicon_of, split_words
from posegen.captions.parser import parse_caption
from posegen.embedding.cache import encode_texts
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.embedding.search import read_related_phrases, to_sentence
from posegen.foundations.arrays import Array
from posegen.foundations.progress import Progress
from posegen.foundations.wording import shown
from posegen.library.load import Library

THRESHOLD = 0.75
"""Least cosine of a clause and a phrase of the action that replaces it. Chosen on captions of people; see docs/compose.md."""
_MOST_RELATED = 4
"""Phrases of an action that captions do not use."""


def approximate(texts: Sequence[str], library: Library, encoder: Encoder | None = None) -> list[tuple[str, list[str]]]:
    """Replace clauses with an unknown action by the nearest known one.

    Parameters
    ----------
    texts : sequence of str
    library : Library
    encoder : Encoder, optional
        The default one, which needs no download, unless given.

    Returns
    -------
    list of (str, list of str)
        For each text its replacement, and a message for each replaced clause.
    """
    encoder = encoder or find_encoder(DEFAULT).load(1)
    clauses = [_clauses(text, library) for text in texts]
    unknown = list(dict.fromkeys(clause for own in clauses for clause in own if _is_unknown(clause, library)))
    vectors, actions, phrases = _phrases(library, encoder)
    related = read_related_phrases(str(library.words["language"]))
    sentences = [clause.strip() if _subject(clause, library) else to_sentence(clause.strip(), related) for clause in unknown]
    near = encode_texts(sentences, encoder, Progress(), workers=1)[0] @ vectors.T if unknown else np.empty((0, 1))
    found = {clause: (int(row.argmax()), float(row.max())) for clause, row in zip(unknown, near, strict=True)}
    results = []
    for own in clauses:
        made, notes = list(own), []
        for i, clause in enumerate(own):
            best, score = found.get(clause, (0, 0.0))
            if score >= THRESHOLD:
                made[i] = f" {_subject(clause, library)} {phrases[best]} "
                notes.append(
                    f"approximate: {shown(clause.strip())} is shown as {shown(actions[best])} (similarity {score:.2f})"
                )
        results.append((" ".join("".join(made).split()) if notes else "".join(made), notes))
    return results


def _clauses(text: str, library: Library) -> list[str]:
    """Split a text into clauses and what joins them, so that their concatenation is the text."""
    words = lexicon_of(library).reading.clauses
    joins = "|".join(map(re.escape, sorted(words["links"] | words["joins"])))
    return re.split(rf"([.,;!?]|\b(?:{joins})\b)", text)


def _is_unknown(clause: str, library: Library) -> bool:
    parsed = parse_caption(clause, library)
    return bool(parsed.unknown) and not any(statement["kind"] == "action" for statement in parsed.statements)


def _subject(clause: str, library: Library) -> str:
    """Return the words with which a clause introduces a person; empty if it does not begin with them."""
    lexicon, words = lexicon_of(library), split_words(clause)
    first = words[: lexicon.longest(words, 0)] if words else []
    return " ".join(first) if any(meaning.kind == "subject" for meaning in lexicon.phrases.get(tuple(first), ())) else ""


def _phrases(library: Library, encoder: Encoder) -> tuple[Array, list[str], list[str]]:
    """Return vectors of phrases of all actions of one person, with the action and its usual verb for each."""
    related = read_related_phrases(str(library.words["language"]))
    texts, actions, verbs = [], [], []
    for name, words in library.words["actions"].items():
        forms = [verb_forms(verb.replace("{their}", "the"), tuple(library.words["forms"]))[0] for verb in words["verbs"]]
        own = [*dict.fromkeys(forms), *related["actions"].get(name, ())[:_MOST_RELATED]]
        texts += [to_sentence(phrase, related) for phrase in own]
        actions += [name] * len(own)
        verbs += [forms[0]] * len(own)
    return encode_texts(texts, encoder, Progress(), workers=1)[0], actions, verbs
