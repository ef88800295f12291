"""Styles in stories: who has one, what it does to plans, and what captions say of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

from posegen.captions.captions import write_captions
from posegen.captions.segments import BEGUN, find_segments
from posegen.config.schema import Config
from posegen.foundations.bodies import hip_height, leg_height
from posegen.foundations.constants import SPEEDS
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import NOTHING, Persons, Scenes
from posegen.library.load import load_library
from posegen.planning.age_curves import JUMP, RANGE, RUNNING, of_age
from posegen.planning.population import persons
from posegen.planning.repertoire import NO_GAIT, RUN, WALK, repertoire
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests.variants.applied import apply_variant

LIBRARY = load_library()
KNOWN = repertoire(LIBRARY)
STYLES = list(LIBRARY.styles)
SAMPLES = np.arange(400)
WALKING = {"story": {"actions": {"walk": 10, "run": 20}}}
"""Keys of a config in which people walk and run more."""
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
    wanted, styled, plain = (
        LIBRARY.styles[style],
        scenes_of(all_of(style, **WALKING)),
        scenes_of(all_of("neutral", style, **WALKING)),
    )
    first = (slice(None), 0, 0)
    both = (styled.action[first] == plain.action[first]) & (styled.persons.style[:, 0] > 0)
    gait = KNOWN.gait[plain.action[first]]
    scale = [np.sqrt(leg_height(scenes.persons)[:, 0] / 0.9) for scenes in (styled, plain)]
    for kind, least, most in ((WALK, 0.5, 1.9), (RUN, 2.2, 7.0)):
        walks = (
            both & (gait == kind) & (plain.speed[first] / scale[1] * min(wanted.speed, 1) > least) & (plain.speed[first] > 0)
        )
        walks &= plain.speed[first] / scale[1] * wanted.speed < most
        # The curves of a path have a speed of their own.
        walks &= (plain.path[first] == 0) & (styled.path[first] == 0)
        if kind == RUN:
            # Nobody runs faster than the duration of the segment and the age allow.
            seconds = np.minimum((plain.end - plain.start)[first], (styled.end - styled.start)[first])
            fastest = np.minimum(1.24 * seconds, 6.9 * of_age(RUNNING, plain.persons.age[:, 0]) * scale[1])
            walks &= plain.speed[first] * max(wanted.speed, 1) < fastest
        assert walks.sum() > 5
        np.testing.assert_allclose(
            (styled.speed[first] / scale[0])[walks], (plain.speed[first] / scale[1] * wanted.speed)[walks]
        )
    # What is near the end of the clip changes its tempo to end with it.
    earlier = np.maximum(plain.end[first], styled.end[first]) + 2.5 < plain.length / 25
    still = both & earlier & (gait == NO_GAIT) & (plain.action[first] != KNOWN.standing)
    assert still.sum() > 20
    for name, low, high in (("tempo", 0.65, 1.25), ("amplitude", 0.6, 1.2)):
        # Smaller than .55 nobody moves because of its age.
        aging = still & (getattr(plain, name)[first] > 0.5501)
        before = getattr(plain, name)[first][aging] * getattr(wanted, name)
        aged = np.ones(aging.sum())
        if name == "amplitude":
            age = plain.persons.age[:, 0][aging]
            aged = np.where(KNOWN.jumping[plain.action[first][aging]], of_age(JUMP, age), of_age(RANGE, age))
        expected = np.clip(before / aged, low, high)
        expected = np.maximum(expected * aged, np.minimum(expected, 0.55)) if name == "amplitude" else expected
        np.testing.assert_allclose(getattr(styled, name)[first][aging], expected, rtol=1e-6)


def test_speeds_stay_within_what_gaits_allow():
    for style in NAMED:
        scenes = scenes_of(all_of(style))
        used = scenes.action != NOTHING
        gait = np.where(used, KNOWN.gait[scenes.action], NO_GAIT)
        own = scenes.speed / np.sqrt(leg_height(scenes.persons)[..., None] / 0.9)
        for kind, least, most in ((WALK, 0.5, 1.9), (RUN, 2.2, 7.0)):
            slow, fast = (np.where(gait == kind, bound[scenes.action], 0.0) for bound in (KNOWN.slow, KNOWN.fast))
            there = gait == kind
            assert (own[there] >= np.minimum(slow, least)[there] - 1e-5).all()
            assert (own[there] <= np.maximum(fast, most)[there] + 1e-5).all()


def stated_styles(config: Config) -> tuple[list, Scenes]:
    scenes = scenes_of(config)
    return write_captions(scenes, LIBRARY, config, find_segments(scenes, LIBRARY, config.fps)).to_pylist(), scenes


@pytest.mark.parametrize("actors", [1, 2])
def test_captions_tell_a_style_only_of_who_has_it(actors):
    config = Config.model_validate({"story": {"actors": {"min": actors, "max": actors}}})
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
    rows, _ = stated_styles(all_of(style))
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


def test_words_for_speed_are_true_of_the_tired():
    config = all_of("tired", variants={"mirror": False}, **WALKING)
    parameters = draw_parameters(config, SAMPLES)
    for variant in ("base", "speed"):
        scenes = apply_variant(scenes_of(config), variant, parameters)
        facts = find_segments(scenes, LIBRARY, config.fps)
        legs = hip_height(scenes.persons)[:, 0]
        walks = 0
        for i, (first, last) in enumerate(zip(facts.bounds, facts.bounds[1:], strict=False)):
            for row in range(first, last):
                if KNOWN.names[facts.action[row]] == "walk" and facts.change[row] != BEGUN:
                    walks += 1
                    relative = facts.speed[row] / np.sqrt(legs[i] / 0.9)
                    assert SPEEDS[facts.pace[row]] == ("slow" if relative < 0.95 else "fast" if relative > 1.55 else "normal")
        assert walks > 100


def test_mirrored_people_keep_their_style():
    scenes = scenes_of(Config())
    mirrored = apply_variant(scenes, "mirror", draw_parameters(Config(), SAMPLES))
    assert np.array_equal(mirrored.persons.style, scenes.persons.style)
