"""Styles in stories: who has one, what it does to plans, and what captions say of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

from posegen.captions.captions import write_captions
from posegen.captions.segments import find_segments
from posegen.config.schema import Config
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import Persons, Scenes
from posegen.library.load import load_library
from posegen.planning.population import persons
from posegen.planning.repertoire import NO_GAIT, WALK, repertoire
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests.variants.applied import apply_variant

LIBRARY = load_library()
KNOWN = repertoire(LIBRARY)
STYLES = list(LIBRARY.styles)
SAMPLES = np.arange(400)
WALKING = {"story": {"actions": {"walk": 10, "run": 20}}}
"""Keys of a config in which people walk and run more."""
DETAILED = {"style": "detailed"}
"""Captions that state a style often enough to be counted."""
NAMED = [name for name in STYLES if name != "neutral"]
SAID = {
    phrase
    for words in LIBRARY.words["styles"].values()
    for phrases in (words["manner"], *words["subjects"].values())
    for phrase in phrases
}


def config_of(**population: object) -> Config:
    return Config.model_validate({"population": population})


def all_of(style: str, age: str = "", **others: object) -> Config:
    """Everybody of one style; of an age at which there is the style `age`, or else this one."""
    ages = {"age": {"min": 70, "max": 70}} if LIBRARY.styles[age or style].from_age else {}
    return Config.model_validate({"population": {"styles": {style: 1}} | ages, **others})


def scenes_of(config: Config) -> Scenes:
    return plan_scenes(config, LIBRARY, SAMPLES)


def test_shares_are_those_of_the_config():
    config = Config()
    crowd = persons(config, LIBRARY, np.arange(40_000))
    ages = crowd.age[:4000].astype(np.float64)
    wanted = np.zeros(len(STYLES))
    for age in ages:
        weights = np.array(
            [
                config.population.styles[name] * (max(age - style.from_age, 0) / 10 if style.from_age else 1)
                for name, style in LIBRARY.styles.items()
            ]
        )
        wanted += weights / weights.sum()
    found = np.bincount(crowd.style, minlength=len(STYLES)) / len(crowd.style)
    np.testing.assert_allclose(found, wanted / len(ages), atol=0.008)
    assert 0.55 < found[0] < 0.65


def test_old_comes_with_the_years():
    old = STYLES.index("old")
    crowd = persons(config_of(age={"min": 18, "max": 90}), LIBRARY, np.arange(40_000))
    assert not (crowd.style[crowd.age < 60] == old).any()
    shares = [(crowd.style[(crowd.age >= low) & (crowd.age < low + 10)] == old).mean() for low in (60, 70, 80)]
    assert 0.05 < shares[0] < shares[1] - 0.05 < shares[2] - 0.1


def test_who_may_not_have_it_is_neutral():
    crowd = persons(config_of(styles={"old": 1}, age={"min": 20, "max": 50}), LIBRARY, np.arange(100))
    assert (crowd.style == 0).all()


def test_unknown_styles_are_refused():
    config = config_of(styles={"grumpy": 1, "neutral": 1})
    with pytest.raises(UsageError, match=r"population\.styles\.grumpy: unknown style"):
        persons(config, LIBRARY, np.arange(3))


def test_a_style_changes_nothing_else_of_a_person():
    plain, styled = (persons(config, LIBRARY, np.arange(500)) for config in (all_of("neutral"), Config()))
    for field in fields(Persons):
        if field.name != "style":
            assert np.array_equal(getattr(plain, field.name), getattr(styled, field.name))


def test_neutral_plans_do_not_depend_on_the_others():
    plain, mixed = scenes_of(all_of("neutral")), scenes_of(Config())
    same = mixed.persons.style[:, 0] == 0
    assert 0.5 < same.mean() < 0.7
    for field in fields(Scenes):
        if field.name != "persons":
            one, other = getattr(plain, field.name)[same], getattr(mixed, field.name)[same]
            slots = min(one.shape[-1], other.shape[-1]) if one.ndim == 3 and field.name != "steps" else None
            if slots is None or one.shape == other.shape:
                assert np.array_equal(one, other), field.name


@pytest.mark.parametrize("style", NAMED)
def test_tempo_amplitude_and_speed_follow_the_style(style):
    target = LIBRARY.styles[style]
    styled, plain = scenes_of(all_of(style, **WALKING)), scenes_of(all_of("neutral", style, **WALKING))
    first = (slice(None), 0, 0)
    both = (styled.action[first] == plain.action[first]) & (styled.persons.style[:, 0] > 0)
    gait = KNOWN.gait[plain.action[first]]
    for name, chosen in (("speed", gait == WALK), ("tempo", gait == NO_GAIT), ("amplitude", gait == NO_GAIT)):
        one, other = (getattr(scenes, name)[first][both & chosen] for scenes in (styled, plain))
        assert len(one) > 5
        # Limits of gaits and of bodies, and the end of the clip, keep some nearer to the neutral style.
        assert np.median(one / other) == pytest.approx(getattr(target, name), abs=0.05)


def stated_styles(config: Config) -> tuple[list, Scenes]:
    scenes = scenes_of(config)
    return write_captions(scenes, LIBRARY, config, find_segments(scenes, LIBRARY, config.fps)).to_pylist(), scenes


@pytest.mark.parametrize("actors", [1, 2])
def test_captions_tell_a_style_only_of_who_has_it(actors):
    config = Config.model_validate({"story": {"actors": {"min": actors, "max": actors}}, "captions": DETAILED})
    rows, scenes = stated_styles(config)
    ways: Counter[bool] = Counter()
    for row, styles in zip(rows, scenes.persons.style.tolist(), strict=True):
        for caption in row:
            claims = [claim for claim in caption["statements"] if claim["kind"] == "style"]
            assert len({claim["actor"] for claim in claims}) == len(claims)  # once for each
            assert all(STYLES[styles[claim["actor"]]] == claim["value"] for claim in claims)
            ways.update(claim["segment"] < 0 for claim in claims)
            if not claims:
                assert not any(phrase in caption["text"].lower() for phrase in SAID), caption["text"]
    assert min(ways.values()) > 10
    assert len(ways) == (2 if actors == 1 else 1)


@pytest.mark.parametrize("style", NAMED)
def test_styles_have_words_that_vary(style):
    rows, _ = stated_styles(all_of(style, captions=DETAILED))
    said = {
        caption["text"].lower() for row in rows for caption in row if any(c["kind"] == "style" for c in caption["statements"])
    }
    assert 0.1 * 3 * len(rows) < len(said) < 0.6 * 3 * len(rows)
    words = LIBRARY.words["styles"][style]
    used = [phrase for phrase in words["manner"] if any(phrase in text for text in said)]
    assert used == words["manner"]
    for who, subjects in words["subjects"].items():
        for subject in subjects:
            assert subject.split()[0] == ("an" if subject.split()[1][0] in "aeiou" else "a"), subject
            assert who == "person" or subject.endswith(who.removeprefix("older_"))
    for text in said:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou ]", text), text


def test_a_style_is_mentioned_only_where_it_is_visible():
    config = Config.model_validate(
        {"population": {"styles": {"sad": 1}}, "story": {"actions": {"walk": 0, "run": 0, "stand": 0}}}
    )
    rows, scenes = stated_styles(config)
    facts = find_segments(scenes, LIBRARY, config.fps)
    upright = [KNOWN.gait[a] != NO_GAIT or a == KNOWN.standing for a in range(len(KNOWN.names))]
    unseen = 0
    for i, row in enumerate(rows):
        seen = any(upright[a] for a in facts.action[facts.bounds[i] : facts.bounds[i + 1]])
        unseen += not seen
        if not seen:
            assert not any(claim["kind"] == "style" for caption in row for claim in caption["statements"])
    assert unseen > 20


def test_mirrored_people_keep_their_style():
    scenes = scenes_of(Config())
    mirrored = apply_variant(scenes, "mirror", draw_parameters(Config(), SAMPLES))
    assert np.array_equal(mirrored.persons.style, scenes.persons.style)
