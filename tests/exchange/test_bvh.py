"""BVH files: known poses are recovered; invalid files are refused with the line, before memory is allocated."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from posegen.errors import UsageError
from posegen.exchange.bvh import read_bvh, read_bvh_figure
from posegen.skeleton import JOINTS
from tests.evaluation.figures import posed, turn
from tests.exchange.bvh_files import MIXAMO, bvh_text

LEG = ("hip", "knee", "ankle", "foot")


def write(folder: Path, text: str) -> Path:
    path = folder / "a_1.bvh"
    path.write_text(text, encoding="utf-8")
    return path


def test_poses_come_back(tmp_path: Path) -> None:
    bent = {"left_knee": (0.0, 60.0, 0.0), "right_shoulder": (-80.0, 0.0, 0.0), "left_hip": (10.0, -40.0, 20.0)}
    figure = read_bvh_figure(write(tmp_path, bvh_text([{}, bent])))
    assert (figure.convention, figure.unit, figure.fps) == ("CMU, Mixamo or LAFAN1", "centimetres", pytest.approx(50))
    hip = turn("z", 10) @ turn("x", -40) @ turn("y", 20)
    turns = {"left_knee": turn("x", 60), "right_shoulder": turn("z", -80), "left_hip": hip}
    for frame, expected in ((0, posed({}, 1)), (1, posed(turns, 1))):
        found = figure.joints[frame] - figure.joints[frame, 0]
        np.testing.assert_allclose(found, expected[0] - expected[0, 0], atol=3e-3)


@pytest.mark.parametrize(("scale", "unit"), [(1.0, "metres"), (100.0, "centimetres"), (1 / 0.0564444, "CMU's units")])
def test_the_unit_is_guessed_by_the_legs(scale: float, unit: str, tmp_path: Path) -> None:
    figure = read_bvh_figure(write(tmp_path, bvh_text([{}] * 2, scale=scale)))
    assert figure.unit == unit
    height = figure.joints[0, JOINTS.index("head"), 1] - figure.joints[0, JOINTS.index("left_foot"), 1]
    assert 1.4 < height < 1.7


SPINE = ("pelvis", "spine1", "spine2", "spine3", "neck", "head")
ARM = ("collar", "shoulder", "elbow", "wrist")
FLAVOURS = {
    "LAFAN1": (
        "CMU, Mixamo or LAFAN1",
        "Hips Spine Spine1 Spine2 Neck Head",
        "UpLeg Leg Foot Toe",
        "Shoulder Arm ForeArm Hand",
    ),
    "CMU": (
        "CMU, Mixamo or LAFAN1",
        "Hips LowerBack Spine Spine1 Neck Head",
        "UpLeg Leg Foot ToeBase",
        "Shoulder Arm ForeArm Hand",
    ),
    "BONES-SEED": ("SOMA", "Hips Spine1 Spine2 Chest Neck1 Head", "Leg Shin Foot ToeBase", "Shoulder Arm ForeArm Hand"),
    "Biovision": ("Biovision", "Hips Chest Chest2 Chest3 Neck Head", "Hip Knee Ankle Toe", "Collar Shoulder Elbow Wrist"),
    "SMPL": ("SMPL", "Pelvis Spine1 Spine2 Spine3 Neck Head", "Hip Knee Ankle Foot", "Collar Shoulder Elbow Wrist"),
    "HDM05": (
        "ASF",
        "root lowerback upperback thorax lowerneck head",
        "femur tibia foot toes",
        "clavicle humerus radius wrist",
    ),
}
"""Convention that is found, and the names of spine, leg and arm, by the program or dataset that writes them."""


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_other_conventions_are_known(flavour: str, tmp_path: Path) -> None:
    convention, spine, leg, arm = FLAVOURS[flavour]
    names = dict(zip(SPINE, spine.split(), strict=True))
    for side in ("left", "right"):
        prefix = side[0] if convention == "ASF" else side.capitalize()
        names |= {f"{side}_{ours}": prefix + name for ours, name in zip((*LEG, *ARM), f"{leg} {arm}".split(), strict=True)}
    bent = {"left_knee": (0.0, 60.0, 0.0), "right_shoulder": (-80.0, 0.0, 0.0)}
    figure = read_bvh_figure(write(tmp_path, bvh_text([{}, bent], names)))
    same = read_bvh_figure(write(tmp_path, bvh_text([{}, bent])))
    assert figure.convention == convention
    np.testing.assert_allclose(figure.joints, same.joints)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    plain = read_bvh(write(tmp_path, bvh_text([{}])))
    marked = read_bvh(write(tmp_path, "\ufeff" + bvh_text([{}])))
    assert marked.joints == plain.joints
    np.testing.assert_array_equal(marked.values, plain.values)


def test_strange_names_and_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lacks rightforearm"):
        read_bvh_figure(write(tmp_path, bvh_text([{}], MIXAMO | {"right_elbow": "Bone7"})))
    with pytest.raises(UsageError, match="neither in metres nor in centimetres"):
        read_bvh_figure(write(tmp_path, bvh_text([{}], scale=3000.0)))


GOOD = bvh_text([{}] * 3)


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ("Frames: 3", "Frames: 400000", "more than a file of .* can hold"),
        ("Frames: 3", "Frames: 999999999999", "whole number up to 500,000"),
        ("Frames: 3", "Frames: -3", "whole number"),
        ("Frames: 3", "Frames: 4", "line 137: the file ends after 3 of 4"),
        ("Frames: 3", "Frames: 2", "more data after the last of 2"),
        ("Frame Time: 0.02", "Frame Time: 0.0", "a frame takes 0.001 to 1 seconds"),
        ("Frame Time: 0.02000000", "Frame Time: nan", "line 134: contains NaN or a number beyond"),
        ("0.000000 100.000000", "0.000000 inf", "line 135: contains NaN or a number beyond"),
        ("0.000000 100.000000", "0.000000 1e400", "line 135: contains NaN or a number beyond"),
        ("0.000000 100.000000", "0.000000 metre", "line 135: contains something that is not a number"),
        ("0.000000 100.000000", "0.000000", "line 135: has 68 numbers, not 69"),
        ("CHANNELS 6 X", "CHANNELS 60000000 X", "CHANNELS must be a count"),
        ("Zrotation Xrotation Yrotation", "Zrotation Zrotation Yrotation", "line 5: CHANNELS must be"),
        ("OFFSET 0 1 0", "OFFSET 0 1", "line 24: has 2 numbers, not 3"),
        ("HIERARCHY", "PK\x03\x04", "line 1: should be `HIERARCHY`"),
        ("MOTION", "}", "line 132: should be `MOTION`"),
        ("JOINT mixamorig:Head", "JOINT", "a joint needs a name"),
        ("HIERARCHY", "HIERARCHY" + " " * 200_000, "line 1: is longer than"),
    ],
)
def test_what_is_unsound_is_refused_with_its_line(old: str, new: str, reported: str, tmp_path: Path) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    tracemalloc.start()
    with pytest.raises(UsageError, match=reported) as refused:
        read_bvh(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
    assert str(path) in str(refused.value)


def test_deep_wide_and_cut_trees_are_refused(tmp_path: Path) -> None:
    joint = "JOINT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n"
    root = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n"
    for text in (root + joint * 10_000, root + (joint + "}\n") * 10_000):
        with pytest.raises(UsageError, match="more than 500 joints, or more than 100 below"):
            read_bvh(write(tmp_path, text))
    million = write(tmp_path, root + (joint + "}\n") * 1_000_000)
    assert million.stat().st_size > 30e6
    tracemalloc.start()
    with pytest.raises(UsageError, match="more than 500 joints"):
        read_bvh(million)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
    for cut in range(10, len(GOOD) - 30, 37):
        with pytest.raises(UsageError, match="line"):
            read_bvh(write(tmp_path, GOOD[:cut]))
    path = tmp_path / "b.bvh"
    path.write_bytes(b"HIERARCHY\nROOT \xff\xfe\n")
    with pytest.raises(UsageError, match="line 2: is not UTF-8 text"):
        read_bvh(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_bvh(tmp_path / "none.bvh")
