"""Whether a paraphrase claims what its caption claims: what a language model may say, well and badly."""

from __future__ import annotations

from typing import Any

import pytest

import posegen
from posegen.captions.parser import parse_caption
from posegen.library.load import load_library
from posegen.paraphrase.claims import SAME, changed

LIBRARY = load_library()
KEPT = [
    (
        "a person waves with the left hand twice, then sits down",
        "Somebody gives two waves of the left hand and then takes a seat",
    ),
    ("a man walks slowly, and after that turns right", "The man ambles along; after that he pivots to the right"),
    ("a person jumps three times", "An individual springs into the air three times"),
    ("a person walks while waving with the right hand", "While walking along, someone waves with the right hand"),
    ("a person turns around", "Someone spins to face the other way"),
]
REFUSED = [
    ("a person walks, then waves with the left hand", "Someone runs, then waves with the left hand", "action"),
    ("a person walks, then sits down", "Someone walks, then sits down and claps", "action"),
    ("a person walks, then sits down", "A person walks and walks", "action left out"),
    ("a person sits down, then walks", "Someone walks, then sits down", "order"),
    ("a person walks, then jumps, then claps", "Someone claps, then walks, then jumps", "order"),
    ("a person walks, then claps", "Two people walk, then clap", "count"),
    ("a person walks", "A person strolls backwards", "path"),
    ("a person walks slowly", "A person hurries along", "speed"),
    ("a person turns to the left", "A person turns to the right", "side"),
    ("a person claps twice", "a person claps not twice", "negation"),
    ("a person walks slowly", "A person walks slowly.", SAME),
]


def caption(text: str) -> dict[str, Any]:
    reading = parse_caption(text, LIBRARY)
    assert reading.unknown == []
    return {"text": text, "statements": reading.statements}


@pytest.mark.parametrize(("text", "paraphrase"), KEPT)
def test_what_says_the_same_is_kept(text: str, paraphrase: str) -> None:
    assert changed(caption(text), paraphrase, LIBRARY) == ""


@pytest.mark.parametrize(("text", "paraphrase", "why"), REFUSED)
def test_what_says_something_else_is_refused(text: str, paraphrase: str, why: str) -> None:
    assert changed(caption(text), paraphrase, LIBRARY) == why


def test_captions_of_others_are_no_paraphrases() -> None:
    batch = posegen.synthesize(
        posegen.load_config("default", ["variants={speed: null, position: null, scale: null}"]), range(24)
    )
    base, mirrored = batch.rows[::2], batch.rows[1::2]
    turned = 0
    for k, (row, other) in enumerate(zip(base, mirrored, strict=True)):
        for i in (1, 2):
            own = row["captions"][i]
            assert changed(own, f"{own['text']} indeed", LIBRARY) == ""
            if own["text"] != other["captions"][i]["text"]:
                turned += 1
                assert changed(own, other["captions"][i]["text"], LIBRARY) != ""
            next_one = base[k - 1]["captions"][i]
            if {s["action"] for s in own["statements"]} - {s["action"] for s in next_one["statements"]}:
                assert changed(own, next_one["text"], LIBRARY) != ""
    assert turned >= 10
