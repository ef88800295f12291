"""Splitting texts into clauses, against expected clauses."""

from __future__ import annotations

import pytest

from posegen import load_config, synthesize
from posegen.captions.parser import parse_caption
from posegen.library.load import load_library
from posegen.training.animate import split_clauses

LIBRARY = load_library()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a person walks forward, then waves", ("a person walks forward", "a person waves")),
        ("A man runs. Then he jumps twice.", ("A man runs", "A man jumps twice")),
        ("a woman, after walking, sits down", ("a woman walking", "a woman sits down")),
        ("After bowing, the man claps before walking", ("the man bowing", "the man claps", "the man walking")),
        ("walks while waving, followed by jumping", ("walks while waving", "jumping")),
        ("a person walks and waves", None),
        ("a person walks, waves and jumps", None),
        ("a person walks, then frobs", None),
        ("then, then ...", None),
        ("two people walk, then they shake hands", None),
        ("", None),
    ],
)
def test_texts_are_split_where_actions_follow_one_another(text: str, parts: tuple[str, ...] | None) -> None:
    assert split_clauses(text, LIBRARY) == (parts or (text,))


def test_clauses_of_captions_state_what_the_captions_state() -> None:
    """No statement is lost, repeated or reordered, in all captions of some samples."""
    separated = 0
    for row in synthesize(load_config("smoke"), range(8)).rows:
        for caption in row["captions"]:
            wanted = _done(caption["text"])
            parts = split_clauses(caption["text"], LIBRARY)
            assert [action for part in parts for action in _done(part)] == wanted
            separated += len(parts) > 1
    assert separated > 10


def _done(text: str) -> list[str]:
    return [str(claim["action"]) for claim in parse_caption(text, LIBRARY).statements if claim["kind"] == "action"]
