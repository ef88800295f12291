"""Lists of words that bear on claims: what a paraphrase must keep, and what must not come in."""

from __future__ import annotations

import pytest

from posegen.errors import UsageError
from posegen.paraphrase.words import difference, meanings_of, words_of

ENGLISH = meanings_of("en")
SAME = [
    ("a person waves with the left hand twice, then sits down", "Someone gives two waves of their left hand and takes a seat"),
    ("a man walks slowly and after that turns right", "The man strolls at a leisurely pace. After that, he makes a right turn"),
    ("a woman is jumping three times", "She hops up 3 times"),
    ("a person walks while waving the right hand", "Somebody is walking, waving their right hand all the while"),
    ("a person runs fast and then kneels", "After running quickly, somebody goes down on their knees"),
    ("a person walks, and after that sits", "Someone walks before taking a seat"),
    ("a person turns around", "Someone spins to face the other way"),
    ("an older man walks forward", "An elderly gentleman steps ahead"),
    ("a person claps once", "one clap is given a single time"),
]
OTHER = [
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
    return difference(words_of(caption, ENGLISH), words_of(paraphrase, ENGLISH), turns_around="around" in caption)


@pytest.mark.parametrize(("caption", "paraphrase"), SAME)
def test_other_words_for_the_same_are_let_through(caption: str, paraphrase: str) -> None:
    assert reason(caption, paraphrase) == ""


@pytest.mark.parametrize(("caption", "paraphrase", "why"), OTHER)
def test_what_says_something_else_is_refused_for_it(caption: str, paraphrase: str, why: str) -> None:
    assert reason(caption, paraphrase) == why


def test_captions_differ_in_nothing_from_themselves() -> None:
    for caption, paraphrase in SAME:
        assert reason(caption, caption) == reason(paraphrase, paraphrase) == ""


def test_a_language_without_lists_is_refused() -> None:
    with pytest.raises(UsageError, match="language 'xx' cannot be checked in other words; there are lists for en"):
        meanings_of("xx")
