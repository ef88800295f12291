"""Composition: the joints show what the text describes; impossible texts are refused, unknown words reported."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.checks.evidence import turn_angle
from posegen.checks.statements import check_statement, observe_actors
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.synthesis.composition import compose

LIBRARY = load_library()
EXPECTED = {
    "a person walks forward slowly, then sits down and waves with the left hand": ["walk", "sit", "wave"],
    "a man jumps twice, then turns around and runs away quickly": ["jump", "turn", "run"],
    "a girl claps four times while walking in a curve to the left": ["walk", "clap"],
    "someone sits down, claps, then gets up and walks to the right while waving with the right hand": [
        *("sit", "clap", "stand", "walk", "wave")
    ],
    "a tired person points with the left hand, then kneels down": ["stand", "point", "kneel"],
    "Waving while walking.": ["walk", "wave"],
    "a person walks while looking around": ["walk", "looking_around"],
}


@pytest.mark.parametrize(("text", "expected"), EXPECTED.items())
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
        ("two people shake hands, then one of them walks", "interact and do something else: describe an interaction"),
        ("twelve people walk", "the text describes 12 people: describe at most 9"),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two people jump", [["jump"], ["jump"]]),
        ("one person sits down while the other one waves with the left hand", [["sit"], ["stand", "wave"]]),
        ("two people stand, one claps and the other walks forward", [["stand", "clap"], ["walk"]]),
        ("the first person kicks, the second person bows", [["kick"], ["bow"]]),
        ("three men walk", [["walk"]] * 3),
        ("a man walks and a woman bows", [["walk"], ["bow"]]),
    ],
)
def test_each_of_several_people_does_what_the_text_says(text: str, expected: list[list[str]]) -> None:
    made = compose(text, seed=2)
    assert made.notes == ()
    for actor, asked in zip(made.row["actors"], expected, strict=True):
        assert [segment["action"] for segment in actor["segments"] if segment["action"] in asked][-len(asked) :] == asked
    assert made.joints.shape[0] == len(expected)
    assert np.isfinite(made.joints).all()
    pelvis = made.joints[:, :, 0][..., [0, 2]]
    for one in range(len(pelvis)):
        for other in range(one):
            assert np.linalg.norm(pelvis[one] - pelvis[other], axis=-1).min() > 1.2
    seen = observe_actors(made.joints[None], [made.row["actors"]], LIBRARY, made.fps)[0]
    for caption in made.row["captions"][1:]:
        assert all(check_statement(claim, seen, LIBRARY) is not False for claim in caption["statements"])


@pytest.mark.parametrize(
    ("text", "people", "unshown"),
    [
        ("two people walk towards each other", 2, "each other"),
        ("two people walk in opposite directions", 2, "opposite directions"),
        ("one person pushes the other person", 2, "the other person"),
        ("a person walks in a circle around another person", 2, "another person"),
    ],
)
def test_what_is_not_done_to_others_is_reported(text: str, people: int, unshown: str) -> None:
    made = compose(text)
    assert len(made.joints) == people
    if text.startswith(("one", "a ")):
        assert {segment["action"] for segment in made.row["actors"][1]["segments"]} == {"stand"}
    assert [note.rsplit(": ", 1)[1] for note in made.notes] == [unshown]


def test_getting_up_counts_in_the_duration() -> None:
    with pytest.raises(UsageError, match=r"takes at least 9\.\d seconds \(got 3\)"):
        compose("a person gets up from the floor and walks", seconds=3)
    assert compose("a person gets up from the floor and walks", seconds=12).joints.shape[1] == 300


def test_steps_of_each_person_are_counted_and_sides_are_not_exchanged() -> None:
    made = compose("the first person takes three steps, the second person raises the right arm", seed=1)
    assert made.notes == ()
    left, right = (made.joints[1, :, JOINTS.index(f"{side}_wrist"), 1] for side in ("left", "right"))
    assert right.max() > left.max() + 0.3


@pytest.mark.parametrize(
    ("text", "highest"),
    [("gets up from the floor", 0.2), ("gets up from a kneeling position", 0.65), ("stands up from sitting", 0.7)],
)
def test_who_gets_up_begins_down(text: str, highest: float) -> None:
    made = compose(f"a person {text} and walks forward")
    assert made.notes == ()
    pelvis = made.joints[0, :, JOINTS.index("pelvis"), 1]
    assert pelvis[0] < highest * pelvis[-1]
    assert [segment["action"] for segment in made.row["actors"][0]["segments"]] == ["stand", "walk"]
    asked = made.row["actors"][0]["segments"][0]["start"]
    assert pelvis[asked] > 0.9 * pelvis[-1]


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


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a person walks while running", "'walk' and 'run' follow each other: each needs the whole body"),
        ("a person carries a box while waving", "'carry' and 'wave' follow each other: both need the arms"),
        ("a person walks slowly and quickly", "the motion does not show this of 'walk': speed fast"),
        ("a person claps with the left hand", "the motion does not show this of 'clap': side left"),
        ("a person walks nervously", "the motion does not show this of 'walk': nervously"),
        ("a person walks forward, waves and walks back", "the motion does not show this of 'walk': back"),
        ("a person jumps backwards", "the motion does not show this of 'jump': backward"),
    ],
)
def test_what_the_motion_does_not_show_is_stated(text: str, note: str) -> None:
    assert note in compose(text).notes


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a person walks 3 steps forward", 3),
        ("takes four steps", 4),
        ("a woman walks eight steps backwards", 8),
        ("he runs 5 steps", 5),
    ],
)
def test_steps_are_counted(text: str, steps: int) -> None:
    made = compose(text)
    segment = made.row["actors"][0]["segments"][0]
    feet = made.contact[0, segment["start"] : segment["end"]] == 1
    down = np.stack([feet[:, :2].any(axis=1), feet[:, 2:4].any(axis=1)], axis=1)
    assert (down[1:] & ~down[:-1]).sum() == steps
    assert made.notes == ()


def test_distances_are_kept() -> None:
    made = compose("a man walks forward for 4 meters")
    assert abs(np.hypot(*(made.joints[0, -1, 0] - made.joints[0, 0, 0])[[0, 2]]) - 4) < 0.8
    assert made.notes == ()


def test_a_turn_during_a_walk_is_its_path() -> None:
    segments = compose("a person walks while turning to the right").row["actors"][0]["segments"]
    assert [segment["action"] for segment in segments] == ["walk"]
    assert "right" in segments[0]["text"]


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("a person walks in a quarter circle to the left", 90),
        ("a man walks in a half circle to the right", -180),
        ("a woman walks three quarters of a circle to the left", 270),
        ("he walks a full circle clockwise", -360),
    ],
)
def test_arcs_end_where_the_text_says(text: str, degrees: float) -> None:
    made = compose(text)
    assert abs(np.degrees(turn_angle(made.joints[0])) - degrees) < 15
    assert made.notes == ()


@pytest.mark.parametrize("text", ["a person does a squat", "he makes a quick bow", "somebody performs one jump"])
def test_one_is_one(text: str) -> None:
    assert [segment["repetitions"] for segment in compose(text).row["actors"][0]["segments"]] == [1]


def test_numbers_that_mean_nothing_are_reported() -> None:
    assert compose("a person jumps -3 times").not_understood == ("-3",)


def test_unknown_words_are_reported() -> None:
    made = compose("a person wlaks forward, claps, then frobs")
    assert made.not_understood == ("frobs",)
    assert "read as 'walks': 'wlaks'" in made.notes
