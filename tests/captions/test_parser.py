"""Parser: captions are parsed into their statements; words that are not understood are quoted."""

from __future__ import annotations

import cProfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.captions.captions import describe_segments, write_captions
from posegen.captions.parser import parse_caption
from posegen.captions.segments import find_segments
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.library.load import load_library
from posegen.planning.scenes import plan_scenes
from posegen.synthesis.unshown import explain_unknown
from tests.renumbering import renumber_statements, same_statements

LIBRARY = load_library()
UNDERSTOOD = 0.99
"""Share of captions that must be parsed completely."""


def claims(text: str) -> set[tuple[object, ...]]:
    return {
        (claim["kind"], claim["segment"], claim["action"], claim["value"])
        for claim in parse_caption(text, LIBRARY).statements
        if claim["kind"] != "people"
    }


@pytest.mark.parametrize(
    ("story", "samples"),
    [
        ({"actors": {"min": 1, "max": 1}}, 600),
        ({"actors": {"min": 2, "max": 4}}, 150),
        ({"actors": {"min": 2, "max": 2}, "interactions": {"share": 1}}, 300),
    ],
)
def test_captions_are_parsed_into_their_statements(story: dict[str, Any], samples: int) -> None:
    config = Config.model_validate({"story": story})
    scenes = plan_scenes(config, LIBRARY, np.arange(samples))
    rows = write_captions(scenes, LIBRARY, config, find_segments(scenes, LIBRARY, config.fps)).to_pylist()
    whole = 0
    for row in rows:
        for caption in row:
            parsed = parse_caption(caption["text"], LIBRARY)
            whole += not parsed.unknown and same_statements(parsed.statements, caption["statements"])
    assert whole >= UNDERSTOOD * 3 * samples


def test_statements_of_a_caption() -> None:
    text = "a man slowly walks forward while waving twice with his left hand, then sits down and claps"
    assert claims(text) == {
        ("action", 0, "walk", ""),
        ("speed", 0, "walk", "slow"),
        ("path", 0, "walk", "straight"),
        ("action", 1, "wave", ""),
        ("count", 1, "wave", "2"),
        ("side", 1, "wave", "left"),
        ("order", 1, "wave", "during 0"),
        ("action", 2, "sit", ""),
        ("order", 2, "sit", "after 0"),
        ("action", 3, "clap", ""),
    }
    people = [claim["value"] for claim in parse_caption(text, LIBRARY).statements if claim["kind"] == "people"]
    assert people == ["1", "man"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a person walks slowly", "a person walks quickly"),
        ("a person waves with the left hand", "a person waves with the right hand"),
        ("a person claps three times", "a person claps four times"),
        ("a person walks, then sits down", "a person sits down, then walks"),
        ("a person turns to the left", "a person turns around"),
        ("a person walks forward", "a person runs forward"),
        ("a man walks", "a woman walks"),
        ("a person walks while waving", "a person walks, then waves"),
    ],
)
def test_negated_captions_have_other_statements(one: str, other: str) -> None:
    assert not same_statements(parse_caption(one, LIBRARY).statements, parse_caption(other, LIBRARY).statements)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a person walks, then sits down", "After walking, a person takes a seat"),
        ("a person walks, then sits down", "A figure walked. Then they had a seat."),
        ("a person claps 3 times", "somebody claps their hands three times"),
        ("a person walks and waves", "a person is walking and waving"),
        ("a person lifts their left leg", "a person raises one leg and lowers it again on the left"),
        ("a person appears to wave her right hand", "somebody waves with the right hand"),
    ],
)
def test_equivalent_captions_have_the_same_statements(one: str, other: str) -> None:
    assert same_statements(parse_caption(one, LIBRARY).statements, parse_caption(other, LIBRARY).statements)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("a person frobs wildly, then sits down", ["frobs"]),
        ("a person sits down slowly and Flurbles", ["Flurbles"]),
        ("", []),
    ],
)
def test_unknown_words_are_quoted(text: str, unknown: list[str]) -> None:
    assert parse_caption(text, LIBRARY).unknown == unknown


def test_every_unknown_word_is_named() -> None:
    text = "a chef stirs the soup, then a dog growls loudly while whistling"
    lines = explain_unknown(parse_caption(text, LIBRARY), LIBRARY)
    assert [line.partition("; the nearest")[0].partition("; no known")[0] for line in lines] == [
        "not understood: 'chef'; unknown word: chef",
        "not understood: 'soup'; unknown word: soup",
        "not understood: 'growls'; unknown word: growls",
        "not understood: 'whistling'; unknown word: whistling",
    ]


PIECES = ["a man", "walks", ",", ".", ";", "then", "while", "and", "after", "left", "twice", "goes on", "in place", "they"]


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_any_text_is_parsed(text: str) -> None:
    parsed = parse_caption(text, LIBRARY)
    assert all(piece in text for piece in parsed.unknown)
    assert renumber_statements(renumber_statements(parsed.statements)) == renumber_statements(parsed.statements)


def test_interactions_are_stated_for_both_actors() -> None:
    parsed = parse_caption("A man and a woman shake hands. Afterwards the first turns around.", LIBRARY)
    assert not parsed.unknown
    found = [(claim["actor"], claim["kind"], claim["action"], claim["value"]) for claim in parsed.statements]
    assert found == [
        (-1, "people", "", "2"),
        (0, "people", "", "man"),
        (1, "people", "", "woman"),
        (0, "action", "shake_hands", ""),
        (0, "partner", "shake_hands", "1"),
        (1, "action", "shake_hands", ""),
        (1, "partner", "shake_hands", "0"),
        (0, "action", "turn", ""),
        (0, "order", "turn", "after 0"),
        (0, "direction", "turn", "around"),
    ]
    assert not same_statements(parsed.statements, parse_caption("two people shake hands", LIBRARY).statements)
    # One person alone does not interact, and an action of one of several belongs to that person.
    assert parse_caption("a person plays catch", LIBRARY).unknown == ["plays catch"]
    each = parse_caption("two people: the first shakes hands with the second", LIBRARY).statements
    assert {claim["actor"] for claim in each if claim["kind"] == "partner"} == {0}


def test_segments_have_their_own_captions() -> None:
    config = Config.model_validate({"captions": {"style": "detailed"}})
    in_verbs = {name for name, words in LIBRARY.words["actions"].items() if words.get("side", {}).get("left") == [""]}
    scenes = plan_scenes(config, LIBRARY, np.arange(200))
    visible = find_segments(scenes, LIBRARY, config.fps)
    rows = describe_segments(scenes, LIBRARY, config, visible).to_pylist()
    full = write_captions(scenes, LIBRARY, config, visible).to_pylist()
    texts = set()
    for segments, (_, caption, _) in zip(rows, full, strict=True):
        for number, segment in enumerate(segments):
            assert all(claim["segment"] == number and claim["actor"] == 0 for claim in segment["statements"])
            parsed = parse_caption(segment["text"], LIBRARY)
            assert same_statements(parsed.statements, segment["statements"])
            assert not parsed.unknown
            claimed = [claim for claim in caption["statements"] if claim["segment"] == number and claim["kind"] != "order"]
            # The words of some actions let a caption leave out that the path is straight.
            omitted = [claim for claim in segment["statements"] if claim not in claimed and claim["value"] != "straight"]
            omitted = [claim for claim in omitted if claim["kind"] != "side" or claim["action"] not in in_verbs]
            # "to the side" may stand for either side.
            omitted = [claim for claim in omitted if claim["kind"] != "side" or "to the side" not in caption["text"]]
            assert all(claim["kind"] in ("speed", "action") for claim in omitted) or not claimed
            texts.add(segment["text"])
    assert len(texts) > 200


@pytest.mark.parametrize(
    "part",
    ["frob{}x, walks, ", "a person walks slowly, then ", "slowly ", "walks and goes on, ", "waves while seated, ", "..."],
)
def test_parsing_takes_time_in_proportion_to_the_text(part: str) -> None:
    """Calls of functions are counted, not seconds."""
    library = load_library()
    parse_caption("a person walks", library)

    def calls(count: int) -> int:
        text, profile = "".join(part.format(number) for number in range(count)), cProfile.Profile()
        profile.runcall(lambda: explain_unknown(parse_caption(text, library), library))
        return sum(entry.callcount for entry in profile.getstats())

    few, many = calls(200), calls(1600)
    assert many < 8 * 1.2 * few + 20_000


def test_only_the_first_unknown_parts_are_explained() -> None:
    text = "".join(f"frob{number}x, walks, " for number in range(500))
    lines = explain_unknown(parse_caption(text, load_library()), load_library())
    assert len(lines) == 21
    assert lines[0].startswith("not understood: 'frob0x'; unknown word: frob0x")
    assert lines[-1] == "not understood: 480 more parts"


@pytest.mark.parametrize("command", ["compose", "animate run", "search dataset"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("walks " * 20_000, "the text has 120,000 characters; at most 10,000 are read: shorten it"),
        ("a person walks\u202e", "'a person walks\\u202e': must be one line of UTF-8 text without control characters"),
    ],
)
def test_a_text_that_is_too_long_or_hides_something_is_refused(
    command: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command.split()
    out = [] if name == "search" else ["-o", str(tmp_path / "out.npz")]
    assert main([name, *options, text, *out]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("one person sits down while the other one waves", {0: ["sit"], 1: ["wave"]}),
        ("two people stand, one claps and the other walks forward", {0: ["stand", "clap"], 1: ["walk"]}),
        ("a person sits down and another person walks in a circle", {0: ["sit"], 1: ["walk"]}),
        # Here they name a limb, or a place.
        ("a person raises one arm, then the other arm", {0: ["raise_arm"]}),
        ("a person walks from one side to the other and waves", {0: ["walk", "wave"]}),
        ("a person takes one step and another step", {0: ["walk", "walk"]}),
    ],
)
def test_words_of_a_second_person_begin_a_clause(text: str, actions: dict[int, list[str]]) -> None:
    found: dict[int, list[str]] = {}
    for statement in parse_caption(text, LIBRARY).statements:
        if statement["kind"] == "action":
            found.setdefault(int(statement["actor"]), []).append(str(statement["action"]))
    assert found == actions


def test_the_number_of_people_is_read() -> None:
    counts = {"three people dance": "3", "a group of four people walks": "4", "12 men march": "12"}
    for text, count in counts.items():
        people = [s["value"] for s in parse_caption(text, LIBRARY).statements if s["kind"] == "people" and s["actor"] == -1]
        assert people == [count]
