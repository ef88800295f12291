"""The population: a person is a function of the seed and its own number."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.config.schema import Config
from posegen.foundations.bodies import body_offsets, leg_height, seat_height
from posegen.foundations.scene import Persons
from posegen.foundations.skeleton import JOINTS, SHAPE
from posegen.library.load import load_library
from posegen.planning.population import persons

CONFIG = Config()
LIBRARY = load_library()
CROWD = persons(CONFIG, LIBRARY, np.arange(20_000))


@given(st.lists(st.integers(0, 19_999), min_size=1, max_size=6))
@settings(max_examples=30)
def test_a_person_is_the_same_in_any_company(numbers):
    company = persons(CONFIG, LIBRARY, np.array([numbers]))
    for field in fields(Persons):
        found = getattr(company, field.name)
        assert found.shape[:2] == (1, len(numbers))
        assert np.array_equal(found[0], getattr(CROWD, field.name)[numbers])


def test_shares_and_sizes():
    assert abs(CROWD.male.mean() - 0.5) < 0.02
    assert abs(CROWD.left_handed.mean() - 0.1) < 0.01
    for male, mean, spread in ((True, 1.759, 0.067), (False, 1.618, 0.063)):
        statures = CROWD.stature[CROWD.male == male]
        assert abs(statures.mean() - mean) < 0.004
        assert abs(statures.std() - spread) < 0.003
        assert np.abs(statures - mean).max() <= 2.5 * spread + 1e-6
    assert np.abs(CROWD.shape.mean(0) - 1).max() < 0.002
    assert CROWD.age.min() >= 18
    assert CROWD.age.max() <= 75
    assert np.abs(CROWD.energy).max() <= 1
    assert CROWD.energy[CROWD.age > 65].mean() < CROWD.energy[CROWD.age < 30].mean()


def test_proportions_vary_and_correlate_as_in_anthropometry():
    # ANSUR II (Gordon et al. 2014), lengths as shares of stature, within a sex; spreads in percent.
    spreads = {"thigh": 3.3, "shank": 3.3, "trunk": 3.2, "upper_arm": 3.3, "forearm": 4.3, "shoulders": 4.2}
    correlations = {
        ("thigh", "shank"): 0.37,
        ("thigh", "trunk"): -0.42,
        ("shank", "trunk"): -0.57,
        ("thigh", "upper_arm"): 0.34,
        ("shank", "forearm"): 0.47,
        ("upper_arm", "forearm"): 0.34,
        ("trunk", "forearm"): -0.45,
        ("shoulders", "hips"): 0.19,
    }
    men = {name: CROWD.shape[CROWD.male, i] for i, name in enumerate(SHAPE)}
    for name, spread in spreads.items():
        assert abs(100 * men[name].std() - spread) < 0.15, name
    for (one, other), published in correlations.items():
        assert abs(np.corrcoef(men[one], men[other])[0, 1] - published) < 0.03, (one, other)
    # The ratios of thigh to shank and of upper arm to forearm vary by 3.6 and 4.1 percent among men, 3.8 and 4.7 among women.
    for (one, other), published in {("thigh", "shank"): 3.7, ("upper_arm", "forearm"): 4.4}.items():
        ratio = men[one] / men[other]
        assert abs(100 * ratio.std() / ratio.mean() - published) < 0.3
    # Men have 5.5 percent broader shoulders, women 7 percent broader hips for their stature.
    by_sex = [CROWD.shape[CROWD.male == male].mean(0) for male in (True, False)]
    ratio = dict(zip(SHAPE, by_sex[0] / by_sex[1], strict=True))
    assert abs(ratio["shoulders"] - 1.055) < 0.005
    assert abs(ratio["hips"] - 0.935) < 0.005


def test_children_grow_up():
    config = Config.model_validate({"population": {"age": {"min": 6, "max": 30}}})
    people = persons(config, LIBRARY, np.arange(40_000))
    for male, statures in (
        (True, {6: 1.16, 8: 1.28, 10: 1.39, 13: 1.56, 17: 1.75}),
        (False, {6: 1.15, 9: 1.33, 12: 1.51, 16: 1.62}),
    ):
        for age, stature in statures.items():
            near = (people.male == male) & (np.abs(people.age - age) < 0.5)
            assert abs(people.stature[near].mean() - stature) < 0.03, (male, age)
    assert np.ptp([people.stature[(people.age > a) & (people.age < a + 1)].mean() for a in range(18, 30)]) < 0.02
    assert abs(people.legs[people.age < 8].mean() - 0.957) < 0.01
    assert abs(people.legs[people.age > 12].mean() - 1) < 0.002
    same = persons(Config.model_validate({"population": {"age": {"min": 18, "max": 18}}}), LIBRARY, np.arange(500))
    child = persons(Config.model_validate({"population": {"age": {"min": 7, "max": 7}}}), LIBRARY, np.arange(500))
    assert np.corrcoef(same.stature[same.male], child.stature[same.male])[0, 1] > 0.999  # who will be tall is tall


def test_config_sets_the_shares():
    config = Config.model_validate({"population": {"female": 1.0, "left_handed": 0.0, "age": {"min": 30, "max": 40}}})
    people = persons(config, LIBRARY, np.arange(500))
    assert not people.male.any()
    assert not people.left_handed.any()
    assert people.age.min() >= 30
    assert people.age.max() <= 40


def test_legs_and_seats():
    assert 0.8 < leg_height(CROWD).mean() < 0.95
    low, high = seat_height(CROWD, np.zeros(20_000)), seat_height(CROWD, np.full(20_000, 1 - 1e-9))
    shank = -body_offsets(CROWD)[:, JOINTS.index("left_ankle"), 1]
    knee = 0.039 * CROWD.stature + shank
    assert np.allclose(low / knee, 0.95)
    assert np.allclose(high / knee, 1.08)
