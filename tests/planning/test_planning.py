"""Plans: laws that hold for every sample of every config, and the shares that come out."""

from __future__ import annotations

import itertools
from dataclasses import fields
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.captions.segments import BEGUN, find_segments, join_paths
from posegen.config.schema import Config
from posegen.foundations.bodies import leg_height
from posegen.foundations.constants import GRID, PATHS
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import BOTH, CONTINUED, LEFT, NOTHING, Persons, Scenes
from posegen.library.load import load_library
from posegen.planning.durations import shortened_turn
from posegen.planning.repertoire import repertoire
from posegen.planning.rules import RULES, of_age
from posegen.planning.scenes import plan_scenes

LIBRARY = load_library()
KNOWN = repertoire(LIBRARY)
NAMES = LIBRARY.actions
STYLES = list(LIBRARY.styles.values())
CONFIGS = {
    "default": {},
    "crowd": {"story": {"actors": {"min": 1, "max": 4}, "layering": 1.0}},
    "short clips": {"frames": 60, "fps": 60, "length": {"min": 20, "max": 60}},
    "long clips": {"frames": 900, "fps": 20, "story": {"segments": {"min": 1, "max": 8}}},
    "no speed variant": {"variants": {"speed": None}},
}


def planned(n: int, **keys: object) -> Scenes:
    """The first plans of a config with these keys."""
    return plan_scenes(Config.model_validate(keys), LIBRARY, np.arange(n))


@cache
def config_of(name: str) -> Config:
    return Config.model_validate(CONFIGS[name])


@cache
def scenes_of(name: str, n: int = 400) -> Scenes:
    return plan_scenes(config_of(name), LIBRARY, np.arange(n))


def contents(scenes: Scenes, row: int) -> dict[str, list]:
    """All that a sample's plan says, without the slots that only other samples fill."""
    used = (scenes.action[row] != NOTHING).any(axis=0)
    found = {}
    for field in fields(Scenes):
        values = getattr(scenes, field.name)
        if isinstance(values, Persons):
            found |= {f"person {part.name}": getattr(values, part.name)[row].tolist() for part in fields(Persons)}
        elif values.ndim == 3 and field.name not in ("origin", "steps"):
            found[field.name] = values[row][:, used].tolist()
        else:
            found[field.name] = values[row].tolist()
    return found


configs = pytest.mark.parametrize("name", CONFIGS)


@configs
@given(rows=st.lists(st.integers(0, 399), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
def test_a_sample_is_planned_alike_in_any_company(name, rows):
    company = plan_scenes(config_of(name), LIBRARY, np.array(rows))
    for at, row in enumerate(rows):
        assert contents(company, at) == contents(scenes_of(name), row)


@configs
def test_several_attempts_are_planned_as_each_alone(name):
    rows, attempts = np.array([5, 2, 5, 9]), np.array([2, 0, 1, 2])
    together = plan_scenes(config_of(name), LIBRARY, rows, attempts)
    for at, (row, attempt) in enumerate(zip(rows, attempts, strict=True)):
        assert contents(together, at) == contents(plan_scenes(config_of(name), LIBRARY, [row], int(attempt)), 0)


def test_another_attempt_and_another_seed_plan_anew():
    first = scenes_of("default")
    again = plan_scenes(config_of("default"), LIBRARY, np.arange(50), attempt=1)
    other = plan_scenes(Config(seed=1), LIBRARY, np.arange(50))
    same = [contents(first, i) == contents(again, i) or contents(first, i) == contents(other, i) for i in range(50)]
    assert not any(same)


@configs
def test_base_slots_tile_the_time_that_is_needed(name):
    scenes, config = scenes_of(name), config_of(name)
    fastest = 1.0 if config.variants.speed is None else config.variants.speed.max
    for i, actors in enumerate(scenes.actors):
        for actor in range(actors):
            base = (scenes.action[i, actor] != NOTHING) & ~scenes.layered[i, actor]
            start, end = scenes.start[i, actor, base], scenes.end[i, actor, base]
            assert start[0] == 0
            assert (start[1:] == end[:-1]).all()
            assert (end > start).all()
            assert end[-1] >= config.frames / config.fps * fastest + 2 - 1e-4
        assert (scenes.action[i, actors:] == NOTHING).all()


@configs
def test_layered_slots_lie_within_a_base_slot_that_leaves_their_parts_free(name):
    scenes = join_paths(scenes_of(name))
    layered = 0
    for i, actor, slot in np.argwhere(scenes.layered):
        action, start, end = (x[i, actor, slot] for x in (scenes.action, scenes.start, scenes.end))
        assert KNOWN.layered[action]
        hosts = ~scenes.layered[i, actor] & (scenes.start[i, actor] <= start + 1e-5) & (scenes.end[i, actor] >= end - 1e-5)
        hosts &= scenes.action[i, actor] != NOTHING
        assert hosts.sum() == 1
        at = int(np.flatnonzero(hosts)[0])
        host, tempo = scenes.action[i, actor, at], scenes.tempo[i, actor, at]
        assert KNOWN.host[host]
        first, last = scenes.start[i, actor, at], scenes.end[i, actor, at]
        if KNOWN.seated[host]:
            assert start >= first + KNOWN.enter[host] / tempo - 1e-4
            assert end <= last - KNOWN.exit[host] / tempo + 1e-4
        elif NAMES[host] == "stand":
            assert start >= first + 0.4 - 1e-4
        others = scenes.layered[i, actor] & (np.arange(scenes.action.shape[2]) != slot)
        apart = (scenes.start[i, actor] >= end - 1e-5) | (scenes.end[i, actor] <= start + 1e-5)
        assert apart[others].all()
        layered += 1
    assert layered > 20 or name == "short clips"


@configs
def test_slots_last_as_long_as_their_action_takes(name):
    scenes = join_paths(scenes_of(name))
    alone = (scenes.meets < 0)[:, None] | (np.arange(scenes.action.shape[1]) > 1)
    for i, actor, slot in np.argwhere((scenes.action != NOTHING) & alone[..., None]):
        action = scenes.action[i, actor, slot]
        span = scenes.end[i, actor, slot] - scenes.start[i, actor, slot]
        tempo, repetitions = scenes.tempo[i, actor, slot], scenes.repetitions[i, actor, slot]
        # Everybody's own pace and size, times those of style and age, within what bodies can.
        assert 0.65 - 1e-6 <= tempo <= 1.25 + 1e-6
        assert 0 < scenes.amplitude[i, actor, slot] <= 1.2 + 1e-6
        around = KNOWN.enter[action] + KNOWN.exit[action]
        if KNOWN.counted[action]:
            assert KNOWN.fewest[action] <= repetitions <= KNOWN.most[action]
            assert span == pytest.approx((around + repetitions * KNOWN.cycle[action]) / tempo, abs=1e-4)
        else:
            assert repetitions == 0
            assert span >= around / tempo
            performing = NAMES[action] == "stand"
            # The last one in the clip may last until its end.
            # Turns last by their angle, and paths by their shape.
            by_angle = scenes.path[i, actor, slot] or KNOWN.gait[action] == 3
            assert performing or by_angle or KNOWN.shortest[action] - 1e-4 <= span
            longest = 10.0 if by_angle else max(KNOWN.longest[action], around / tempo + 0.8)
            to_the_end = abs(scenes.end[i, actor, slot] - scenes.length[i] / config_of(name).fps) < 0.21
            assert performing or span <= longest + 2.5 * to_the_end + 1e-4


@configs
def test_gaits_turns_and_sides(name):
    scenes = join_paths(scenes_of(name))
    gait = np.where(scenes.action == NOTHING, 0, KNOWN.gait[scenes.action])
    travels = (gait != 0) | ((scenes.action != NOTHING) & (KNOWN.fast[scenes.action] > 0))
    assert (scenes.speed[~travels] == 0).all()
    assert (scenes.turn[gait == 0] == 0).all()
    most = np.radians(np.maximum(KNOWN.left, -KNOWN.right))[scenes.action]
    assert (np.abs(scenes.turn) <= np.where(scenes.path > 0, 2 * np.pi, most) + 1e-5)[gait > 0].all()
    on_the_spot = gait == 3
    turned = np.degrees(np.abs(scenes.turn[on_the_spot]))
    assert turned.min() > 39.99
    assert (turned / (scenes.end - scenes.start)[on_the_spot]).max() < 150.0
    years = np.broadcast_to(scenes.persons.age[..., None], gait.shape)
    pace = np.broadcast_to(np.array([style.speed for style in STYLES])[scenes.persons.style][..., None], gait.shape)
    pace = pace * of_age(RULES.age.walking, years)
    # The walk's own .7 to 1.85 m/s times the factors of style and age, from a stroll to the walk-run transition, on legs of
    # .9 m. Who follows somebody goes as fast as that one.
    walking = (scenes.action == NAMES.index("walk")) & ~scenes.together
    leg = np.broadcast_to(leg_height(scenes.persons)[..., None], gait.shape)[walking]
    speed = scenes.speed[walking] / np.sqrt(leg / 0.9)
    assert (speed >= np.clip(0.7 * pace[walking], 0.5, 1.9) - 1e-4).all()
    assert (speed <= np.clip(1.85 * pace[walking], 0.5, 1.9) + 1e-4).all()
    # Most walk at about the free speed of their age; slow and brisk walks are rarer, but there.
    assert 1.15 < scenes.speed[walking].mean() < 1.4
    free = scenes.speed[walking] / of_age(RULES.age.walking, years[walking])
    assert 0.02 < (free > 1.6).mean() < 0.25
    assert 0.02 < (free < 0.95).mean() < 0.2
    walking &= scenes.path == 0
    curved = scenes.turn[walking] != 0
    assert 0.4 < 1 - curved.mean() < 0.75  # most walks lead straight ahead
    assert 0.35 < (scenes.turn[walking][curved] > 0).mean() < 0.65
    sideless = (scenes.action != NOTHING) & (gait == 0) & ~KNOWN.sided[scenes.action]
    assert (scenes.side[sideless] == BOTH).all()
    assert (scenes.side[(scenes.action != NOTHING) & ~sideless] != BOTH).all()


@configs
def test_gaits_turn_to_the_sides_that_their_action_has(name):
    scenes = join_paths(scenes_of(name))
    alone = (scenes.meets < 0)[:, None, None]
    gaits = alone & (scenes.action != NOTHING) & (KNOWN.gait[scenes.action] > 0) & (scenes.path == 0)
    action, turn = scenes.action[gaits], np.degrees(scenes.turn[gaits])
    either = (KNOWN.gait[action] == 3) & (KNOWN.right[action] > 0)
    assert (turn <= KNOWN.left[action] + 1e-3).all()
    assert (turn[~either] >= KNOWN.right[action][~either] - 1e-3).all()


def test_a_turn_to_one_side_is_drawn_to_that_side():
    scenes = planned(600, story={"actions": {"running_bases": 200}})
    turn = np.degrees(scenes.turn[scenes.action == NAMES.index("running_bases")])
    assert len(turn) > 20
    assert ((turn >= 74.99) & (turn <= 110.01)).all()


def test_a_turn_that_does_not_fit_is_smaller_and_ends_with_the_clip():
    turning = np.array([NAMES.index("turn")] * 2)
    degrees, span = shortened_turn(KNOWN, turning, np.array([160.0, 160.0]), np.array([2.0, 2.0]), np.array([1.5, 3.0]))
    assert degrees.tolist() == [120.0, 160.0]
    assert span.tolist() == [1.5, 2.0]


def test_people_spin_to_either_side():
    scenes = planned(200, story={"actions": {"spin": 40}})
    turned = np.degrees(scenes.turn[scenes.action == NAMES.index("spin")])
    assert ((abs(turned) > 339.99) & (abs(turned) < 380.01)).all()
    assert 0.35 < (turned > 0).mean() < 0.65


def test_better_hand_is_used_more():
    scenes = planned(1500, population={"left_handed": 0.5})
    sided = (scenes.action != NOTHING) & KNOWN.sided[scenes.action]
    left_handed = np.broadcast_to(scenes.persons.left_handed[..., None], sided.shape)[sided]
    better = np.where(left_handed, scenes.side[sided] == LEFT, scenes.side[sided] != LEFT)
    assert 0.76 < better.mean() < 0.84


def test_nothing_is_done_twice_in_the_same_way():
    scenes = join_paths(scenes_of("default"))
    for i in range(len(scenes)):
        base = np.flatnonzero((scenes.action[i, 0] != NOTHING) & ~scenes.layered[i, 0])
        for before, slot in itertools.pairwise(base):
            action = scenes.action[i, 0, slot]
            if action != scenes.action[i, 0, before]:
                continue
            if KNOWN.gait[action]:
                assert KNOWN.gait[action] != 3
                same_path = scenes.path[i, 0, slot] == scenes.path[i, 0, before]
                assert not same_path or scenes.turn[i, 0, slot] != scenes.turn[i, 0, before]
            else:
                # Standing continues only with an action of the arms.
                over = scenes.layered[i, 0] & (scenes.start[i, 0] >= scenes.start[i, 0, before])
                assert NAMES[action] == "stand"
                assert (over & (scenes.end[i, 0] <= scenes.end[i, 0, slot])).any()


def test_a_path_is_split_into_segments_of_one_gait_that_follow_each_other():
    scenes = planned(300, story={"actions": {"walk": 50, "run": 50}})
    turns = {"left_circle": [360], "right_circle": [-360], "left_diagonal": [45, 0], "right_diagonal": [-45, 0]}
    turns |= {"figure_eight": [360, -360], "back_and_forth": [0, 180, 0, 180], "zigzag": [55, -110, 110, -110, 55]}
    found = set()
    for i, slot in np.argwhere(scenes.path[:, 0] > 0):
        shape = PATHS[scenes.path[i, 0, slot]]
        pieces = slice(slot, slot + len(turns[shape]))
        assert (scenes.path[i, 0, pieces][1:] == CONTINUED).all()
        turned = np.degrees(scenes.turn[i, 0, pieces])
        assert np.allclose(turned, turns[shape], atol=0.01) or np.allclose(turned, np.negative(turns[shape]), atol=0.01)
        assert (scenes.start[i, 0, pieces][1:] == scenes.end[i, 0, pieces][:-1]).all()
        for column in (scenes.action, scenes.speed, scenes.side):
            assert len(set(column[i, 0, pieces].tolist())) == 1
        found.add(shape)
    assert found == set(turns)
    assert (scenes.path == CONTINUED).sum() == (join_paths(scenes).action == NOTHING).sum() - (scenes.action == NOTHING).sum()


def test_paths_start_and_stop_by_4_metres_per_second_squared_at_most():
    scenes = planned(2400, story={"actions": {"walk": 50, "run": 50}})
    action, path, speed = scenes.action[:, 0], scenes.path[:, 0], scenes.speed[:, 0]
    seconds = (scenes.end - scenes.start)[:, 0]
    piece = (path > 0) | (path == CONTINUED)
    starts = piece[:, 1:] & (action[:, 1:] != action[:, :-1])
    stops = piece[:, :-1] & (action[:, 1:] != action[:, :-1])
    for ends, own in ((starts, slice(1, None)), (stops, slice(None, -1))):
        assert ends.sum() > 50
        # Speed changes in .46 of a segment, at a rate that is constant in the middle .7 of that time.
        assert (speed[:, own][ends] / (0.7 * 0.46 * seconds[:, own][ends])).max() < 4.0


def test_what_is_held_is_put_down_before_anything_is_picked_up():
    scenes = planned(200, story={"actions": {"pick_up": 150, "put_down": 12}})
    holding, times = np.zeros(200, bool), 0
    for slot in range(scenes.action.shape[2]):
        action = np.where(scenes.layered[:, 0, slot], NOTHING, scenes.action[:, 0, slot])
        assert not (holding & (action == KNOWN.picking)).any()
        times += int((action == KNOWN.picking).sum())
        holding = (holding | (action == KNOWN.picking)) & (action != KNOWN.putting)
    assert times > 50


def test_segments_end_with_the_clip():
    segments = find_segments(scenes_of("default"), LIBRARY, 25)
    assert (segments.change == BEGUN).mean() < 0.05


def test_segments_are_about_as_many_as_asked_for():
    for asked in (2, 4):
        scenes = planned(300, story={"segments": {"min": asked, "max": asked}})
        started = ((scenes.action != NOTHING) & ~scenes.layered & (scenes.start < 9.5)).sum(axis=2)
        assert abs(started.mean() - asked) < 0.7


def test_actors_are_different_people_well_apart():
    scenes = planned(300, story={"actors": {"min": 1, "max": 8}}, population={"persons": 9})
    assert set(scenes.actors.tolist()) == set(range(1, 9))
    for i, actors in enumerate(scenes.actors):
        cast = scenes.persons.index[i, :actors]
        assert len(set(cast.tolist())) == actors
        assert ((cast >= 0) & (cast < 9)).all()
        origin = scenes.origin[i, :actors]
        gaps = np.sqrt(((origin[:, None] - origin[None]) ** 2).sum(-1))[~np.eye(actors, dtype=bool)]
        assert (gaps > 2.5).all()
    assert np.array_equal(np.rint(scenes.origin / GRID) * GRID, scenes.origin)


def test_too_few_people_are_refused():
    with pytest.raises(UsageError, match=r"population\.persons"):
        planned(1, story={"actors": {"max": 3}}, population={"persons": 2})


def test_seats_are_for_those_who_sit():
    scenes = scenes_of("default")
    sits = (scenes.action == NAMES.index("sit")).any(axis=2)
    assert ((scenes.seat_height > 0) == sits).all()
    assert ((scenes.seat_height[sits] > 0.35) & (scenes.seat_height[sits] < 0.62)).all()


def test_config_weights_are_obeyed():
    scenes = planned(300, story={"themes": {"gym": 1.0}, "actions": {"jump": 0.0}, "layering": 0.0})
    assert {list(LIBRARY.themes)[t] for t in scenes.theme.tolist()} == {"gym"}
    done = {NAMES[a] for a in np.unique(scenes.action[scenes.action != NOTHING])}
    assert "jump" not in done
    assert {"squat", "run"} <= done <= set(LIBRARY.themes["gym"].actions)


def test_unknown_names_and_empty_themes_are_refused():
    with pytest.raises(UsageError, match="did you mean 'jump'"):
        planned(1, story={"actions": {"jmp": 1.0}})
    nothing = dict.fromkeys(LIBRARY.themes["gym"].actions, 0.0)
    with pytest.raises(UsageError, match="'gym' has no action left"):
        planned(1, story={"themes": {"gym": 1.0}, "actions": nothing})


def test_one_person_alone_greets_nobody():
    scenes = scenes_of("default", 2000)
    done = {NAMES[a] for a in np.unique(scenes.action[scenes.action != NOTHING])}
    assert not done & {"handshake", "hug", "high_five", *LIBRARY.families["meeting"]}


RARE = 0.1
"""Weight of an action below which it is rare on purpose: for quotas, texts and configs that ask for it."""


def test_no_action_is_rare():
    scenes = scenes_of("default", 8000)
    last = (scenes.length / config_of("default").fps)[:, None, None]
    start, end = np.maximum(scenes.start, 0), np.minimum(scenes.end, last)
    shown = (scenes.action != NOTHING) & (end > start)
    shown &= np.arange(scenes.action.shape[1])[None, :, None] < scenes.actors[:, None, None]
    # Standing below an arm action is no segment of its own.
    layer = (shown & scenes.layered)[..., None, :]
    below = (layer & (start[..., None, :] < end[..., :, None]) & (end[..., None, :] > start[..., :, None])).any(-1)
    counted = shown & ~(below & ~scenes.layered & (scenes.action == KNOWN.standing))
    counts = np.bincount(scenes.action[counted], minlength=len(NAMES))
    shares = {name: count / counts.sum() for name, count in zip(NAMES, counts, strict=True)}
    assert not {name: share for name, share in shares.items() if share < 0.003 and LIBRARY.action(name).weight >= RARE}
