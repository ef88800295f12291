"""Samples with false statements are resampled; statements that stay false are removed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posegen
from posegen.captions.segments import Segments, find_segments
from posegen.checks.segments import check_segments, remove_false
from posegen.checks.statements import check_statement, observe_actors, row_statements
from posegen.config.schema import SHORTEST, Config
from posegen.foundations.scene import Scenes
from posegen.library.load import load_library
from posegen.motion.engine import Motion, animate_into, empty_motion
from posegen.planning.scenes import plan_scenes
from posegen.synthesis.synthesize import MAX_RESAMPLES, Batch
from posegen.variants.built_in import MIRROR, POSITION
from posegen.variants.variant import draw_parameters
from tests.synthesis.own_library import library_folder
from tests.variants.applied import apply_variant

SAMPLES = np.arange(16)
WRONG_SIDE = {"side": {"less": "hand_height"}}
"""The sign of the side is that of the hanging hand."""
NEVER_COUNTED = {"count": {"peaks": "pelvis_height"}}


def of_library(folder: Path, samples: list[int]) -> tuple[Config, Batch]:
    config = posegen.load_config("smoke", [f"story.library={folder}", "story.themes={yard: 1}", "frames=150"])
    return config, posegen.synthesize(config, samples)


def false_statements(batch: Batch, config: Config) -> list[Any]:
    library = load_library(config.story.library)
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    checked = observe_actors(joints, [row["actors"] for row in batch.rows], library, config.fps)
    return [
        (row["sample"], row["variant"], statement)
        for row, actors in zip(batch.rows, checked, strict=True)
        for statement in row_statements(row)
        if check_statement(statement, actors, library) is False
    ]


@pytest.fixture(scope="module")
def wrong_side(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Batch]:
    return of_library(library_folder(tmp_path_factory.mktemp("own") / "side", WRONG_SIDE), list(range(8)))


def test_statements_that_no_attempt_shows_are_dropped(wrong_side: tuple[Config, Batch]) -> None:
    config, batch = wrong_side
    dropped = [row for row in batch.rows if row["dropped"]]
    assert {row["attempt"] for row in dropped} == {MAX_RESAMPLES}
    # The last attempt is kept, also with limbs in one another, which are listed, too.
    statements = {id(row): [each for each in row["dropped"] if each["kind"] != "overlap"] for row in dropped}
    assert {each["kind"] for own in statements.values() for each in own} == {"side"}
    assert {each["value"] for own in statements.values() for each in own} == {"left", "right"}
    for row in dropped:
        for statement in statements[id(row)]:
            segment = row["actors"][statement["actor"]]["segments"][statement["segment"]]
            assert (segment["action"], segment["side"]) == ("greet", "")
            # Its frames are labelled with the arm that moves.
            assert f"{statement['value']}_arm" in segment["parts"]
        for caption in row["captions"]:
            assert "left hand" not in caption["text"]
            assert "right hand" not in caption["text"]
    assert false_statements(batch, config) == []


def test_all_variants_of_a_sample_have_the_same_attempt(wrong_side: tuple[Config, Batch]) -> None:
    config, batch = wrong_side
    for i in range(len(batch.samples)):
        rows = batch.rows[i * len(batch.variants) : (i + 1) * len(batch.variants)]
        assert len({row["attempt"] for row in rows}) == 1
    attempts = {row["attempt"] for row in batch.rows}
    assert attempts == {row["attempt"] for row in posegen.synthesize(config, [7, 3, 1, 5, 0, 2, 4, 6]).rows}
    assert MAX_RESAMPLES in attempts


def test_a_resampled_sample_does_not_depend_on_others(wrong_side: tuple[Config, Batch]) -> None:
    config, batch = wrong_side
    alone = posegen.synthesize(config, [5])
    assert np.array_equal(alone.joints[0], batch.joints[5], equal_nan=True)
    assert np.array_equal(alone.action[0], batch.action[5])
    assert alone.rows == batch.rows[5 * len(batch.variants) : 6 * len(batch.variants)]


def test_dropped_statements_are_mirrored(wrong_side: tuple[Config, Batch]) -> None:
    _, batch = wrong_side
    other = {"left": "right", "right": "left"}
    rows = {(row["sample"], row["variant"]): row["dropped"] for row in batch.rows}
    for sample in batch.samples.tolist():
        base = rows[sample, "base"]
        assert rows[sample, "mirror"] == [statement | {"value": other[statement["value"]]} for statement in base]
        assert rows[sample, "position"] == base


def test_an_action_that_does_not_show_is_removed(tmp_path: Path) -> None:
    # The pelvis of a standing person who waves does not rise: no repetition is counted.
    config, batch = of_library(library_folder(tmp_path / "count", NEVER_COUNTED), list(range(8)))
    assert false_statements(batch, config) == []
    # The last attempt is kept, also with limbs in one another, which are listed, too.
    dropped = [(row, statement) for row in batch.rows for statement in row["dropped"] if statement["kind"] != "overlap"]
    assert {statement["kind"] for _, statement in dropped} <= {"count", "action"}
    assert dropped
    for row, statement in dropped:
        if statement["kind"] == "action":
            assert statement["segment"] == -1
        assert all(segment["repetitions"] == 0 or segment["action"] == "greet" for segment in row["actors"][0]["segments"])


def animated(config: Config, variant: str) -> tuple[Scenes, Motion]:
    library = load_library()
    base = plan_scenes(config, library, SAMPLES)
    parameters = draw_parameters(config, SAMPLES)
    motion = empty_motion(len(SAMPLES), 2, config.story.actors.max, config.frames)
    animate_into(base, library, config.fps, motion, 0)
    (MIRROR if variant == "mirror" else POSITION).copy(motion, 0, 1, parameters)
    return apply_variant(base, variant, parameters), motion


@pytest.mark.parametrize("variant", ["mirror", "position"])
def test_copied_variants_show_what_the_base_shows(variant: str) -> None:
    config, library = posegen.load_config("crowd"), load_library()
    scenes, motion = animated(config, variant)
    joints = motion.joints.reshape(-1, *motion.joints.shape[2:])
    clips = 2 * np.arange(len(SAMPLES))
    planned = find_segments(plan_scenes(config, library, SAMPLES), library, config.fps)
    base = check_segments(planned, joints, clips, library, config.fps)
    other = check_segments(find_segments(scenes, library, config.fps), joints, clips + 1, library, config.fps)
    expected = base.mirrored(len(SAMPLES)) if variant == "mirror" else base
    for field in fields(Segments):
        assert np.array_equal(getattr(other.segments, field.name), getattr(expected.segments, field.name)), field.name
    assert np.array_equal(other.false, expected.false)
    assert len(other.segments.owner) > 3 * len(SAMPLES)


def test_false_statements_are_removed() -> None:
    config, library = posegen.load_config("crowd"), load_library()
    scenes, motion = animated(config, "position")
    segments = find_segments(scenes, library, config.fps)
    joints = np.flip(motion.joints[:, 1], axis=0).copy()
    # Each sequence is checked against the frames of another one, so that much is false.
    checked = check_segments(segments, np.nan_to_num(joints), np.arange(len(SAMPLES)), library, config.fps)
    assert checked.false.mean(axis=0).max() > 0.1
    left = remove_false(checked, library)
    kept = ~checked.false[:, 0]
    assert np.array_equal(left.segments.action, segments.action[kept])
    assert np.diff(left.segments.bounds).sum() == kept.sum()
    again = check_segments(left.segments, np.nan_to_num(joints), np.arange(len(SAMPLES)), library, config.fps)
    assert not again.false.any()
    assert sum(map(len, left.dropped)) > 20


@pytest.mark.parametrize("fps", [20, 120])
def test_captions_of_the_shortest_clips_are_true(fps: int) -> None:
    config = posegen.load_config("default", [f"frames={SHORTEST}", f"fps={fps}"])
    batch = posegen.synthesize(config, range(200))
    assert batch.joints.shape[3] == SHORTEST
    assert np.isfinite(batch.joints).all()
    assert false_statements(batch, config) == []
    assert not any(row["dropped"] for row in batch.rows)
