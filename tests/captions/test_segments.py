"""Visible segments: only what the shown frames contain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posegen.captions.captions import describe_segments
from posegen.captions.segments import BEGUN, NO_CHANGE, STOPS, find_segments
from posegen.config.schema import Config
from posegen.foundations.constants import DIRECTIONS, PATHS, SPEEDS
from posegen.foundations.scene import CONTINUED, LEFT, RIGHT, Scenes, empty_scenes
from posegen.library.load import load_library
from posegen.planning.repertoire import repertoire
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests.variants.applied import apply_variant

LIBRARY = load_library()
KNOWN = repertoire(LIBRARY)
CONFIG = Config.model_validate({"story": {"actors": {"max": 2}}, "length": {"min": 40, "max": 250}})
SCENES = plan_scenes(CONFIG, LIBRARY, np.arange(400))
PARAMETERS = draw_parameters(CONFIG, np.arange(400))


def one(length: float, *slots: dict) -> Scenes:
    """A scene of one actor that lasts `length` seconds, shown at 25 frames a second."""
    scenes = replace(empty_scenes(1, 1, len(slots)), length=np.array([round(length * 25)], np.int32))
    for i, slot in enumerate(slots):
        for name, value in slot.items():
            getattr(scenes, name)[0, 0, i] = LIBRARY.index(value) if name == "action" else value
    return scenes


def rows_of(scenes: Scenes) -> list[dict]:
    return describe_segments(scenes, LIBRARY, CONFIG, find_segments(scenes, LIBRARY, 25)).to_pylist()[0]


def change_of(scenes: Scenes) -> int:
    (change,) = find_segments(scenes, LIBRARY, 25).change.tolist()
    return int(change)


def test_standing_stops_a_gait():
    walk, stand = {"action": "walk", "speed": 1.2}, {"action": "stand"}
    scenes = one(9, stand | {"end": 3.0}, walk | {"start": 3.0, "end": 6.0}, stand | {"start": 6.0, "end": 9.0})
    assert find_segments(scenes, LIBRARY, 25).change.tolist() == [NO_CHANGE, NO_CHANGE, STOPS]


def test_a_path_is_one_segment():
    eight = PATHS.index("figure_eight")
    walk = {"action": "walk", "speed": 1.2, "turn": np.radians(360)}
    scenes = one(9, walk | {"end": 4.0, "path": eight}, walk | {"start": 4.0, "end": 8.0, "path": CONTINUED})
    segments = find_segments(scenes, LIBRARY, 25)
    assert (segments.start.tolist(), segments.end.tolist(), segments.path.tolist()) == ([0], [200], [eight])
    assert find_segments(replace(scenes, length=scenes.length - 50), LIBRARY, 25).path.tolist() == [0]


def test_a_walk_that_continues_does_not_begin_again():
    walk, jump = {"action": "walk", "speed": 1.2}, {"action": "jump", "repetitions": 1}
    segments = find_segments(one(8.4, walk | {"end": 8.0}, walk | {"start": 8.0, "end": 12.0}), LIBRARY, 25)
    assert (segments.change.tolist(), segments.end.tolist(), segments.complete.tolist()) == ([NO_CHANGE], [200], [True])
    begun = find_segments(one(8.6, walk | {"end": 8.0}, jump | {"start": 8.0, "end": 10.0}), LIBRARY, 25)
    assert begun.change.tolist() == [NO_CHANGE, BEGUN]
    again = find_segments(one(4.6, jump | {"end": 4.0}, jump | {"start": 4.0, "end": 6.0}), LIBRARY, 25)
    assert again.change.tolist() == [NO_CHANGE, BEGUN]  # another jump


def test_a_walk_is_visible_from_its_second_step_on():
    walk = {"action": "walk", "end": 6.0, "speed": 1.2}
    assert change_of(one(0.9, walk)) == BEGUN
    assert rows_of(one(0.25, walk)) == []
    segment = rows_of(one(3.0, walk))[0]
    assert (segment["action"], segment["start"], segment["end"], segment["side"]) == ("walk", 0, 75, "")
    assert segment["speed"] == pytest.approx(1.2)
    assert change_of(one(1.6, walk | {"speed": 0.5})) == BEGUN


def test_completed_repetitions_are_counted():
    jump = LIBRARY.action("jump")
    whole = {"action": "jump", "end": jump.enter + 3 * jump.cycle + jump.exit, "repetitions": 3}
    assert rows_of(one(whole["end"] + 1, whole))[0]["repetitions"] == 3
    assert rows_of(one(jump.enter + 3 * jump.cycle + 0.04, whole))[0]["repetitions"] == 3
    partial = one(jump.enter + 2.6 * jump.cycle, whole)
    assert rows_of(partial)[0]["repetitions"] == 2
    assert find_segments(partial, LIBRARY, 25).exact == [False]
    assert change_of(one(jump.enter + 0.8 * jump.cycle, whole)) == BEGUN


def test_a_turn_is_visible_when_it_is_complete():
    turn = {"action": "turn", "start": 0.0, "end": 1.5, "turn": np.radians(-100)}
    assert change_of(one(1.4, turn)) == BEGUN
    assert rows_of(one(1.52, turn))[0]["turn"] == pytest.approx(-100, abs=1e-3)


@pytest.mark.parametrize(("degrees", "word"), [(100, "left"), (-100, "right"), (160, "around"), (-160, "around")])
def test_words_for_turns(degrees, word):
    facts = find_segments(one(3, {"action": "turn", "end": 1.5, "turn": np.radians(degrees)}), LIBRARY, 25)
    assert DIRECTIONS[facts.direction[0]] == word


@pytest.mark.parametrize(
    ("degrees", "shown", "word"), [(0, 4, "straight"), (30, 4, ""), (60, 4, "left"), (-60, 4, "right"), (60, 2, "")]
)
def test_path_words_describe_the_visible_part(degrees, shown, word):
    walk = {"action": "walk", "end": 4.0, "speed": 1.2, "turn": np.radians(degrees)}
    assert PATHS[find_segments(one(shown, walk), LIBRARY, 25).path[0]] == word


def test_words_for_speed_are_relative_to_the_legs():
    def word(speed, stature):
        scenes = one(4, {"action": "walk", "end": 4.0, "speed": speed})
        scenes.persons.stature[:] = stature
        return SPEEDS[find_segments(scenes, LIBRARY, 25).pace[0]]

    assert [word(v, 1.7) for v in (0.8, 1.2, 1.7)] == ["slow", "normal", "fast"]
    assert [word(1.5, stature) for stature in (1.9, 1.4)] == ["normal", "fast"]


def test_sitting_down_is_visible_once_seated():
    sit = LIBRARY.action("sit")
    slot = {"action": "sit", "end": 6.0}
    assert change_of(one(sit.enter, slot)) == BEGUN
    facts = find_segments(one(sit.enter + 0.5, slot), LIBRARY, 25)
    assert (len(facts.action), facts.finished) == (1, [False])
    assert find_segments(one(7, slot), LIBRARY, 25).finished == [True]


def test_the_last_segment_is_complete_if_none_begins_after_it():
    walk, sit = {"action": "walk", "end": 4.0, "speed": 1.2}, {"action": "sit", "start": 4.0, "end": 12.0}
    assert find_segments(one(4.0, walk, sit), LIBRARY, 25).complete == [True]
    assert find_segments(one(4.2, walk, sit), LIBRARY, 25).complete == [False]
    assert find_segments(one(11.0, walk, sit), LIBRARY, 25).complete == [True]


def test_sides_parts_and_order_of_layered_segments():
    walk = {"action": "walk", "end": 6.0, "speed": 1.2, "side": LEFT}
    wave = {"action": "wave", "start": 0.5, "end": 4.0, "side": RIGHT, "repetitions": 3, "layered": True}
    first, second = rows_of(one(6, walk, wave))
    assert (first["action"], first["side"], second["action"], second["side"]) == ("walk", "", "wave", "right")
    assert second["parts"] == ["right_arm", "head"]


def test_a_moment_of_standing_is_not_visible():
    assert rows_of(one(0.9, {"action": "stand", "end": 3.0})) == []
    assert rows_of(one(1.2, {"action": "stand", "end": 3.0}))[0]["action"] == "stand"


@pytest.mark.parametrize("variant", CONFIG.variants.names)
def test_segments_are_within_the_clip_and_in_order(variant):
    scenes = apply_variant(SCENES, variant, PARAMETERS)
    rows = describe_segments(scenes, LIBRARY, CONFIG, find_segments(scenes, LIBRARY, CONFIG.fps)).to_pylist()
    most = scenes.action.shape[1]
    for i, (actors, length) in enumerate(zip(scenes.actors.tolist(), scenes.length.tolist(), strict=True)):
        cast = rows[i * most : (i + 1) * most]
        assert [bool(segments) for segments in cast] == [a < actors for a in range(most)]
        for segments in cast:
            assert [s["start"] for s in segments] == sorted(s["start"] for s in segments)
            for segment in segments:
                assert 0 <= segment["start"] < segment["end"] <= length
                assert segment["parts"]
                action = LIBRARY.action(segment["action"])
                assert (segment["side"] != "") == action.sided
                assert segment["repetitions"] == 0 or action.repetitions is not None
