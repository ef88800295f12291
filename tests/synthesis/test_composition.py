"""Composition: the joints show what the text describes; impossible texts are refused, unknown words reported."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.checks.statements import check_statement, observe_actors
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.synthesis.composition import compose

LIBRARY = load_library()
TEXTS = [
    "a person walks forward slowly, then sits down and waves with the left hand",
    "a man jumps twice, then turns around and runs away quickly",
    "a girl claps four times while walking in a curve to the left",
    "someone sits down, claps, then gets up and walks to the right while waving with the right hand",
    "a tired person points with the left hand, then kneels down",
    "Waving while walking.",
]
EXPECTED = [
    ["walk", "sit", "wave"],
    ["jump", "turn", "run"],
    ["walk", "clap"],
    ["sit", "clap", "stand", "walk", "wave"],
    ["stand", "point", "kneel"],
    ["walk", "wave"],
]


@pytest.mark.parametrize(("text", "expected"), list(zip(TEXTS, EXPECTED, strict=True)))
def test_the_description_is_shown(text: str, expected: list[str]) -> None:
    made = compose(text, seed=3)
    assert made.notes == ()
    assert [segment["action"] for segment in made.row["actors"][0]["segments"]] == expected
    assert np.isfinite(made.joints).all()
    seen = observe_actors(made.joints[None], [made.row["actors"]], LIBRARY, made.fps)[0]
    for caption in made.row["captions"][1:]:
        assert all(check_statement(claim, seen, LIBRARY) is not False for claim in caption["statements"])


def test_sides_counts_and_ends() -> None:
    made = compose("a man waves three times with the left hand, then sits down")
    wave = next(segment for segment in made.row["actors"][0]["segments"] if segment["action"] == "wave")
    assert (wave["side"], wave["repetitions"]) == ("left", 3)
    left, right = (made.joints[0, :, JOINTS.index(f"{side}_wrist"), 1] for side in ("left", "right"))
    assert left.max() > right.max() + 0.3
    # A person who sits down last stays seated.
    pelvis = made.joints[0, :, JOINTS.index("pelvis"), 1]
    assert pelvis[-1] < 0.75 * pelvis[0]


def test_the_same_seed_gives_the_same_motion() -> None:
    text = "a person walks, then bows"
    one, same, other = (compose(text, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.joints, same.joints)
    assert one.joints.shape != other.joints.shape or not np.array_equal(one.joints, other.joints)


@pytest.mark.parametrize("seconds", [6.0, 9.0, 20.0])
def test_the_duration_is_kept(seconds: float) -> None:
    assert compose("a person walks, then turns left", seconds=seconds).joints.shape[1] == 25 * seconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a person walks while running", "cannot be done at the same time"),
        ("a person walks slowly and quickly", "two values of speed, slow and fast"),
        ("a person waves with the left hand with the right hand", "two values of side"),
        ("a person carries a box while waving", "which needs the arms"),
        ("two people walk", "describe one person"),
        ("one person walks, while another person runs", "describe one person"),
        ("a happy person walks sadly", "both happy and sad"),
        ("a person frobs", "'a person frobs' describes nothing"),
        ("", "describes nothing"),
    ],
)
def test_impossible_texts_are_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        compose(text)


def test_interactions() -> None:
    made = compose("a man and a woman shake hands", seed=1)
    assert made.joints.shape[0] == 2
    assert [actor["male"] for actor in made.row["actors"]] == [True, False]
    assert made.notes == ()
    for actor in made.row["actors"]:
        assert "shake_hands" in [segment["action"] for segment in actor["segments"]]
    first = next(s for s in made.row["actors"][0]["segments"] if s["action"] == "shake_hands")
    hands = [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")]
    wrists = made.joints[:, first["start"] : first["end"], hands]
    gaps = np.linalg.norm(wrists[0][:, :, None] - wrists[1][:, None], axis=-1)
    assert (gaps <= 0.05).sum(axis=0).max() >= 3
    assert np.array_equal(made.joints, compose("a man and a woman shake hands", seed=1).joints)
    with pytest.raises(UsageError, match="no two such people"):
        compose("two people shake hands", seconds=1)


def test_too_short_is_refused() -> None:
    with pytest.raises(UsageError, match="takes at least"):
        compose("a person jumps four times, then sits down", seconds=3)
    with pytest.raises(UsageError, match=r"takes at least 4\.6 seconds \(got 0\.5\); ask for more"):
        compose("a person walks", seconds=0.5)
    assert compose("a person walks", seconds=4.6).joints.shape[1] == 115


def test_what_is_not_counted_is_done_as_often_as_there_is_time() -> None:
    for seconds in (3.2, 4.0, 5.4, 8.0):
        made = compose("a person waves", seconds=seconds)
        assert made.joints.shape[1] == round(25 * seconds)
        assert made.notes == ()
    with pytest.raises(UsageError, match=r"takes at least [5-9]"):
        compose("a person waves five times", seconds=4)


@pytest.mark.parametrize("text", ["a person walks", "two people shake hands"])
@pytest.mark.parametrize("seconds", [-1.0, 0.3, 400.1, float("nan")])
def test_durations_that_no_config_has_are_refused(text: str, seconds: float) -> None:
    with pytest.raises(UsageError, match=r"^seconds: ask for 0\.4 to 400 \(got "):
        compose(text, seconds=seconds)


def test_numbers_that_mean_nothing_are_reported() -> None:
    assert compose("a person jumps -3 times").not_understood == ("-3 times",)


def test_unknown_words_are_reported() -> None:
    made = compose("a person wlaks forward, claps with the left hand, then jumps")
    assert made.not_understood == ("wlaks forward", "with the left hand")
    assert "'walks'" in made.notes[0] or "walks" in made.notes[0]
    assert "does not apply to 'clap'" in made.notes[1]
