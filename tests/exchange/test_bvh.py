"""BVH files: known poses are recovered; invalid files are refused with the line, before memory is allocated."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from posegen.exchange.bvh import read_bvh, read_bvh_body
from posegen.exchange.rig import read_names
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.mocap.sources import read_source
from tests.evaluation.figures import posed, turn
from tests.exchange.bvh_files import MIXAMO, bvh_text

LEG = ("hip", "knee", "ankle", "foot")


def write(folder: Path, text: str) -> Path:
    path = folder / "a_1.bvh"
    path.write_text(text, encoding="utf-8")
    return path


def test_poses_come_back(tmp_path: Path) -> None:
    bent = {"left_knee": (0.0, 60.0, 0.0), "right_shoulder": (-80.0, 0.0, 0.0), "left_hip": (10.0, -40.0, 20.0)}
    figure = read_bvh_body(write(tmp_path, bvh_text([{}, bent])))
    assert (figure.form, figure.notes) == ("BVH, left_hip 'mixamorig:LeftUpLeg', left_shoulder 'mixamorig:LeftArm'", ())
    assert figure.fps == pytest.approx(50)
    hip = turn("z", 10) @ turn("x", -40) @ turn("y", 20)
    turns = {"left_knee": turn("x", 60), "right_shoulder": turn("z", -80), "left_hip": hip}
    for frame, expected in ((0, posed({}, 1)), (1, posed(turns, 1))):
        found = 0.01 * (figure.joints[frame] - figure.joints[frame, 0])
        np.testing.assert_allclose(found, expected[0] - expected[0, 0], atol=3e-3)


UNITS = {
    "metres": 1.0, "centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048, "decimetres": 0.1,
    "CMU's units": 0.0564444,
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_is_worked_out_by_the_legs(unit: str, tmp_path: Path) -> None:
    (clip,) = read_source(write(tmp_path, bvh_text([{}] * 2, scale=1 / UNITS[unit])))
    assert clip.unit == unit
    height = clip.joints[0, JOINTS.index("head"), 1] - clip.joints[0, JOINTS.index("left_foot"), 1]
    assert 1.4 < height < 1.7


SPINE = ("pelvis", "spine1", "spine2", "spine3", "neck", "head")
ARM = ("collar", "shoulder", "elbow", "wrist")
RIGS = {
    "LAFAN1": "Hips Spine Spine1 Spine2 Neck Head | Left_ UpLeg Leg Foot Toe Shoulder Arm ForeArm Hand",
    "CMU": "Hips LowerBack Spine Spine1 Neck Head | Left_ UpLeg Leg Foot ToeBase Shoulder Arm ForeArm Hand",
    "Mixamo without a colon": "mixamorigHips mixamorigSpine mixamorigSpine1 mixamorigSpine2 mixamorigNeck mixamorigHead "
    "| mixamorigLeft_ UpLeg Leg Foot ToeBase Shoulder Arm ForeArm Hand",
    "SOMA": "Hips Spine1 Spine2 Chest Neck1 Head | Left_ Leg Shin Foot ToeBase Shoulder Arm ForeArm Hand",
    "Biovision": "Hips Chest Chest2 Chest3 Neck Head | Left_ Hip Knee Ankle Toe Collar Shoulder Elbow Wrist",
    "SMPL": "Pelvis Spine1 Spine2 Spine3 Neck Head | L_ _Hip _Knee _Ankle _Foot _Collar _Shoulder _Elbow _Wrist",
    "ASF": "root lowerback upperback thorax lowerneck head | l_ femur tibia foot toes clavicle humerus radius wrist",
    "VRM": "hips spine chest upperChest neck head | left_ UpperLeg LowerLeg Foot Toes Shoulder UpperArm LowerArm Hand",
    "VRoid": "J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Chest J_Bip_C_UpperChest J_Bip_C_Neck J_Bip_C_Head "
    "| J_Bip_L_ _UpperLeg _LowerLeg _Foot _ToeBase _Shoulder _UpperArm _LowerArm _Hand",
    "Rokoko": "Hips Spine Spine2 Spine3 Neck Head | Left_ Thigh Shin Foot Toe Shoulder Arm ForeArm Hand",
    "Unreal": "pelvis spine_01 spine_02 spine_03 neck_01 head "
    "| _l thigh_ calf_ foot_ ball_ clavicle_ upperarm_ lowerarm_ hand_",
    "Biped": "Bip01 Bip01_Spine Bip01_Spine1 Bip01_Spine2 Bip01_Neck Bip01_Head "
    "| Bip01_L_ _Thigh _Calf _Foot _Toe0 _Clavicle _UpperArm _Forearm _Hand",
    "Source": "ValveBiped.Bip01_Pelvis ValveBiped.Bip01_Spine ValveBiped.Bip01_Spine1 ValveBiped.Bip01_Spine2 "
    "ValveBiped.Bip01_Neck1 ValveBiped.Bip01_Head1 "
    "| ValveBiped.Bip01_L_ _Thigh _Calf _Foot _Toe0 _Clavicle _UpperArm _Forearm _Hand",
    "Rigify": "DEF-spine DEF-spine.001 DEF-spine.002 DEF-spine.003 DEF-neck DEF-head "
    "| .L DEF-thigh DEF-shin DEF-foot DEF-toe DEF-shoulder DEF-upper_arm DEF-forearm DEF-hand",
    "MakeHuman": "root spine05 spine04 spine03 neck01 head "
    "| .L upperleg01 lowerleg01 foot toe1-1 clavicle upperarm01 lowerarm01 wrist",
    "DAZ": "hip abdomenLower abdomenUpper chestLower neckLower head | l_ Thigh Shin Foot Toe Collar Shldr Forearm Hand",
    "Poser": "hip abdomen chest chest2 neck head | l_ Thigh Shin Foot Toe Collar Shldr ForeArm Hand",
    "OptiTrack": "Ann_Hip Ann_Ab Ann_Spine2 Ann_Chest Ann_Neck Ann_Head | Ann_L_ Thigh Shin Foot Toe Shoulder UArm FArm Hand",
    "Xsens": "Pelvis L5 L3 T12 Neck Head | Left_ UpperLeg LowerLeg Foot Toe Shoulder UpperArm ForeArm Hand",
    "Character Creator": "CC_Base_Hip CC_Base_Waist CC_Base_Spine01 CC_Base_Spine02 CC_Base_NeckTwist01 CC_Base_Head "
    "| CC_Base_L_ _Thigh _Calf _Foot _ToeBase _Clavicle _Upperarm _Forearm _Hand",
    "Second Life": "mPelvis mTorso1 mSpine2 mChest mNeck mHead | Left mHip mKnee mAnkle mFoot mCollar mShoulder mElbow mWrist",
    "Kinect": "SpineBase SpineLow SpineMid SpineShoulder Neck Head | Left Hip Knee Ankle Foot Clavicle Shoulder Elbow Wrist",
    "Maya": "Character1_Hips Character1_Spine Character1_Spine1 Character1_Spine2 Character1_Neck Character1_Head "
    "| Character1_Left_ UpLeg Leg Foot ToeBase Shoulder Arm ForeArm Hand",
    "Blender": "Armature:Hips Armature:Spine Armature:Spine1 Armature:Spine2 Armature:Neck Armature:Head "
    "| .L UpLeg Leg Foot Toe Shoulder Arm ForeArm Hand",
    "all in one case": "hips spine spine1 spine2 neck head | left_ upleg leg foot toe shoulder arm forearm hand",
    "blanks": "Hips|Spine|Spine 1|Spine 2|Neck|Head".replace(" ", "~").replace("|", " ")
    + " | Left_ ~Up~Leg ~Leg ~Foot ~Toe ~Shoulder ~Arm ~Fore~Arm ~Hand",
    "MikuMikuDance": "センター 上半身 上半身2 上半身3 首 頭 | 左_ 足 ひざ 足首 つま先 肩 腕 ひじ 手首",
    "numbers": "b0 b1 b2 b3 b4 b5 | _ 1 2 3 4 5 6 7 8",
}
"""Names of trunk, leg and arm as programs write them. The side is before the names if it ends with `_`, else after."""


def named(rig: str) -> dict[str, str]:
    """Return the names of a rig by ours."""
    trunk, limbs = rig.split("|")
    side, *parts = limbs.split()
    names = dict(zip(SPINE, trunk.split(), strict=True))
    opposite = {"Left": "Right", "left": "right", "L": "R", "l": "r", "左": "右", "": ""}
    for ours in ("left", "right"):
        written = side
        if ours == "right":
            word = max((word for word in opposite if word and word in side), key=len, default="")
            written = opposite[word].join(side.rsplit(word, 1)) if word else "x_"
        for part, name in zip((*LEG, *ARM), parts, strict=True):
            names[f"{ours}_{part}"] = written[:-1] + name if written.endswith("_") else name + written
    return {ours: name.replace("~", " ") for ours, name in names.items()}


@pytest.mark.parametrize("rig", RIGS)
def test_rigs_of_many_programs_are_recognised(rig: str, tmp_path: Path) -> None:
    bent = {"left_knee": (0.0, 60.0, 0.0), "right_shoulder": (-80.0, 0.0, 0.0)}
    figure = read_bvh_body(write(tmp_path, bvh_text([{}, bent], named(RIGS[rig]), prefix="")))
    same = read_bvh_body(write(tmp_path, bvh_text([{}, bent])))
    np.testing.assert_allclose(figure.joints, same.joints, atol=0.5)
    assert bool(figure.notes) == (rig == "numbers")


@pytest.mark.parametrize("lacking", ["neck", "left_foot right_foot", "left_collar right_collar", "neck left_foot right_foot"])
def test_joints_that_a_rig_lacks_are_estimated(lacking: str, tmp_path: Path) -> None:
    figure = read_bvh_body(write(tmp_path, bvh_text([{}] * 2, without=lacking.split())))
    same = read_bvh_body(write(tmp_path, bvh_text([{}] * 2)))
    assert not np.isnan(figure.joints).any()
    assert np.abs(figure.joints - same.joints).max() < 9  # centimetres
    assert "estimated" in figure.notes[0]


def test_files_with_another_number_of_frames_or_a_comma_or_letters_are_read(tmp_path: Path) -> None:
    good = bvh_text([{}] * 3)
    same = read_bvh_body(write(tmp_path, good))
    for declared in (2, 5):
        figure = read_bvh_body(write(tmp_path, good.replace("Frames: 3", f"Frames: {declared}")))
        assert figure.notes == (f"the file states {declared} frames and has 3",)
        np.testing.assert_array_equal(figure.joints, same.joints)
    cut = read_bvh_body(write(tmp_path, good[: good.rstrip().rindex(" ") - 30]))
    assert cut.notes == ("the file states 3 frames and has 2",)
    comma = read_bvh_body(write(tmp_path, good.replace(".", ",")))
    np.testing.assert_array_equal(comma.joints, same.joints)
    path = tmp_path / "latin.bvh"
    path.write_bytes(good.replace("mixamorig:Spine2", "Rücken").encode("latin-1"))
    np.testing.assert_array_equal(read_bvh_body(path).joints, same.joints)


def _of_root(text: str, channels: str, skipped: int) -> str:
    """Return a file whose root has other channels, without the first numbers of each frame."""
    head, frames = text.split("Frame Time: 0.02000000\n")
    rows = [" ".join(row.split()[skipped:]) for row in frames.splitlines()]
    return head.replace("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation", channels) + "\n".join(
        ["Frame Time: 0.02000000", *rows]
    )


PROP = "ROOT Prop\n{\nOFFSET 0 0 0\nCHANNELS 0\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION"
FAULTS = {
    "carriage returns": (lambda text: text.replace("\n", "\r").encode(), ""),
    "both": (lambda text: text.replace("\n", "\r\n").encode(), ""),
    "braces behind names": (lambda text: text.replace("\n{", " {").encode(), ""),
    "tabs": (lambda text: text.replace(" ", "\t").encode(), ""),
    "blank lines": (lambda text: text.replace("\n", "\n\n").encode(), ""),
    "small letters": (lambda text: text.lower().encode(), ""),
    "a byte order mark": (lambda text: f"\ufeff{text}".encode(), ""),
    "UTF-16": (lambda text: text.encode("utf-16"), ""),
    "UTF-16 without a mark": (lambda text: text.encode("utf-16-le"), ""),
    "Shift-JIS": (lambda text: text.replace("mixamorig:Spine2", "胸").encode("shift-jis"), ""),
    "a prop": (lambda text: text.replace("MOTION", PROP).encode(), "the file has 2 ROOTs"),
    "no positions": (
        lambda text: _of_root(text, "CHANNELS 3 Zrotation Xrotation Yrotation", 3).encode(),
        "root has no positions",
    ),
}
"""Content of a file, and its note."""


@pytest.mark.parametrize("fault", FAULTS)
def test_files_of_careless_programs_are_read(fault: str, tmp_path: Path) -> None:
    good = bvh_text([{}, {"left_knee": (0.0, 60.0, 0.0)}, {}])
    same = read_bvh_body(write(tmp_path, good)).joints
    encoded, note = FAULTS[fault]
    (tmp_path / "fault.bvh").write_bytes(encoded(good))
    figure = read_bvh_body(tmp_path / "fault.bvh")
    np.testing.assert_allclose(figure.joints - figure.joints[:1, :1], same - same[:1, :1], atol=1e-6)
    assert [note in text for text in figure.notes] == ([True] if note else [])


def test_a_mirrored_figure_is_mirrored_back(tmp_path: Path) -> None:
    bent = [{"left_knee": (0.0, 60.0, 0.0), "right_shoulder": (-80.0, 0.0, 0.0)}] * 3
    (clip,) = read_source(write(tmp_path, bvh_text(bent)))
    sides = {ours: ours.replace("left", "R").replace("right", "left").replace("R", "right") for ours in MIXAMO}
    (swapped,) = read_source(write(tmp_path, bvh_text(bent, {ours: MIXAMO[sides[ours]] for ours in MIXAMO})))
    assert "mirrored back" in swapped.note
    assert "mirrored" not in clip.note
    across = [JOINTS.index(sides[ours]) for ours in JOINTS]
    np.testing.assert_allclose(swapped.joints, clip.joints[:, across] * [-1, 1, 1], atol=1e-6)


def test_a_names_file_says_what_cannot_be_recognised(tmp_path: Path) -> None:
    odd = named(RIGS["LAFAN1"]) | {"left_knee": "Widget", "right_knee": "Gadget", "left_elbow": "A", "right_elbow": "B"}
    file, names = write(tmp_path, bvh_text([{}] * 2, odd, prefix="")), tmp_path / "names.yaml"
    same = read_bvh_body(write(tmp_path, bvh_text([{}] * 2, odd, prefix="")))
    names.write_text("left_knee: Widget\nright_knee: Gadget\nhip: LeftUpLeg\n")
    np.testing.assert_array_equal(read_bvh_body(file, read_names(names)).joints, same.joints)
    for text, problem in (("knee: Widget", "no joint is 'Widget' on the right"), ("hip: LeftTigh", "has no joint 'LeftTigh'")):
        names.write_text(text)
        with pytest.raises(UsageError, match=problem):
            read_bvh_body(file, read_names(names))
    names.write_text("thigh: LeftUpLeg")
    with pytest.raises(UsageError, match="must name joints among pelvis, neck, head, hip"):
        read_bvh_body(file, read_names(names))


def test_what_is_no_person_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"found no left_hip.*--names"):
        read_bvh_body(write(tmp_path, bvh_text([{}], without=["left_hip", "left_knee", "left_ankle", "left_foot"])))
    with pytest.raises(UsageError, match="fits no person in metres, centimetres"):
        list(read_source(write(tmp_path, bvh_text([{}] * 2, scale=30000.0))))


GOOD = bvh_text([{}] * 3)


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ("Frames: 3", "Frames: 999999999999", "whole number up to 500,000"),
        ("Frames: 3", "Frames: -3", "whole number"),
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
    for cut in range(10, GOOD.index("Frame Time") + 100, 37):
        with pytest.raises(UsageError, match="line"):
            read_bvh(write(tmp_path, GOOD[:cut]))
    with pytest.raises(UsageError, match="line 6: a second ROOT begins inside the first"):
        read_bvh(write(tmp_path, root + "ROOT b\n"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_bvh(tmp_path / "none.bvh")
