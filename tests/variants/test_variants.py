"""Variants: each is the same scene under one transformation, exactly."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.constants import GRID
from posegen.foundations.scene import BOTH, NOTHING, Persons, Scenes
from posegen.library.load import load_library
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests.variants.applied import apply_variant

LIBRARY = load_library()
CONFIG = Config.model_validate({"story": {"actors": {"max": 3}}})
SAMPLES = np.arange(500)
SCENES = plan_scenes(CONFIG, LIBRARY, SAMPLES)
PARAMETERS = draw_parameters(CONFIG, SAMPLES)


def changed(before: Scenes, after: Scenes) -> set[str]:
    pairs = [(f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(Scenes) if f.name != "persons"]
    pairs += [(f.name, getattr(before.persons, f.name), getattr(after.persons, f.name)) for f in fields(Persons)]
    assert all(old.dtype == new.dtype and old.shape == new.shape for _, old, new in pairs)
    return {name for name, old, new in pairs if old.tobytes() != new.tobytes()}


def test_each_variant_changes_what_it_is_about():
    after = {name: changed(SCENES, apply_variant(SCENES, name, PARAMETERS)) for name in CONFIG.variants.names}
    assert after == {
        "base": set(),
        "speed": {"start", "end", "speed", "tempo", "meets"},
        "position": {"origin"},
        "scale": {"stature", "seat_height"},
        "mirror": {"left_handed", "origin", "heading", "turn", "path", "side", "phase", "apart"},
    }


def test_names_follow_the_config():
    assert Config().variants.names == ("base", "speed", "position", "scale", "mirror")
    config = Config.model_validate({"variants": {"speed": None, "mirror": False}})
    assert config.variants.names == ("base", "position", "scale")


def test_mirror_twice_is_no_change():
    twice = apply_variant(apply_variant(SCENES, "mirror", PARAMETERS), "mirror", PARAMETERS)
    assert changed(SCENES, twice) == set()


def test_mirror_swaps_sides():
    mirrored = apply_variant(SCENES, "mirror", PARAMETERS)
    assert np.array_equal(mirrored.side == BOTH, SCENES.side == BOTH)
    assert np.array_equal(mirrored.origin[..., 0], -SCENES.origin[..., 0])
    assert np.array_equal(mirrored.turn, -SCENES.turn)
    assert np.array_equal((mirrored.phase - SCENES.phase) % 1, np.full(SCENES.phase.shape, 0.5))
    assert not np.signbit(mirrored.turn[mirrored.turn == 0]).any()


def test_speed_keeps_slots_together_and_covers_the_clip():
    faster = apply_variant(SCENES, "speed", PARAMETERS)
    base = (faster.action != NOTHING) & ~faster.layered
    joined = base[..., 1:] & base[..., :-1]
    assert (faster.start[..., 1:] == faster.end[..., :-1])[joined].all()
    last = np.where(base, faster.end, 0).max(axis=2)
    present = np.arange(3) < faster.actors[:, None]
    assert (last[present] >= 10.0).all()
    factor = PARAMETERS["speed"][:, None, None]
    assert np.allclose(faster.speed, SCENES.speed * factor)


def test_parameters_stay_in_range_and_away_from_no_change():
    assert PARAMETERS["speed"].min() >= 0.8
    assert PARAMETERS["speed"].max() <= 1.25
    assert np.abs(PARAMETERS["speed"] - 1).min() >= 0.05 - 1e-6
    assert PARAMETERS["scale"].min() >= 0.9
    assert PARAMETERS["scale"].max() <= 1.1
    assert np.abs(PARAMETERS["scale"] - 1).min() >= 0.03 - 1e-6
    for factor in (PARAMETERS["speed"], PARAMETERS["scale"]):
        assert 0.3 < (factor > 1).mean() < 0.7
    for offset in (PARAMETERS["offset_x"], PARAMETERS["offset_z"]):
        assert np.abs(offset).max() <= 2
        assert np.abs(offset).min() >= 0.5 - GRID
        assert np.array_equal(np.rint(offset / GRID) * GRID, offset)
        assert 0.4 < (offset > 0).mean() < 0.6


def test_range_that_leaves_only_no_change_is_kept_to():
    config = Config.model_validate({"variants": {"speed": {"min": 1.0, "max": 1.0}, "scale": {"min": 1.05, "max": 1.1}}})
    parameters = draw_parameters(config, SAMPLES)
    assert (parameters["speed"] == 1).all()
    assert parameters["scale"].min() >= np.float32(1.05)


def test_position_moves_every_actor_alike_on_the_grid():
    moved = apply_variant(SCENES, "position", PARAMETERS)
    shift = moved.origin - SCENES.origin
    assert np.array_equal(np.rint(moved.origin / GRID) * GRID, moved.origin)
    for i, actors in enumerate(SCENES.actors):
        assert (shift[i, :actors] == [PARAMETERS["offset_x"][i], PARAMETERS["offset_z"][i]]).all()
        assert (shift[i, actors:] == 0).all()
