"""Rules: each is read; published orders of magnitude of age, and that plans keep to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from posegen.config.schema import Config
from posegen.foundations.bodies import leg_height
from posegen.foundations.constants import AVERAGE_LEG
from posegen.library.load import load_library
from posegen.planning import rules
from posegen.planning.repertoire import RUN, WALK, repertoire
from posegen.planning.rules import RULES, of_age
from posegen.planning.scenes import plan_scenes

LIBRARY = load_library()
KNOWN = repertoire(LIBRARY)


def test_every_rule_is_read() -> None:
    """A rule that no module reads is misspelled, or of no use."""
    code = "".join(file.read_text(encoding="utf-8") for file in Path(rules.__file__).parent.glob("*.py"))
    names = {name for section in vars(RULES).values() for name in vars(section)}
    assert {name for name in names if f".{name}" not in code} == set()


@pytest.mark.parametrize(
    ("curve", "age", "low", "high"),
    [
        (RULES.age.walking, 45, 0.98, 1.0),
        (RULES.age.walking, 85, 0.64, 0.72),  # .94 of 1.43 m/s from 80 on
        (RULES.age.running, 30, 1.0, 1.0),
        (RULES.age.running, 70, 0.65, 0.75),
        (RULES.age.jump, 70, 0.45, 0.55),
        (RULES.age.tempo, 70, 0.8, 0.9),
        (RULES.age.range, 75, 0.85, 0.95),
    ],
)
def test_curves_are_those_published(curve, age, low, high):
    assert low <= of_age(curve, np.array([age]))[0] <= high


@pytest.mark.parametrize("curve", [RULES.age.walking, RULES.age.running, RULES.age.jump, RULES.age.range, RULES.age.tempo])
def test_adults_decline_without_jumps(curve):
    ages = np.arange(20, 100, 0.5)
    change = np.diff(of_age(curve, ages))
    assert (change <= 1e-12).all()
    assert change.min() > -0.02


def planned(age):
    config = Config.model_validate({"population": {"age": {"min": age, "max": age + 1}, "styles": {"neutral": 1}}})
    return plan_scenes(config, LIBRARY, np.arange(1500))


def values(scenes, name, chosen):
    return getattr(scenes, name)[(scenes.action >= 0) & chosen[np.maximum(scenes.action, 0)]]


def test_old_people_walk_slower_and_do_not_sprint_like_young_ones():
    young, old = planned(25), planned(70)
    for scenes, age in ((young, 25), (old, 70)):
        limit = (
            RULES.age.top_speed
            * of_age(RULES.age.running, np.array(age))
            * np.sqrt(leg_height(scenes.persons).max() / AVERAGE_LEG)
        )
        assert values(scenes, "speed", KNOWN.gait == RUN).max() <= limit
    assert values(old, "speed", KNOWN.gait == RUN).max() < 5.5 < values(young, "speed", KNOWN.gait == RUN).max()
    walk = np.arange(len(KNOWN.names)) == KNOWN.names.index("walk")
    assert walk[KNOWN.gait == WALK].any()
    ratio = values(old, "speed", walk).mean() / values(young, "speed", walk).mean()
    assert ratio == pytest.approx(0.88, abs=0.04)


def test_jumps_of_old_people_are_lower():
    young, old = (values(planned(age), "amplitude", KNOWN.jumping).mean() for age in (25, 70))
    assert 0.5 < old / young < 0.7


def test_runs_are_as_fast_as_the_room_allows():
    scenes = planned(25)
    running = (scenes.action >= 0) & (KNOWN.gait[np.maximum(scenes.action, 0)] == RUN)
    # The legs of a path are one run: only runs that start and stop are compared.
    again = np.zeros_like(running)
    again[..., 1:] = scenes.action[..., 1:] == scenes.action[..., :-1]
    again[..., :-1] |= again[..., 1:]
    running &= ~again
    assert running.sum() > 50
    seconds = (scenes.end - scenes.start)[running]
    assert (scenes.speed[running] <= np.maximum(1.25 * seconds, 2.2) + 1e-3).all()
