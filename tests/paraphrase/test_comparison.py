"""Comparison of paraphrases with their captions: what a language model may write, equivalent and different."""

from __future__ import annotations

from typing import Any

import pytest

import posegen
from posegen.captions.parser import parse_caption
from posegen.foundations.errors import UsageError
from posegen.library.load import load_library
from posegen.paraphrase.comparison import SAME, load_meanings, paraphrase_difference, word_claims, word_difference

LIBRARY = load_library()
KEPT = [
    (
        "a person waves with the left hand twice, then sits down",
        "Somebody gives two waves of the left hand and then takes a seat",
    ),
    ("a man walks slowly, and after that turns right", "The man ambles along; after that he pivots to the right"),
    ("a person jumps three times", "An individual springs into the air three times"),
    ("a person walks while waving with the right hand", "While walking along, someone waves with the right hand"),
    ("a person turns around", "Someone pivots to face the other way"),
]
REFUSED = [
    ("a person walks, then waves with the left hand", "Someone runs, then waves with the left hand", "action"),
    ("a person walks, then sits down", "Someone walks, then sits down and claps", "action"),
    ("a person walks, then sits down", "A person walks and walks", "action left out"),
    ("a person sits down, then walks", "Someone walks, then sits down", "order"),
    ("a person walks, then jumps, then claps", "Someone claps, then walks, then jumps", "order"),
    ("a person walks, then claps", "Two people walk, then clap", "count"),
    ("a person claps", "Somebody claps again and again", "count"),
    ("a person walks", "A person strolls backwards", "path"),
    ("a person walks slowly", "A person hurries along", "speed"),
    ("a person turns to the left", "A person turns to the right", "side"),
    ("a person claps twice", "a person claps not twice", "negation"),
    ("a person walks slowly", "A person walks slowly.", SAME),
]


def caption(text: str) -> dict[str, Any]:
    parsed = parse_caption(text, LIBRARY)
    assert parsed.unknown == []
    return {"text": text, "statements": parsed.statements}


@pytest.mark.parametrize(("text", "paraphrase", "why"), [*((*pair, "") for pair in KEPT), *REFUSED])
def test_equivalent_paraphrases_are_kept_and_others_refused(text: str, paraphrase: str, why: str) -> None:
    assert paraphrase_difference(caption(text), paraphrase, LIBRARY) == why


def test_captions_of_other_sequences_are_not_paraphrases() -> None:
    batch = posegen.synthesize(
        posegen.load_config("default", ["variants={speed: null, position: null, scale: null}"]), range(24)
    )
    base, mirrored = batch.rows[::2], batch.rows[1::2]
    swapped = 0
    for k, (row, other) in enumerate(zip(base, mirrored, strict=True)):
        for i in (1, 2):
            own = row["captions"][i]
            assert paraphrase_difference(own, f"{own['text']} indeed", LIBRARY) == ""
            if own["text"] != other["captions"][i]["text"]:
                swapped += 1
                assert paraphrase_difference(own, other["captions"][i]["text"], LIBRARY) != ""
            next_one = base[k - 1]["captions"][i]
            if {s["action"] for s in own["statements"]} - {s["action"] for s in next_one["statements"]}:
                assert paraphrase_difference(own, next_one["text"], LIBRARY) != ""
    assert swapped >= 10


ENGLISH = load_meanings("en")
EQUIVALENT = [
    ("a person waves with the left hand twice, then sits down", "Someone gives two waves of their left hand and takes a seat"),
    ("a man walks slowly and after that turns right", "The man strolls at a leisurely pace. After that, he makes a right turn"),
    ("a woman is jumping three times", "She hops up 3 times"),
    ("a person walks while waving the right hand", "Somebody is walking, waving their right hand all the while"),
    ("a person runs fast and then kneels", "After running quickly, somebody goes down on their knees"),
    ("a person walks, and after that sits", "Someone walks before taking a seat"),
    ("a person turns around", "Someone pivots to face the other way"),
    ("an older man walks forward", "An elderly gentleman steps ahead"),
    ("a person claps once", "one clap is given a single time"),
]
DIFFERENT = [
    ("a person waves with the left hand", "Someone waves with the right hand", "side"),
    ("a person waves with the left hand", "Someone waves a hand", "side"),
    ("a person waves with the left hand", "Someone waves both hands, the left one first", "side"),
    ("a person turns left, then waves the right hand", "Someone turns right, then waves the left hand", "side"),
    ("a person jumps", "Someone jumps to the left", "side"),
    ("a person claps three times", "Someone claps four times", "count"),
    ("a person claps three times", "Someone claps", "count"),
    ("a person claps three times", "Someone claps several times", "count"),
    ("a person claps", "Someone claps 2 times", "count"),
    ("a person claps and bows twice", "Someone claps twice and bows twice", "count"),
    ("a person turns around", "Someone makes a turn", "direction"),
    ("a person walks slowly", "Someone walks briskly", "speed"),
    ("a person walks", "Someone walks at an easy pace", "speed"),
    ("a person walks", "Someone does not walk", "negation"),
    ("a person walks", "Someone doesn't stand, they walk", "negation"),
    ("a person walks", "Someone almost walks", "negation"),
    ("a person walks, then waves", "Someone walks while waving", "order"),
    ("a person walks while waving", "Someone walks, then waves", "order"),
    ("a person walks, then waves", "As they walk, someone waves", "order"),
    ("a person walks, then waves", "Walking, someone waves", "order"),
    ("a person walks, then sits", "Before sitting down, someone walks", "order"),
    ("a person walks, then sits", "Someone sits after walking", "order"),
    ("a person types before standing up", "Before typing, someone stands up", "order"),
    ("a person walks, then sits", "Someone sits, having walked", "order"),
    ("a person walks", "A man walks", "people"),
    ("a boy walks", "An old boy walks", "people"),
    ("a person walks forward", "Someone walks backwards", "path"),
    ("a person walks", "Someone walks in a circle", "path"),
    ("a person walks", "Someone walks wearily", "style"),
]


def reason(caption: str, paraphrase: str) -> str:
    return word_difference(word_claims(caption, ENGLISH), word_claims(paraphrase, ENGLISH), turns_around="around" in caption)


@pytest.mark.parametrize(("caption", "paraphrase", "why"), [*((*pair, "") for pair in EQUIVALENT), *DIFFERENT])
def test_lists_of_words_accept_equivalent_paraphrases_alone(caption: str, paraphrase: str, why: str) -> None:
    assert reason(caption, paraphrase) == why


def test_captions_do_not_differ_from_themselves() -> None:
    for caption, paraphrase in EQUIVALENT:
        assert reason(caption, caption) == reason(paraphrase, paraphrase) == ""


def test_a_language_without_lists_is_refused() -> None:
    with pytest.raises(UsageError, match="paraphrases in the language 'xx' cannot be checked; there are lists of words for en"):
        load_meanings("xx")
