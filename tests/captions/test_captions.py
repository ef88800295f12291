"""Captions: true for their variant, with the same wording in all variants of a sample, and in correct English."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from posegen.captions.captions import describe_segments, write_captions
from posegen.captions.grammar import KINDS, grammar_of, verb_forms
from posegen.captions.phrases import without_order
from posegen.captions.segments import Facts, find_segments
from posegen.config.schema import Config
from posegen.foundations.constants import SHAPES
from posegen.foundations.skeleton import mirror_name
from posegen.library.load import load_library
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests.variants.applied import apply_variant

LIBRARY = load_library()
COUNT = 400
CONFIGS = {
    "default": {},
    "crowd": {"story": {"actors": {"min": 2, "max": 4}}},
    "cut": {"length": {"min": 20, "max": 150}},
    "children": {"population": {"age": {"min": 6, "max": 20}}},
    "plain": {"captions": {"style": "plain"}},
    "detailed": {"captions": {"style": "detailed"}},
    "kit": {"captions": {"style": "kit"}},
}
OTHER_SIDE = {"left": "right", "leftward": "rightward", "leftwards": "rightwards", "counterclockwise": "clockwise"}
SHAPE_WORDS = {"figure_eight": "figure eight", "back_and_forth": "back and forth"}
SHAPE_WORDS |= {"left_circle": "counterclockwise|circle to the left", "right_circle": r"\bclockwise|circle to the right"}
SHAPE_WORDS |= {f"{side}_diagonal": f"diagonally.* to the {side}" for side in ("left", "right")}
OTHER_SIDE |= {right: left for left, right in OTHER_SIDE.items()}
STEMS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("stems.yaml").read_text("utf-8"))
"""For each action whose captions need not contain its name: a regular expression that they contain."""
COUNTS = {"1": "once|one time", "2": "twice|two times"}
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@cache
def config_of(name):
    return Config.model_validate(CONFIGS[name])


@cache
def scenes_of(name, variant):
    config, samples = config_of(name), np.arange(COUNT)
    return apply_variant(plan_scenes(config, LIBRARY, samples), variant, draw_parameters(config, samples))


@cache
def captions_of(name, variant):
    scenes, config = scenes_of(name, variant), config_of(name)
    return write_captions(scenes, LIBRARY, config, find_segments(scenes, LIBRARY, config.fps)).to_pylist()


def segments_of(name, variant):
    """Return the segments of each actor who is present."""
    scenes, config = scenes_of(name, variant), config_of(name)
    found = describe_segments(scenes, LIBRARY, config, find_segments(scenes, LIBRARY, config.fps)).to_pylist()
    most = scenes.action.shape[1]
    return [found[i * most : i * most + actors] for i, actors in enumerate(scenes.actors.tolist())]


def everything(name):
    return [
        (caption, segments)
        for variant in config_of(name).variants.names
        for row, segments in zip(captions_of(name, variant), segments_of(name, variant), strict=True)
        for caption in row
    ]


configs = pytest.mark.parametrize("name", CONFIGS)


@configs
def test_language(name):
    for caption, _ in everything(name):
        text = caption["text"]
        assert not re.search(r"\b(\w+)[,;.:]? \1\b", text.lower()), text
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou ]", text.lower()), text
        assert not re.search(r"[{}\[\]]|  | [,.;]|^ | $|,,|\.\.", text), text
        sentences = re.split(r"(?<=\.) ", text)
        capital = {sentence[0].isupper() for sentence in sentences}
        assert len(capital) == 1, text
        style = config_of(name).captions.style
        if style != "kit":
            assert capital == {style != "humanml3d" and caption["kind"] != "short"}, text
        assert all(sentence.endswith(".") for sentence in sentences[:-1]), text


@configs
def test_statements_agree_with_the_rows(name):
    for caption, actors in everything(name):
        for claim in caption["statements"]:
            assert list(claim) == ["actor", "kind", "segment", "action", "value"]
            kind, value = claim["kind"], claim["value"]
            if kind == "people":
                assert claim["actor"] >= 0 or value == str(len(actors))
                continue
            if kind == "style" and claim["segment"] < 0:
                continue  # about the person; tests/planning/test_styles.py compares it
            segment = actors[claim["actor"]][claim["segment"]]
            assert claim["action"] == segment["action"]
            if kind == "side":
                # The side of a walk is the foot that makes the first step: tests/checks/test_steps.py compares it.
                assert value == segment["side"] or segment["action"] in ("walk", "walk_backwards")
            elif kind == "count":
                assert value == str(segment["repetitions"])
            elif kind == "order":
                relation, other = value.split()
                before = actors[claim["actor"]][int(other)]
                if relation == "after":
                    assert before["end"] <= segment["start"] + 1 or before["start"] < segment["start"]
                else:
                    assert before["start"] <= segment["start"] < before["end"]
            elif kind == "path":
                turned = segment["turn"]
                shapes = {"left_circle": turned > 350, "right_circle": turned < -350, "figure_eight": abs(turned) < 1}
                curves = {"straight": turned == 0, "left": turned > 35, "right": turned < -35}
                assert value in SHAPES[3:] or (curves | shapes)[value]
            elif kind == "direction":
                size = abs(segment["turn"])
                assert size > 150 if value == "around" else (segment["turn"] > 0) == (value == "left")
            elif kind in ("speed", "style"):
                assert segment["speed"] > 0
            elif kind == "degrees":
                assert abs(abs(segment["turn"]) - int(value)) < 30
            elif kind in ("steps", "return"):
                pytest.fail("without joints, no steps are counted")
            elif kind == "partner":
                assert value == str(1 - claim["actor"])
            else:
                assert kind == "action"


@configs
def test_words_agree_with_the_statements(name):
    for caption, actors in everything(name):
        text = caption["text"].lower()
        stated = Counter(claim["kind"] for claim in caption["statements"])
        assert stated["action"] or not any(s["action"] != "stand" for segments in actors for s in segments), caption
        for claim in caption["statements"]:
            value = claim["value"]
            if claim["kind"] == "action":
                assert re.search(STEMS.get(claim["action"], claim["action"]), text)
            elif claim["kind"] in ("side", "direction") or (claim["kind"] == "path" and value != "straight"):
                assert re.search(SHAPE_WORDS.get(value, rf"\b{value}"), text)
            elif claim["kind"] == "steps":
                number = value if config_of(name).captions.style == "kit" else NUMBERS[int(value)]
                assert re.search("a step" if value == "1" else f"{number} steps", text)
            elif claim["kind"] == "return":
                assert re.search("back to" if value == "there" else r"\bback\b", text)
            elif claim["kind"] == "count":
                assert re.search(COUNTS.get(value, f"({value}|{NUMBERS[int(value)]}) times"), text)
        if not stated["side"] and not stated["direction"] and not stated["path"]:
            assert not re.search(r"\b(left|right)", text)
        if not stated["count"]:
            assert not re.search(r"\b(once|twice|times|one time)\b", text)
        if not stated["speed"]:
            assert not re.search(
                r"\b(slow|slowly|briskly|quickly|quick|fast|pace|strol\w+|jog\w*(?! in| on)\b|rac(es?|ing))\b", text
            )


def test_kinds_differ_in_detail():
    rows = captions_of("default", "base")
    assert all([caption["kind"] for caption in row] == list(KINDS) for row in rows)
    assert sum(len({caption["text"].lower().rstrip(".") for caption in row}) == 3 for row in rows) > 0.95 * COUNT
    short, full = (np.mean([len(row[i]["text"].split()) for row in rows]) for i in (0, 1))
    assert 4 < short < full < 25


@configs
def test_mirror_states_the_other_side(name):
    for base, mirrored in zip(captions_of(name, "base"), captions_of(name, "mirror"), strict=True):
        for caption, other in zip(base, mirrored, strict=True):
            assert len(caption["statements"]) == len(other["statements"])
            for claim, swapped in zip(caption["statements"], other["statements"], strict=True):
                expected = claim["value"]
                if claim["kind"] in ("side", "direction", "path"):
                    expected = mirror_name(expected)
                assert swapped == claim | {"value": expected}
            words, swapped_words = (re.findall(r"\w+", c["text"]) for c in (caption, other))
            assert [OTHER_SIDE.get(word, word) for word in words] == swapped_words


def test_position_changes_no_word_and_speed_some():
    base = captions_of("default", "base")
    assert captions_of("default", "position") == base
    texts = [[row[1]["text"] for row in rows] for rows in (base, captions_of("default", "speed"))]
    changed = [a != b for a, b in zip(*texts, strict=True)]
    assert 0.1 < np.mean(changed) < 0.95


def test_children_are_boys_and_girls():
    people = scenes_of("children", "base").persons
    counted = Counter()
    for row, male, age in zip(captions_of("children", "base"), people.male[:, 0], people.age[:, 0], strict=True):
        who = {claim["value"] for caption in row for claim in caption["statements"] if claim["kind"] == "people"} - {"1"}
        assert who <= {("boy" if male else "girl") if age < 16 else ("man" if male else "woman")}
        for word in who:
            counted[word] += 1
            assert any(re.search(rf"\b{word}\b", caption["text"]) for caption in row)
    assert min(counted[word] for word in ("boy", "girl", "man", "woman")) > 5


@pytest.mark.parametrize("action", LIBRARY.actions)
def test_every_action_has_words(action):
    grammar = grammar_of(LIBRARY)
    verbs = LIBRARY.words["actions"][action]["verbs"]
    facts = Facts(LIBRARY.index(action))
    clauses = [grammar.clause(facts, kind, choice) for choice in range(64) for kind in ("short", "narrative")]
    for clause in clauses:
        does, doing, did, do = clause.texts
        assert does.split()[0].endswith("s")
        assert doing.split()[0].endswith("ing")
        assert does != doing != did
        assert does.split()[0].startswith(do.split()[0][:2])
        assert clause.claims == (("action", ""),)
    if not LIBRARY.words["actions"][action].get("together"):
        assert len({clause.texts for clause in clauses}) > 1
        assert len(set(verbs)) > 1


def test_no_two_actions_share_a_wording():
    verbs = Counter()
    for name in LIBRARY.actions:
        words = LIBRARY.words["actions"][name]
        own = {*words["verbs"], *words.get("together", []), *words.get("once", []), *words.get("finished", [])}
        own |= {*words.get("stopped", [])}
        own |= {verb for key in ("speed_verbs", "side_verbs") for kind in words.get(key, {}).values() for verb in kind}
        verbs.update({form for verb in own for form in verb_forms(verb, tuple(LIBRARY.words["forms"]))})
    assert [form for form, count in verbs.items() if count > 1] == []


def test_phrases_of_two_actions_are_listed_last():
    """In "walking while waving and kicking", one would walk while kicking, too."""
    grammar = grammar_of(LIBRARY)
    walk, kick, on = (
        (("walks",), " while waving", 0, "walk", []),
        (("kicks",), "", 1, "kick", []),
        (grammar.continues[0], "", 2, "walk", []),
    )
    assert without_order(grammar, [walk, kick]) == [kick, walk]
    assert without_order(grammar, [kick, walk]) == [kick, walk]
    assert without_order(grammar, [walk, on, kick]) == [walk, on, kick]  # what continues stays behind what it continues


@pytest.mark.parametrize("action", ["jump", "wave", "squat"])
def test_a_count_is_that_of_one_event(action):
    """Two jumps, once each, are not described as jumping once."""
    others = dict.fromkeys((name for name in LIBRARY.actions if name != action), 0.0)
    themes = {name: 1.0 for name, theme in LIBRARY.themes.items() if action in theme.actions}
    config = Config.model_validate({"story": {"actions": others, "themes": themes}})
    scenes = plan_scenes(config, LIBRARY, np.arange(60))
    segments = find_segments(scenes, LIBRARY, config.fps)
    rows = describe_segments(scenes, LIBRARY, config, segments).to_pylist()
    followed = 0
    for captions, own in zip(write_captions(scenes, LIBRARY, config, segments).to_pylist(), rows, strict=True):
        done = [k for k, row in enumerate(own) if row["action"] == action and row["repetitions"]]
        for caption in captions:
            claims = {(s["kind"], s["segment"]) for s in caption["statements"]}
            counted = [other for one, other in pairwise(done) if ("count", one) in claims]
            assert all(("action", other) in claims for other in counted), caption["text"]
            followed += len(counted)
    assert followed > 5
