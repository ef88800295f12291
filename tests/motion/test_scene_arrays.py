"""Strategies of planned scenes, the side of actions without a side, and actions that pass into each other."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.scene import BOTH, LEFT, RIGHT, Persons, Scenes
from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS
from posegen.motion.gaits import STEP
from posegen.motion.library_tables import library_tables, strategy_tables, style_tables
from posegen.motion.scene_arrays import (
    LONGEST_TURN,
    OVERLAP_GAIT,
    OVERLAP_SECONDS,
    TOGETHER,
    performance_rows,
    person_arrays,
    segment_records,
)
from posegen.planning.population import persons
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests import naive
from tests.motion.scripted import LIBRARY, SegmentSpec, scripted
from tests.variants.applied import apply_variant

TABLES = library_tables(LIBRARY)
CONFIG = Config()
SAMPLES = np.arange(300)
WITH_STRATEGIES = [name for name in LIBRARY.actions if LIBRARY.action(name).strategies]


@cache
def planned() -> Scenes:
    return plan_scenes(CONFIG, LIBRARY, SAMPLES)


@cache
def cast() -> Persons:
    """Many people, each in several scenes."""
    return persons(CONFIG, LIBRARY, np.repeat(np.arange(600), 20)[:, None])


@cache
def crowd(name: str) -> Array:
    """Return which performance of an action each of many people chooses in each of several scenes, [people, scenes]."""
    one = scripted(SegmentSpec(name, 0, 5), frames=100)
    scenes = replace(one.select(np.zeros(len(cast().index), int)), persons=cast())
    scenes.key[:] = np.random.default_rng(7).integers(1, 2**63, scenes.key.shape)
    rows = performance_rows(scenes, LIBRARY)[:, 0, 0].reshape(600, 20)
    assert (rows % 2 == 0).all()
    own, first = 2 * LIBRARY.index(name), int(strategy_tables(LIBRARY).first[LIBRARY.index(name)])
    return np.where(rows == own, 0, (rows - first) // 2 + 1)


@pytest.mark.parametrize("name", WITH_STRATEGIES)
def test_each_strategy_is_drawn_as_often_as_its_weight_says(name: str) -> None:
    weights = np.array(LIBRARY.action(name).weights)
    found = np.bincount(crowd(name).ravel(), minlength=len(weights)) / crowd(name).size
    assert len(found) == len(weights)
    # The usual strategies of 600 people have a standard deviation of at most .02.
    np.testing.assert_allclose(found, weights / weights.sum(), atol=0.065)
    assert (found > 0).all()


@pytest.mark.parametrize("name", ["kick", "pick_up", "stand"])
def test_most_performances_of_a_person_are_of_its_usual_strategy(name: str) -> None:
    chosen = crowd(name)
    weights = np.array(LIBRARY.action(name).weights)
    agree = [np.mean([(one[:, None] == one).sum() - len(one) for one in chosen]) / (chosen.shape[1] * (chosen.shape[1] - 1))]
    chance = ((weights / weights.sum()) ** 2).sum()
    usual = LIBRARY.action(name).habit_share
    # Two performances agree if both are usual, else by chance.
    assert agree[0] == pytest.approx(usual**2 + (1 - usual**2) * chance, abs=0.02)
    others = (chosen[:-1] == chosen[1:]).mean()
    assert others == pytest.approx(chance, abs=0.05)


def test_what_is_done_together_is_done_as_written() -> None:
    scenes = scripted(*(SegmentSpec(name, k, k + 1) for k, name in enumerate(LIBRARY.actions)), frames=100)
    scenes.key[:], scenes.persons.key[:], scenes.together[:] = 5, 9, True
    np.testing.assert_array_equal(performance_rows(scenes, LIBRARY)[0, 0], 2 * np.arange(len(LIBRARY.actions)))


def test_performances_of_a_person_are_more_alike_than_those_of_two() -> None:
    """In each scene a person's numbers correlate by .64, the square of its share, with those in another scene."""
    count = 400
    cast = persons(CONFIG, LIBRARY, np.repeat(np.arange(count), 2)[:, None])
    scenes = replace(scripted(SegmentSpec("stand", 0, 5), frames=100).select(np.zeros(2 * count, int)), persons=cast)
    scenes.key[:] = np.random.default_rng(3).integers(1, 2**63, scenes.key.shape)
    numbers = person_arrays(scenes, style_tables(LIBRARY)).habits[:, 0].reshape(count, 2, -1)
    assert numbers.std() == pytest.approx(1, abs=0.03)
    assert np.corrcoef(numbers[:, 0].ravel(), numbers[:, 1].ravel())[0, 1] == pytest.approx(0.64, abs=0.03)
    assert np.corrcoef(numbers[:-1, 0].ravel(), numbers[1:, 1].ravel())[0, 1] == pytest.approx(0, abs=0.03)


def test_a_mirrored_person_does_everything_with_the_other_side() -> None:
    scenes = planned()
    mirrored = apply_variant(scenes, "mirror", draw_parameters(CONFIG, SAMPLES))
    kinds, others = (segment_records(each, LIBRARY)["kind"] for each in (scenes, mirrored))
    used = scenes.action >= 0
    np.testing.assert_array_equal(others[used], kinds[used] ^ 1)
    both = kinds[used & (scenes.side == BOTH)] % 2
    assert 0.4 < both.mean() < 0.6
    one, other = (person_arrays(each, style_tables(LIBRARY)) for each in (scenes, mirrored))
    np.testing.assert_array_equal(other.habits, one.habits)
    np.testing.assert_array_equal(other.swing, one.swing[..., ::-1])
    np.testing.assert_array_equal(other.legs, -one.legs)
    np.testing.assert_array_equal(other.widths, one.widths * [1, 1, 1, -1])
    assert (one.swing[..., 0] != one.swing[..., 1]).all()
    order = [CHANNELS.index(naive.mirror_channel(name)) for name in CHANNELS]
    turned = [c.endswith(("_lateral", "_rotation", "_obliquity")) and c in CENTRAL_CHANNELS for c in CHANNELS]
    np.testing.assert_array_equal(other.neutral, one.neutral[..., order] * np.where(turned, -1, 1))


def test_an_action_with_a_side_is_performed_with_it() -> None:
    scenes = planned()
    kinds = segment_records(scenes, LIBRARY)["kind"]
    for side in (LEFT, RIGHT):
        assert (kinds[(scenes.action >= 0) & (scenes.side == side)] % 2 == side).all()


def test_actions_pass_into_each_other_and_keep_their_cycles() -> None:
    """Where a movement lasts longer, only its first or last stage does: its cycles are at their planned times."""
    scenes = planned()
    records = segment_records(scenes, LIBRARY)
    used, base = scenes.action >= 0, (scenes.action >= 0) & ~scenes.layered
    np.testing.assert_array_equal(records["shown_start"][used], scenes.start[used])
    np.testing.assert_array_equal(records["shown_end"][used], scenes.end[used])
    later, earlier = records["end"] - records["shown_end"], records["shown_start"] - records["start"]
    assert (later[used] >= 0).all()
    assert (earlier[used] >= 0).all()
    inner = used & (np.arange(used.shape[-1]) > 0)
    turns, gaits = records["gait"] == STEP, records["gait"] > 0
    length = (scenes.end - scenes.start)[..., 1:]
    extra, there = later[..., :-1], inner[..., 1:]
    assert extra[there & ~gaits[..., 1:]].max() <= OVERLAP_SECONDS + 1e-9
    assert (extra <= np.minimum(OVERLAP_GAIT, 0.4 * length) + 1e-6)[there & gaits[..., 1:] & ~turns[..., 1:]].all()
    # One posture passes into the next one over a whole turn on the spot.
    assert (extra <= np.minimum(LONGEST_TURN, length) + 1e-6)[there & turns[..., 1:]].all()
    assert (later[scenes.layered & used] == 0).all()
    assert (later[scenes.together & used] == 0).all()
    joined = base[..., :-1] & base[..., 1:]
    # Most boundaries of two actions that stand are passed without a return to standing.
    standing = (records["support"] == 0) & (records["guided"] == 0)
    both = joined & standing[..., :-1] & standing[..., 1:] & ~scenes.together[..., :-1] & ~scenes.together[..., 1:]
    assert both.sum() > 50
    assert ((later[..., :-1] > 0) & (earlier[..., 1:] > 0))[both].mean() > 0.8


def test_partners_do_not_overlap_with_what_they_do_alone() -> None:
    alone, together = (scripted(SegmentSpec("stand", 0, 3), SegmentSpec("bow", 3, 6), frames=100) for _ in range(2))
    together.together[..., 1] = True
    assert segment_records(alone, LIBRARY)["end"][0, 0, 0] > 3
    assert segment_records(together, LIBRARY)["end"][0, 0, 0] == 3
    assert segment_records(together, LIBRARY)["personal"][0, 0].tolist() == [1.0, TOGETHER]


def test_arms_hang_in_idle_postures_below_arm_actions() -> None:
    scenes = planned()
    rows = performance_rows(scenes, LIBRARY)
    hands = [CHANNELS.index(f"{side}_hand_reach") for side in ("left", "right")]
    stands = (scenes.action == LIBRARY.index("stand")) & ~scenes.layered & ~scenes.together
    elbows = [CHANNELS.index(f"{side}_elbow_flexion") for side in ("left", "right")]
    reaching = TABLES.poses.used[rows][..., hands].any(-1) | (TABLES.poses.pose[rows][..., elbows] > 59 / 360).any(-1)
    below = np.zeros(stands.shape, bool)
    for index, who, slot in np.argwhere(stands):
        for k in np.flatnonzero(scenes.layered[index, who] & (scenes.action[index, who] >= 0)):
            meets = scenes.start[index, who, k] < scenes.end[index, who, slot]
            meets &= scenes.end[index, who, k] > scenes.start[index, who, slot]
            arms = [
                part for part in LIBRARY.action(LIBRARY.actions[scenes.action[index, who, k]]).parts if part.endswith("arm")
            ]
            below[index, who, slot] |= bool(meets and arms)
    assert below.sum() > 100
    assert not reaching[below].any()
    assert (
        0.05 < reaching[stands & ~below].mean() < 0.22
    )  # people hold a forearm out in 18 to 22 % of the frames in which they stand


def test_people_stand_in_postures_of_their_own() -> None:
    """Nobody stands like most others: few are within 6 degrees of the mean in trunk, arms and elbows at once."""
    cast = persons(CONFIG, LIBRARY, np.arange(400)[:, None])
    scenes = replace(scripted(SegmentSpec("stand", 0, 5), frames=100).select(np.zeros(400, int)), persons=cast)
    scenes.key[:] = np.random.default_rng(5).integers(1, 2**63, scenes.key.shape)
    body = person_arrays(scenes, style_tables(LIBRARY))
    names = ["trunk_flexion", "left_shoulder_flexion", "right_shoulder_flexion", "left_elbow_flexion", "right_elbow_flexion"]
    angles = 360 * body.neutral[:, 0][:, [CHANNELS.index(name) for name in names]]
    assert (np.abs(angles - angles.mean(0)) < 6).all(1).mean() < 0.05
    assert (np.abs(angles[:, 1] - angles[:, 2]) > 3).mean() > 0.5
    # Half of the feet stand at least 2 cm before each other, few more than 12 cm.
    apart = 200 * np.abs(body.widths[:, 0, 3])
    assert np.median(apart) > 2
    assert np.quantile(apart, 0.95) < 12
