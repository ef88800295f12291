"""Captions: true of the variant that they are for, worded alike for all variants of a sample, and sound English."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

from posegen.config import Config
from posegen.library import load_library
from posegen.story.captions import KINDS, captions
from posegen.story.grammar import CHOICES, Facts, grammar_of
from posegen.story.planning import plan
from posegen.story.telling import visible_segments
from posegen.story.variants import apply_variant, variant_names, variant_parameters

LIBRARY = load_library()
COUNT = 400
CONFIGS = {
    "default": {},
    "crowd": {"story": {"actors": {"min": 2, "max": 4}}},
    "cut": {"length": {"min": 20, "max": 150}},
}
OTHER_SIDE = {"left": "right", "right": "left"}
STEMS = {
    "sit": "sit|seat",
    "stand": "stand|wait",
    "jump": "jump|leap",
    "wave": "wav",
    "walk": "walk|goes on|going",
    "talk": "talk|explain",
    "shout": "shout|call",
    "salute": "salut",
    "celebrate": "celebrat|cheer|pump",
    "cry": "cries|crying|weep",
    "drinking": "drink",
    "eating": "eat",
    "reading": "read",
    "typing": "types|typing",
    "handshake": "hands",
    "hug": "hug|arms around",
    "high_five": "high five",
    "looking_around": "look",
    "walk_backwards": "back",
    "side_step": "side",
    "sneak": "sneak|tiptoe|creep",
    "limp": "limp|hobbl",
    "carry": "carries|carrying",
    "pull": "pull|dragging",
    "sprint": "sprint|dash",
    "running_bases": "rounds|rounding",
    "hop": "hop",
    "skip": "skip",
    "stairs_up": "stairs|steps",
    "stairs_down": "stairs|steps",
    "dribbling": "dribbl|bounc",
    "lunge": "lung",
    "jumping_jack": "jumping jack|star jump",
    "kneel": "kneel|knees",
    "crouch": "crouch|duck",
    "crawling": "crawl",
    "lie_down": "lies|lying",
    "throwing": "throw",
    "pitching": "pitch",
    "kicking": "football|ball",
    "catching": "catch",
    "fielding": "field|scoop",
    "shooting": "basket|jump shot",
    "batting": "bat",
    "fight": "fight|shadow-box",
    "fight_stance": "fight",
    "dodge": "dodg|duck",
    "pick_up": "pick",
    "put_down": "puts|putting|sets|setting",
    "swimming": "swim|breaststroke",
    "flying": "fl(y|ies)",
    "climbing": "climb",
    "dance": "danc|music",
    "salsa": "salsa",
    "ballet": "ballet|arabesque",
    "arm_circles": "arm",
    "elbow_to_knee": "elbow|crunch",
    "reach": "reach",
}
COUNTS = {"1": "once|takes? a bow|taking a bow|a squat", "2": "twice|two times"}
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@cache
def config_of(name):
    return Config.model_validate(CONFIGS[name])


@cache
def scenes_of(name, variant):
    config, samples = config_of(name), np.arange(COUNT)
    return apply_variant(plan(config, LIBRARY, samples), variant, variant_parameters(config, samples))


@cache
def captions_of(name, variant):
    return captions(scenes_of(name, variant), LIBRARY, config_of(name))


def everything(name):
    return [
        (caption, segments)
        for variant in variant_names(config_of(name))
        for row, segments in zip(
            captions_of(name, variant),
            visible_segments(scenes_of(name, variant), LIBRARY, config_of(name).fps),
            strict=True,
        )
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
        if caption["kind"] == "narrative":
            assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in sentences), text
        else:
            assert text[0].islower(), text


@configs
def test_statements_are_what_the_rows_say(name):
    for caption, actors in everything(name):
        for claim in caption["statements"]:
            assert list(claim) == ["actor", "kind", "segment", "action", "value"]
            kind, value = claim["kind"], claim["value"]
            if kind == "people":
                assert claim["actor"] >= 0 or value == str(len(actors))
                continue
            if kind == "style" and claim["segment"] < 0:
                continue  # of the person; tests/story/test_styles.py compares it
            segment = actors[claim["actor"]][claim["segment"]]
            assert claim["action"] == segment["action"]
            if kind == "side":
                assert value == segment["side"]
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
                assert {"straight": segment["turn"] == 0, "left": segment["turn"] > 35, "right": segment["turn"] < -35}[value]
            elif kind == "direction":
                size = abs(segment["turn"])
                assert size > 150 if value == "around" else (segment["turn"] > 0) == (value == "left")
            elif kind in ("speed", "style"):
                assert segment["speed"] > 0
            else:
                assert kind == "action"


@configs
def test_words_are_what_the_statements_say(name):
    for caption, actors in everything(name):
        text = caption["text"].lower()
        told = Counter(claim["kind"] for claim in caption["statements"])
        assert told["action"] or not any(s["action"] != "stand" for segments in actors for s in segments), caption
        for claim in caption["statements"]:
            value = claim["value"]
            if claim["kind"] == "action":
                assert re.search(STEMS.get(claim["action"], claim["action"]), text)
            elif claim["kind"] in ("side", "direction") or (claim["kind"] == "path" and value != "straight"):
                assert re.search(rf"\b{value}\b", text)
            elif claim["kind"] == "count":
                assert re.search(COUNTS.get(value, f"{NUMBERS[int(value)]} times"), text)
        if not told["side"] and not told["direction"] and not told["path"]:
            assert not re.search(r"\b(left|right)\b", text)
        if not told["count"]:
            assert not re.search(r"\b(once|twice|times)\b", text)
        if not told["speed"]:
            assert not re.search(r"\b(slow|slowly|briskly|quickly|fast|pace)\b", text)


def test_kinds_differ_and_detail_grows():
    rows = captions_of("default", "base")
    assert all([caption["kind"] for caption in row] == list(KINDS) for row in rows)
    assert sum(len({caption["text"].lower().rstrip(".") for caption in row}) == 3 for row in rows) > 0.95 * COUNT
    short, full = (np.mean([len(row[i]["text"].split()) for row in rows]) for i in (0, 1))
    assert 4 < short < full < 25


@configs
def test_mirror_says_the_other_side(name):
    for base, mirrored in zip(captions_of(name, "base"), captions_of(name, "mirror"), strict=True):
        for caption, other in zip(base, mirrored, strict=True):
            assert len(caption["statements"]) == len(other["statements"])
            for claim, swapped in zip(caption["statements"], other["statements"], strict=True):
                expected = claim["value"]
                if claim["kind"] in ("side", "direction", "path"):
                    expected = OTHER_SIDE.get(expected, expected)
                assert swapped == claim | {"value": expected}
            words, swapped_words = (re.findall(r"\w+", c["text"]) for c in (caption, other))
            assert [OTHER_SIDE.get(word, word) for word in words] == swapped_words


def test_position_changes_no_word_and_speed_some():
    base = captions_of("default", "base")
    assert captions_of("default", "position") == base
    texts = [[row[1]["text"] for row in rows] for rows in (base, captions_of("default", "speed"))]
    changed = [a != b for a, b in zip(*texts, strict=True)]
    assert 0.1 < np.mean(changed) < 0.95


def test_captions_do_not_depend_on_company():
    config = config_of("default")
    some = captions(plan(config, LIBRARY, [17, 5]), LIBRARY, config)
    assert some == [captions_of("default", "base")[17], captions_of("default", "base")[5]]


def test_variety():
    texts = {caption["text"] for row in captions_of("default", "base") for caption in row}
    assert len(texts) > 0.85 * 3 * COUNT
    words = {word for text in texts for word in re.findall(r"\w+", text.lower())}
    assert len(words) > 90


def test_every_number_of_people_is_spelt_right():
    for row, actors in zip(captions_of("crowd", "base"), scenes_of("crowd", "base").actors.tolist(), strict=True):
        assert ["", "", "two", "three", "four"][actors] in row[2]["text"].lower().split()


@pytest.mark.parametrize("action", LIBRARY.actions)
def test_every_action_has_words(action):
    grammar = grammar_of(LIBRARY)
    clauses = [grammar.clause(Facts(LIBRARY.index(action)), "none", choice) for choice in range(CHOICES)]
    for clause in clauses:
        assert clause.does.split()[0].endswith("s")
        assert clause.doing.split()[0].endswith("ing")
        assert clause.claims == (("action", ""),)
    assert len({clause.does for clause in clauses}) == len(LIBRARY.words["actions"][action]["verbs"])


def test_all_wordings_of_a_rich_clause_are_reached():
    facts = Facts(LIBRARY.index("walk"), pace=1, path=2)
    grammar = grammar_of(LIBRARY)
    words = LIBRARY.words["actions"]["walk"]
    possible = len(words["speed"]["slow"]) * len(words["path"]["left"])
    assert len({grammar.clause(facts, "all", choice).does for choice in range(CHOICES)}) == possible
