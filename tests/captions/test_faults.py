"""Faults of captions that people noticed: none has a successor. Each pattern stands for one kind of them."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest

from benchmarks.story.likeness import HUMANML3D, shares
from posegen.captions.captions import write_captions
from posegen.captions.segments import find_segments
from posegen.config.schema import Config
from posegen.library.load import load_library
from posegen.planning.scenes import plan_scenes

STYLES = ("humanml3d", "kit", "plain", "detailed")
FAULTS = {
    "a run without flight": r"\brun\w* without",
    "a walk that only starts for most of the clip": r"\bstart\w* to walk .*(starts?|began|begins?) to walk",
    "standing beside an arm action": r"\bst(and|ood|ay)\w* (upright|in place|in position|there|in a relaxed)",
    "a climb that goes nowhere": r"imaginary",
    "wobbling along": r"\b(wobbl|lurch)\w* along",
    "swivels, pivots, rotates": r"\b(swivel|pivot|rotat)",
    "a tautology": r"retreat\w* backwards",
    "a rare word of haste or feeling": r"\b(low spirits|downcast|dejected)",
    "an unclear meanwhile": r"\bmeanwhile\b|at the same time|while also",
    "a halt in stiff words": r"come\w* to a halt",
    "backing up": r"\bback(s|ed|ing) (up|away)\b",
    "a chain of followed by": r"followed by",
    "degrees that nobody sees": r"\babout \d+ degrees before",
    "turning the body left slightly": r"turn\w* (their|his|her) body (left|right) slightly before",
    "pausing between two actions": r"\bpaus\w+",
    "feeling the head": r"\bf(eel|elt)\w* (their|his|her) head",
    "a load that nobody sees": r"\bload\b|heavy in both",
    "fields and grounders": r"\bground(er| ball)",
    "playing at flying": r"play\w* at flying|\bmim(e|ing)",
    "a match or a game as a place": r"at an? \w+ (match|game)",
    "warming hands": r"\bwarm\w* (their|his|her) hands",
    "a military salute": r"military salute",
    "studying or paging": r"pag(es|ing|ed) through",
    "having a seat": r"\bha(s|ving|d|ve) a seat",
    "standing crunches": r"crunch",
    "the weight on a leg": r"weight on the (left|right)",
    "a limb on a side": r"\b(leg|knee|arm|foot) on the (left|right)",
    "answering blows": r"blows of the other",
    "can be seen": r"can be seen",
    "a past that nobody asked for": r"\b(was|were) \w+ing\b",
}


@cache
def captions_of(style: str) -> list[tuple[str, str]]:
    """Return kind and text of the captions of some samples of one person."""
    library, config = load_library(), Config.model_validate({"captions": {"style": style}})
    scenes = plan_scenes(config, library, np.arange(400))
    rows = write_captions(scenes, library, config, find_segments(scenes, library, config.fps)).to_pylist()
    return [(caption["kind"], caption["text"]) for row in rows for caption in row]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_caption_has_a_known_fault(fault: str, style: str) -> None:
    found = [text for _, text in captions_of(style) if re.search(FAULTS[fault], text.lower())]
    # Waiting is all that some clips show.
    most = 0.02 * len(captions_of(style)) if fault == "pausing between two actions" else 0
    assert len(found) <= most, found[:3]


@pytest.mark.parametrize("style", STYLES)
def test_a_full_caption_is_short_enough_to_be_read(style: str) -> None:
    long = [text for kind, text in captions_of(style) if kind == "full" and len(text.split()) > 25]
    assert long == []


@pytest.mark.parametrize("style", STYLES)
def test_captions_are_in_the_present(style: str) -> None:
    past = [
        text for _, text in captions_of(style) if re.search(r"\b(walked|turned|raised|jumped|ran|sat|took|was|were)\b", text)
    ]
    assert len(past) < 0.1 * len(captions_of(style))
    assert style == "humanml3d" or past == []


def test_shares_are_near_those_of_humanml3d() -> None:
    """The benchmark measures them on more captions, with the joints, and within less; steps and ways back need joints."""
    found = shares([text for _, text in captions_of("humanml3d")])
    measured = {name: share for name, share in HUMANML3D.items() if name not in ("counted steps", "back, returns")}
    assert {name: (round(found[name], 2), share) for name, share in measured.items() if abs(found[name] - share) > 0.1} == {}


def test_a_style_is_data() -> None:
    library = load_library()
    assert tuple(sorted(library.words["caption_styles"])) == tuple(sorted(STYLES))
    texts = {style: json.dumps(captions_of(style)) for style in STYLES}
    assert len(set(texts.values())) == len(STYLES)
