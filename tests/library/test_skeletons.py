"""Skeletons of a library: who has which, what is refused, and that bodies, checks and measures use them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from posegen.checks.limits import LEAVES, check_limits
from posegen.checks.ranges import REST, rest_angles
from posegen.config.load import load_config
from posegen.evaluation.body import joint_angles
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS, PARENTS, PARTS, SKELETONS
from posegen.library.load import load_library
from posegen.library.skeletons import MEASURED, SkeletonEntry, Skeletons
from posegen.mocap.pose_channels import distinct_skeletons
from posegen.planning.population import persons

PEOPLE = np.arange(2000)


def entry(skeleton: str, weight: float = 1.0) -> SkeletonEntry:
    offsets = {name: tuple(SKELETONS[skeleton][JOINTS.index(name)].tolist()) for name in MEASURED}
    return SkeletonEntry.model_validate({"weight": weight, "offsets": offsets})


def written(folder: Path, skeletons: dict[str, SkeletonEntry]) -> Path:
    folder.mkdir(exist_ok=True)
    content = {"skeletons": {name: each.model_dump() for name, each in skeletons.items()}}
    (folder / "skeletons.yaml").write_text(json.dumps(content), "utf-8")
    return folder


def test_persons_have_the_skeletons_of_the_library_by_weight(tmp_path: Path) -> None:
    folder = written(tmp_path / "own", {"one": entry("cmu", 3), "two": entry("h36m")})
    config = load_config("default", [f"story.library={folder}", "skeleton=library"])
    library = load_library(folder)
    rest = persons(config, library, PEOPLE).rest
    which = library.skeletons.of_persons(PEOPLE)
    expected = np.stack([SKELETONS["cmu"], SKELETONS["h36m"]])[which]
    np.testing.assert_allclose(rest, expected, atol=1e-12)
    assert abs((which == 0).mean() - 0.75) < 0.01
    assert np.array_equal(rest[:, MIRROR_JOINTS, :] * [-1, 1, 1], rest)
    # A person is the same, however many others there are.
    assert np.array_equal(persons(config, library, 7).rest, rest[7])
    spread = load_config("default", [f"story.library={folder}", "skeleton=library", "population.skeleton_spread=.02"])
    moved = persons(spread, library, PEOPLE).rest - rest
    assert 0.008 < moved[:, JOINTS.index("left_shoulder")].std() < 0.015


def test_a_preset_and_a_library_with_its_joints_make_the_same_persons(tmp_path: Path) -> None:
    folder = written(tmp_path / "own", {"one": entry("cmu")})
    options = [f"story.library={folder}", "population.skeleton_spread=.03"]
    preset, own = (load_config("default", [*options, f"skeleton={name}"]) for name in ("cmu", "library"))
    rests = [persons(config, load_library(folder), PEOPLE).rest for config in (preset, own)]
    np.testing.assert_allclose(*rests, atol=1e-12)


def test_skeletons_change_the_identity_and_their_absence_does_not(tmp_path: Path) -> None:
    plain = load_config("default", [])
    assert "skeletons" not in load_library().as_data()
    found = {plain.identity(load_library())}
    for number, skeleton in enumerate(("cmu", "h36m")):
        found.add(plain.identity(load_library(written(tmp_path / str(number), {"one": entry(skeleton)}))))
    assert len(found) == 3


def test_a_library_without_skeletons_is_refused() -> None:
    with pytest.raises(UsageError, match=r"skeleton.*skeletons\.yaml"):
        load_config("default", ["skeleton=library"])
    with pytest.raises(UsageError, match="import the clips again"):
        Skeletons({}).offsets()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left_knee": [0.1, -0.2, 0.0]}, "hang straight down"),
        ({"left_elbow": [0.0, 0.2, 0.0]}, "hang straight down"),
        ({"right_hip": [0.0, 0.2, 0.0]}, "right_hip"),
        ({"neck": [0.0, 20.0, 0.0]}, "at most"),
    ],
)
def test_bodies_that_nobody_has_are_refused(tmp_path: Path, change: dict[str, list[float]], message: str) -> None:
    offsets = {name: SKELETONS["smpl"][JOINTS.index(name)].tolist() for name in MEASURED} | change
    (tmp_path / "skeletons.yaml").write_text(json.dumps({"skeletons": {"one": {"offsets": offsets}}}), "utf-8")
    with pytest.raises(UsageError, match=message):
        load_library(tmp_path)


@pytest.mark.parametrize("skeleton", SKELETONS)
def test_angles_of_a_rest_pose_are_those_of_the_presets(skeleton: str) -> None:
    found = rest_angles(SKELETONS[skeleton])
    # The chest of the anatomical skeleton leans back by half a degree more than its pelvis.
    assert all(abs(degrees - REST[skeleton].get(name, 0.0)) < 0.55 for name, degrees in found.items())
    _, up, ahead = SKELETONS[skeleton][JOINTS.index("neck")]
    assert abs(found["shoulder_flexion"] - np.degrees(np.arctan2(ahead, up))) <= 0.005
    joints = np.zeros((len(JOINTS), 3))
    for joint, parent in enumerate(PARENTS[1:], 1):
        joints[joint] = joints[parent] + SKELETONS[skeleton][joint]
    assert max(abs(float(angle)) for angle in joint_angles(joints, found).values()) < 0.025


def test_ranges_are_those_of_the_skeleton_of_each_person(tmp_path: Path) -> None:
    # Heads of cmu lie 54 degrees further back than those of smpl, of which each range allows 45.
    library = load_library(written(tmp_path / "own", {"one": entry("cmu"), "two": entry("smpl")}))
    people = np.array([[int(np.flatnonzero(library.skeletons.of_persons(PEOPLE) == k)[0])] for k in (0, 1)])
    joints = np.zeros((2, 1, 1, 9, len(JOINTS), 3), np.float32)
    for k, skeleton in enumerate(("cmu", "smpl")):
        for joint, parent in enumerate(PARENTS[1:], 1):
            joints[k, ..., joint, :] = joints[k, ..., parent, :] + 1.7 * SKELETONS[skeleton][joint]
    labels = np.zeros((2, 1, 1, 9, len(PARTS)), np.uint16)

    def leaving(numbers: np.ndarray) -> list[bool]:
        scenes = replace(empty_scenes(2, 1, 0), length=np.full(2, 9))
        scenes = replace(scenes, persons=replace(scenes.persons, index=numbers))
        found = check_limits(joints, labels, 0, scenes, library, 25, "library")
        return [bool(bits & LEAVES) for bits in found.bodies[:, 0]]

    assert leaving(people) == [False, False]
    assert leaving(people[::-1]) == [True, True]


def test_similar_skeletons_become_one() -> None:
    random = np.random.default_rng(3)
    clips = [
        SKELETONS[name] + random.normal(0, 0.001, (22, 3)) * (np.array(MIRROR_JOINTS) == np.arange(22))[:, None] * (0, 1, 1)
        for name in ("cmu", "smpl", "cmu", "cmu")
    ]
    found = list(distinct_skeletons(clips).values())
    assert [each.weight for each in found] == [3, 1]
    for each, name in zip(found, ("cmu", "smpl"), strict=True):
        apart = [np.abs(np.array(each.offsets[joint]) - SKELETONS[name][JOINTS.index(joint)]).max() for joint in MEASURED]
        assert max(apart) < 0.004
