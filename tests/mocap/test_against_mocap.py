"""Mocap as actions: feet that stay, differences between people as large as those of mocap, and captions that hold."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import posegen
from benchmarks.motion.own_clips import shown_once, skate_of
from posegen.evaluation.performances import Performance, common_body, performances, person_distances
from posegen.evaluation.recording import Recording, read_reference
from posegen.library.load import Library, load_library
from posegen.mocap.library import Import, import_clips
from tests.mocap.bvh_of_joints import write_bvh

pytestmark = pytest.mark.slow

FPS = 25
CLASSES = ("crouch", "exercise", "kick", "pick_up", "reach", "throw")
MOST_SKATE = 0.03
"""Share of the steps of low toes in which a toe moves at over .2 m/s, on average over actions."""
MOST_ON_THE_SPOT = 0.035
"""The same of one action that does not travel: kicks, performed by a body of 1.5 m, have up to 3.3 per cent."""
BETWEEN = 0.6, 1.4
"""Distance of two people who perform an action, relative to that in mocap."""
MOST_REFUSED = 0.34
LEAST_RUNNERS = 0.85
"""Share of the clips of running, with feet nearly on a line, that are imported."""
LEAST_CUT = 0.3
"""Share of clips of more than 9 s of which pieces are imported: climbing, jumping and walking are not."""


@pytest.fixture(scope="module")
def reference() -> Path:
    folder = os.environ.get("POSEGEN_REFERENCE")
    if not folder:
        pytest.skip("needs mocap: set POSEGEN_REFERENCE to its folder")
    return Path(folder)


@pytest.fixture(scope="module")
def clips(reference: Path) -> list[Recording]:
    return [clip for clip in read_reference(reference / "hdm05.npz") if clip.family in CLASSES]


@pytest.fixture(scope="module")
def imported(clips: list[Recording], tmp_path_factory: pytest.TempPathFactory) -> Import:
    folder = tmp_path_factory.mktemp("mocap")
    for number, clip in enumerate(clips):
        write_bvh(folder / f"{clip.family}_{number:03}.bvh", clip.joints, clip.fps)
    return import_clips([folder], folder / "own", licence="CC BY-SA 3.0", source="HDM05")


def assert_feet_stay(library: Library, actions: Iterable[str], stature: float | None = None) -> None:
    """Assert that feet stay in each action on the spot, and on average in those that travel, whose steps are retargeted."""
    skate = {name: skate_of(library, name, stature) for name in actions}
    assert {name: v for name, v in skate.items() if not library.action(name).travel and v >= MOST_ON_THE_SPOT} == {}
    assert np.mean(list(skate.values())) < MOST_SKATE


def test_most_clips_are_imported(imported: Import, clips: list[Recording]) -> None:
    assert len(imported.refused) <= MOST_REFUSED * len(clips), Counter(r.partition(": ")[2][:20] for r in imported.refused)


def test_runners_are_imported(reference: Path, tmp_path: Path) -> None:
    files = [reference / f"{name}.npz" for name in ("cmu", "hdm05")]
    runners = [clip for file in files for clip in read_reference(file) if clip.family == "run"]
    for number, clip in enumerate(runners):
        np.savez(tmp_path / f"run_{number:03}.npz", joints=clip.joints, fps=clip.fps)
    found = import_clips([tmp_path], tmp_path / "own")
    assert len(found.sources) >= LEAST_RUNNERS * len(runners), found.refused


@pytest.mark.parametrize("stature", [1.5, 1.9])
def test_feet_stay_where_they_stand(imported: Import, stature: float) -> None:
    assert_feet_stay(load_library(imported.path), imported.actions, stature)


def test_pieces_of_long_clips_are_as_plausible(reference: Path, tmp_path: Path) -> None:
    long = [clip for clip in read_reference(reference / "cmu.npz") if len(clip.joints) > 9 * clip.fps]
    for number, clip in enumerate(long):
        np.savez(tmp_path / f"{clip.family}_{number:03}.npz", joints=clip.joints, fps=clip.fps)
    found = import_clips([tmp_path], tmp_path / "own", licence="free", source="CMU")
    cut = {source["clip"].partition(",")[0] for source in found.sources if source["clip"].endswith(" s")}
    assert len(cut) >= LEAST_CUT * len(long)
    assert_feet_stay(load_library(found.path), found.actions)


def test_people_differ_as_those_of_mocap(imported: Import, clips: list[Recording]) -> None:
    library, ratios = load_library(imported.path), {}
    for family in CLASSES:
        theirs = [each for clip in clips if clip.family == family for each in performances(clip, common_body(clip.joints))]
        ours: list[Performance] = []
        for name in imported.actions:
            if name.removeprefix("own_").startswith(family):
                for clip in shown_once(library, name):
                    named = replace(clip, family=family, description=name, labels=None)
                    ours += performances(named, common_body(named.joints))
        apart, real = (person_distances(found, periodic=False).between for found in (ours, theirs))
        ratios[family] = apart / real
    assert all(BETWEEN[0] <= ratio <= BETWEEN[1] for ratio in ratios.values()), ratios


def test_captions_hold(imported: Import) -> None:
    overrides = [
        f"story.library={imported.path}",
        "story.themes={own: 1}",
        "variants={speed: null, position: null, scale: null}",
    ]
    config = posegen.load_config("default", overrides, samples=60)
    batch = posegen.synthesize(config, range(60))
    entries = [entry for row in batch.rows for entry in row["dropped"]]
    # A statement that does not hold is removed from the captions, and listed here.
    assert sum(entry["kind"] in ("side", "count", "action") for entry in entries) <= 0.02 * len(batch.rows)
    assert sum(entry["kind"] in ("range", "overlap") for entry in entries) <= 0.05 * len(batch.rows)
