"""Clauses with an unknown action are replaced by the nearest action, and reported; nothing else is changed."""

from __future__ import annotations

import pytest

from posegen.captions.parser import parse_caption
from posegen.embedding.approximation import approximate
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import HASHING, find_encoder
from posegen.embedding.search import read_related_phrases
from posegen.library.load import load_library

LIBRARY = load_library()


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return find_encoder(HASHING).load(1)


def unknown_phrase() -> tuple[str, str]:
    """Return an action and a related phrase of it whose words the parser does not know."""
    for action, phrases in read_related_phrases("en")["actions"].items():
        for phrase in phrases[:4]:
            parsed = parse_caption(f"someone {phrase}", LIBRARY)
            if (
                action in LIBRARY.actions
                and action != "walk"
                and parsed.unknown
                and not any(s["action"] for s in parsed.statements)
            ):
                return action, phrase
    raise AssertionError


def test_an_unknown_action_is_replaced_and_reported(encoder: Encoder) -> None:
    action, phrase = unknown_phrase()
    ((text, notes),) = approximate([f"someone walks forward, then {phrase}"], LIBRARY, encoder)
    actions = [s["action"] for s in parse_caption(text, LIBRARY).statements if s["kind"] == "action"]
    assert actions == ["walk", action]
    assert len(notes) == 1
    assert f"approximate: '{phrase}' is shown as '{action}'" in notes[0]


def test_what_is_understood_or_near_to_nothing_is_not_changed(encoder: Encoder) -> None:
    texts = ["a man walks slowly,  then sits down; he waves", "a person qwrtz zxcvb"]
    assert approximate(texts, LIBRARY, encoder) == [(text, []) for text in texts]
