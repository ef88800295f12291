"""Clips become actions: of posegen's own motion, whose actions are known, written as files of other programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import posegen
from benchmarks.motion.scripted import animated, shown
from posegen.cli.main import main
from posegen.cli.main import posegen as commands
from posegen.evaluation.body import point, true_intervals
from posegen.exchange.bvh import read_bvh_body
from posegen.exchange.huggingface import finish
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.generation.header import LICENCE, data_licence
from posegen.library.load import load_library
from posegen.mocap.actions import clip_action
from posegen.mocap.labels import action_name, label_of, read_label_table, verb_of_label, verb_of_sentence
from posegen.mocap.library import Import, find_fault, import_clips
from posegen.mocap.sources import is_mirrored, read_source
from tests.conftest import Clip
from tests.mocap.bvh_of_joints import write_bvh
from tests.once import made_once

FPS = 25
PELVIS, LEFT_WRIST = JOINTS.index("pelvis"), JOINTS.index("left_wrist")


def clips_of(action: str, count: int = 1) -> list[NDArray[np.float64]]:
    """Some people who perform an action of the library, from standing to standing."""
    scenes = shown(load_library(), action, count, FPS, neutral=True)
    if action == "wave":  # the other arm rests, so that the clip has a side
        scenes.key[:] = 0
    scenes.side[:] = np.where(scenes.side == 2, 2, 0)
    return [recording.joints for recording in animated(scenes, load_library(), FPS)]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Import:
    """A library of two squats, a front kick and a wave with the left hand, written as BVH."""

    def make(folder: Path) -> None:
        (folder / "clips").mkdir(parents=True)
        for action, name, count in (("squat", "squat", 2), ("kick", "front_kick", 1), ("wave", "greet", 1)):
            for number, joints in enumerate(clips_of(action, count)):
                write_bvh(folder / "clips" / f"{name}_{number + 1}.bvh", joints, FPS)

    folder = made_once(tmp_path_factory, "bvh clips", make) / "clips"
    return import_clips([folder], tmp_path_factory.mktemp("own") / "Own clips", licence="CC-BY-4.0", source="our lab")


def test_the_writer_of_these_tests_is_read_back(tmp_path: Path) -> None:
    (joints,) = clips_of("wave")
    write_bvh(tmp_path / "wave.bvh", joints, FPS)
    figure = read_bvh_body(tmp_path / "wave.bvh")
    limbs = [i for i, name in enumerate(JOINTS) if not name.startswith("spine")]
    found = 0.01 * (figure.joints - figure.joints[:, :1])
    np.testing.assert_allclose(found[:, limbs], (joints - joints[:, :1])[:, limbs], atol=2e-3)


def test_clips_of_a_label_become_strategies(imported: Import) -> None:
    assert imported.refused == []
    assert {name: len(clips) for name, clips in imported.actions.items()} == {
        "own_squat": 2,
        "own_front_kick": 1,
        "own_greet": 1,
    }
    library = load_library(imported.path)
    assert len(library.action("own_squat").performances) == 2
    assert library.action("own_greet").layered
    assert library.action("own_greet").sided
    assert "near_arm" in library.action("own_greet").parts
    assert "legs" not in library.action("own_greet").parts
    assert library.entries["own_greet"].signs.side.more in ("hand_height", "hand_ahead")
    assert imported.verbs["own_front_kick"] == ["performs|performing|performed|perform front kick"]
    assert list(library.themes["own_clips"].actions) == ["own_front_kick", "own_greet", "own_squat"]


def usual_depth(height: NDArray[np.float64]) -> float:
    """Return the median depth of squats, as a share of the height in standing."""
    low = true_intervals(height < 0.85 * height[0])
    return 1 - float(np.median([height[squat].min() for squat in low])) / height[0]


def test_any_body_performs_what_the_clip_shows(imported: Import) -> None:
    library = load_library(imported.path)
    (clip,) = clips_of("squat")
    # Squats of the clip have several depths, of which a performance keeps the usual ones.
    depth = usual_depth(clip[:, PELVIS, 1])
    action = library.action("own_squat")
    scenes = shown(library, "own_squat", 6, FPS, neutral=True)
    scenes.amplitude[:] = 1.0
    depths = []
    for recording in animated(scenes, library, FPS):
        begin = recording.segments[0]["start"]
        depths.append(usual_depth(recording.joints[begin:, PELVIS, 1]))
    assert action.cycle > 1
    np.testing.assert_allclose(np.mean(depths), depth, atol=0.08)


def test_terms_reach_the_dataset(imported: Import) -> None:
    library = load_library(imported.path)
    assert library.clip_terms == (("CC-BY-4.0", "our lab"),)
    assert data_licence(library) == "CC-BY-4.0 (motion imported from: our lab)"
    assert data_licence(load_library()) == LICENCE == "CC0-1.0"


def test_captions_are_of_the_words_of_the_label(imported: Import, tmp_path: Path) -> None:
    config = posegen.load_config("default", [f"story.library={imported.path}", "story.themes={own_clips: 1}"], samples=12)
    batch = posegen.synthesize(config, range(12))
    texts = " ".join(caption["text"] for row in batch.rows for caption in row["captions"])
    assert "squat" in texts
    assert "front kick" in texts
    assert not [entry for row in batch.rows for entry in row["dropped"] if entry["kind"] in ("side", "count")]


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("A person is waving their right hand.", None),
        ("the man jumps up", "jumps|jumping|jumped|jump up"),
        ("a person walks and then sits", None),
        ("someone picks something up with his hands", "picks|picking|picked|pick something up with {their} hands"),
        ("a person#walk/VERB#0.0#0.0", None),
    ],
)
def test_sentences_become_verbs(text: str, verb: str | None) -> None:
    assert verb_of_sentence(text) == verb


def test_labels_come_from_a_table_or_from_texts(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("file,label,text\na.bvh,Golf swing,a man swings a golf club\na.bvh,Golf swing,\n")
    table = read_label_table(tmp_path / "labels.csv")
    label = label_of(tmp_path / "a.bvh", table, "")
    assert (label.name, label.texts) == ("golf_swing", ("a man swings a golf club",))
    with pytest.raises(UsageError, match=r"b\.bvh: has no row in the table of labels"):
        label_of(tmp_path / "b.bvh", table, "")
    for folder in ("texts", "new_joints"):
        (tmp_path / folder).mkdir()
    (tmp_path / "texts" / "000003.txt").write_text("a person throws a ball.#a/DET person/NOUN#0.0#0.0\n")
    assert label_of(tmp_path / "new_joints" / "000003.npy", None, "").name == "throw"
    assert verb_of_label("throw") == "throws|throwing|threw|throw"
    (tmp_path / "labels.csv").write_text("name\nx\n")
    with pytest.raises(UsageError, match=r"labels\.csv, line 2: needs `file` and `label`"):
        read_label_table(tmp_path / "labels.csv")


def test_rows_are_matched_by_the_longest_end_of_the_path(tmp_path: Path) -> None:
    rows = ["clip01,wave,", "a/clip01.npz,kick,", "b/clip01,squat,a person squats", "clip02,jump,"]
    (tmp_path / "labels.csv").write_text("\n".join(["file,label,text", *rows]) + "\n")
    table = read_label_table(tmp_path / "labels.csv")
    files = [tmp_path / name for name in ("a/clip01.npz", "b/clip01.npz", "c/clip01.npz", "clip02.07.bvh", "clip02.bvh")]
    assert [label_of(file, table, "").name for file in files if "07" not in file.name] == ["kick", "squat", "wave", "jump"]
    with pytest.raises(UsageError, match=r"clip02\.07\.bvh: has no row"):
        label_of(files[3], table, "")
    (tmp_path / "labels.csv").write_text("file,label\nclip01,wave\nclip01,kick\n")
    with pytest.raises(
        UsageError, match=r"line 3: 'clip01' has the label wave in an earlier line; if these are two files, give"
    ):
        read_label_table(tmp_path / "labels.csv")
    (tmp_path / "labels.csv").write_text("file,label\nclip01,跳\n", "utf-8")
    with pytest.raises(UsageError, match=r"line 2: the label '跳' has no word in the letters a to z .*; give an English label"):
        read_label_table(tmp_path / "labels.csv")


def test_labels_of_other_letters_are_words_or_refused(tmp_path: Path) -> None:
    assert [action_name(text) for text in ("Übung_01", "U\u0308bung", "Fußtritt", "Прыжок", "01", "left")] == [
        "ubung",
        "ubung",
        "fusstritt",
        "",
        "",
        "",
    ]
    for name in ("прыжок.npz", "01.npz"):
        with pytest.raises(UsageError, match=f"{name}: its label .* has no word .*; give an English label in a table"):
            label_of(tmp_path / name, None, "")
    with pytest.raises(UsageError, match="squats, clip 1: its label '3' has no word"):
        label_of(tmp_path / "squats.npz", None, "3", "squats, clip 1")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "01.txt").write_text("a person throws a ball.\n")
    assert label_of(tmp_path / "01.npz", None, "").name == label_of(tmp_path / "01.npz", None, "7").name == "throw"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, names of files are UTF-8")
def test_a_name_that_is_not_utf8_is_refused_and_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (joints,) = clips_of("squat")
    clips = tmp_path / "clips"
    clips.mkdir()
    np.savez(clips / os.fsdecode(b"kick-\xff.npz"), joints=joints, fps=FPS)
    arguments = ["import", str(clips), "--out", str(tmp_path / "mine")]
    assert main(arguments) == 2
    assert r"its name is not UTF-8, or has a hidden character; rename it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["clips"]
    np.savez(clips / "squat.npz", joints=joints, fps=FPS)
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (list(report["actions"]), len(report["refused"])) == (["own_squat"], 1)
    assert {path.name for path in tmp_path.iterdir()} == {"clips", "mine"}


def test_the_command_names_clips_without_a_label(tmp_path: Path) -> None:
    (joints,) = clips_of("squat")
    (tmp_path / "clips").mkdir()
    for name in ("squat.npz", "蹲.npz"):
        np.savez(tmp_path / "clips" / name, joints=joints, fps=FPS)
    result = CliRunner().invoke(commands, ["import", str(tmp_path / "clips"), "--out", str(tmp_path / "mine"), "--json"])
    report = json.loads(result.stdout)
    assert (list(report["actions"]), len(report["refused"])) == (["own_squat"], 1)
    assert "蹲.npz: its label '蹲' has no word" in report["refused"][0]


def test_the_command_counts_files_and_trials_and_quotes_its_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (joints,) = clips_of("walk")
    np.savez(tmp_path / "walk.npz", joints=joints, fps=FPS)
    out = tmp_path / "my clips"
    assert main(["import", str(tmp_path / "walk.npz"), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert f"posegen generate --config '{out}'" in printed.out
    config = posegen.load_config(out)
    assert (config.story.library, config.story.themes) == (out.resolve(), {"my_clips": 1})
    assert config.skeleton == "library"
    for line in ("read: 0 of 1 file ", "try: 0 of 1 clip ", "try: 1 of 1 clip ", "write the library"):
        assert line in printed.err


def test_units_and_axes_are_worked_out(tmp_path: Path) -> None:
    (joints,) = clips_of("squat")
    up_z = np.stack([joints[..., 0], -joints[..., 2], joints[..., 1]], axis=-1)
    np.savez(tmp_path / "millimetres.npz", joints=(1000 * up_z).astype(np.float32), fps=25)
    (clip,) = read_source(tmp_path / "millimetres.npz")
    assert (clip.unit, clip.up, clip.fps) == ("millimetres", "z", 25)
    np.testing.assert_allclose(clip.joints - clip.joints[:1, :1], joints - joints[:1, :1], atol=1e-3)


def test_rotations_of_smpl_are_read(tmp_path: Path) -> None:
    poses = np.zeros((40, 72))
    poses[:, 3 * JOINTS.index("left_shoulder") + 2] = -np.pi / 2 * np.linspace(0, 1, 40)
    np.savez(tmp_path / "arm.npz", poses=poses, trans=np.zeros((40, 3)), mocap_framerate=20)
    (clip,) = read_source(tmp_path / "arm.npz")
    arm = clip.joints[:, LEFT_WRIST] - clip.joints[:, JOINTS.index("left_shoulder")]
    # From the T-pose, where the arm points to the left, to hanging.
    assert arm[0, 0] > 0.4
    assert arm[-1, 1] < -0.4
    np.savez(tmp_path / "wild.npz", poses=np.full((40, 72), np.nan), trans=np.zeros((40, 3)), mocap_framerate=20)
    with pytest.raises(UsageError, match="not finite"):
        list(read_source(tmp_path / "wild.npz"))
    np.savez(tmp_path / "rate.npz", poses=poses, trans=np.zeros((40, 3)))
    with pytest.raises(UsageError, match="states no frame rate"):
        list(read_source(tmp_path / "rate.npz"))
    (given,) = read_source(tmp_path / "rate.npz", fps=20)
    np.testing.assert_array_equal(given.joints, clip.joints)
    np.savez(tmp_path / "path.npz", poses=poses, mocap_framerate=20)
    with pytest.raises(UsageError, match="has no trans, transl, smpl_trans or root_trans"):
        list(read_source(tmp_path / "path.npz"))
    trans = np.linspace(0, 1, 40)[:, None] * [1.0, 0.0, 0.0]
    parts = {"global_orient": poses[:, :3], "body_pose": poses[:, 3:66].reshape(40, 21, 3), "transl": trans}
    np.savez(tmp_path / "smplx.npz", **parts, mocap_frame_rate=20)
    np.savez(tmp_path / "aist.npz", smpl_poses=poses, smpl_trans=100 * trans, fps=20)
    np.savez(tmp_path / "amass.npz", poses=poses, trans=trans, mocap_framerate=20)
    same, *others = (next(read_source(tmp_path / f"{name}.npz")) for name in ("amass", "smplx", "aist"))
    for other in others:
        np.testing.assert_allclose(other.joints, same.joints, atol=1e-9)


def test_actions_that_no_library_can_hold_are_refused_by_name() -> None:
    action = clip_action(clips_of("squat")[0], FPS, "a.bvh")
    assert find_fault("a.bvh", action) is None
    far = {"cycle_keys": [{"at": 0.5, "pose": {"far_foot_forward": 3.06}}]}
    fault = find_fault("a.bvh", replace(action, paced=lambda *stages: action.paced(*stages) | far))
    assert fault == "a.bvh: cycle_keys[0]: far_foot_forward is in leg lengths, from -2 to 2 (got 3.06)"


def test_clips_that_no_action_can_show_are_refused_by_name() -> None:
    (joints,) = clips_of("squat")
    with pytest.raises(UsageError, match="still: nothing moves in it"):
        clip_action(joints[:1].repeat(50, 0), FPS, "still")
    carried = joints.copy()
    carried[20:60, :, 1] += 0.4
    with pytest.raises(UsageError, match=r"carried: has no foot on the ground for 1\.\d+ s and does not fall freely"):
        clip_action(carried, FPS, "carried")
    broken = joints.copy()
    neck = broken[:, [JOINTS.index("neck")]]
    above = [JOINTS.index(name) for name in ("head",)]
    broken[30:40, above] = neck[30:40] + np.array([0.0, -0.25, 0.0])
    fault = r"broken: neck flexion is -?\d+ degrees at 1\.\d+ s, outside of its range of -45 to 45"  # a head upside down
    with pytest.raises(UsageError, match=fault):
        clip_action(broken, FPS, "broken")


def test_a_trunk_that_turns_a_little_too_far_is_brought_into_range() -> None:
    (joints,) = clips_of("squat")
    above = [i for i, name in enumerate(JOINTS) if not any(part in name for part in ("pelvis", "hip", "knee", "ankle", "foot"))]

    def turned(degrees: float) -> np.ndarray:
        made, pelvis = joints.copy(), joints[:, [PELVIS]]
        angle = np.radians(degrees) * np.hanning(len(joints))[:, None]
        x, y, z = np.moveaxis((joints - pelvis)[:, above], -1, 0)
        s, c = np.sin(angle), np.cos(angle)
        made[:, above] = pelvis + np.stack([c * x + s * z, y, c * z - s * x], axis=-1)
        return made

    poses = [key["pose"] for key in clip_action(turned(55.0), FPS, "turned").entry["cycle_keys"]]
    assert 15 < max(abs(pose.get("trunk_rotation", 0.0)) for pose in poses) <= 30
    with pytest.raises(UsageError, match=r"turned: trunk rotation is -?\d+ degrees at .* outside of its range of -30 to 30"):
        clip_action(turned(80.0), FPS, "turned")


def test_an_arm_stretched_to_the_side_has_no_flexion() -> None:
    (joints,) = clips_of("squat")
    shoulder = JOINTS.index("left_shoulder")

    def with_arm(flexion: float, abduction: float) -> np.ndarray:
        """Return the clip with a straight left arm that goes from hanging to these degrees, and back."""
        made, size = joints.copy(), np.hanning(len(joints))
        flexed, away = np.radians(flexion) * size, np.radians(abduction) * size
        arm = np.stack([np.sin(away), -np.cos(away) * np.cos(flexed), np.cos(away) * np.sin(flexed)], axis=-1)
        for part, length in (("left_elbow", 0.28), ("left_wrist", 0.53)):
            made[:, JOINTS.index(part)] = made[:, shoulder] + length * arm
        return made

    clip_action(with_arm(215, 80), FPS, "aside")
    with pytest.raises(UsageError, match="behind: left shoulder flexion is 2"):
        clip_action(with_arm(215, 30), FPS, "behind")


@pytest.mark.parametrize(("plane", "refused"), [(15.0, False), (5.0, False), (-15.0, False), (-60.0, True)])
def test_arms_that_circle_hang_again_or_are_refused(plane: float, refused: bool) -> None:
    (joints,) = clips_of("squat")
    made, shoulder = joints.copy(), JOINTS.index("left_shoulder")
    # The arm is up while the body stands between two squats: over a trunk that leans it would be too far back.
    third = len(joints) // 3
    half = third + int(joints[third : 2 * third, PELVIS, 1].argmax())
    passed = (np.arange(len(joints)) - half) / (0.7 * FPS)
    up, down = (np.radians(170.0) * np.clip(share, 0, 1)[:, None] for share in (passed + 1, passed))
    # Up ahead, and down at the side, ahead of the shoulders or behind them.
    side = np.array([np.cos(np.radians(plane)), 0.0, np.sin(np.radians(plane))])
    below, ahead = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    arm = np.where(down == 0, np.cos(up) * below + np.sin(up) * ahead, -np.cos(down) * below + np.sin(down) * side)
    for part, length in (("left_elbow", 0.28), ("left_wrist", 0.53)):
        made[:, JOINTS.index(part)] = made[:, shoulder] + length * arm
    if refused:
        with pytest.raises(UsageError, match=r"circle: left arm circles .*: cut the clip before \d\.\d\d s"):
            clip_action(made, FPS, "circle")
        return
    action = clip_action(made, FPS, "circle")
    assert not action.entry["sided"]  # so that the left arm is the far one
    angles = [
        key["pose"]["far_shoulder_abduction"] for key in action.entry["cycle_keys"] if "far_shoulder_abduction" in key["pose"]
    ]
    assert max(angles) > 60
    assert abs(angles[-1]) < 30
    flexed = [
        key["pose"]["far_shoulder_flexion"] for key in action.entry["cycle_keys"] if "far_shoulder_flexion" in key["pose"]
    ]
    assert max(flexed) > 150
    assert abs(flexed[-1]) < 30


def test_the_command_reports_what_it_worked_out(tmp_path: Path) -> None:
    (joints,) = clips_of("squat")
    write_bvh(tmp_path / "squat_01.bvh", joints, FPS)
    (tmp_path / "bad.bvh").write_text("HIERARCHY\n")
    result = CliRunner().invoke(commands, ["import", str(tmp_path), "--out", str(tmp_path / "mine"), "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert list(report["actions"]) == ["own_squat"]
    assert report["clips"][0]["format"] == "BVH, left_hip 'LeftUpLeg', left_shoulder 'LeftArm'"
    assert (report["clips"][0]["unit"], report["clips"][0]["fps"]) == ("centimetres", 25.0)
    assert "bad.bvh, line 1" in report["refused"][0]
    assert "licence or the source is unknown" in result.stderr
    assert load_library(tmp_path / "mine").clip_terms == (("unknown", "unknown"),)
    assert main(["import", str(tmp_path), "--out", str(tmp_path / "mine")]) == 2


def test_a_c3d_file_whose_sizes_lie_is_refused(tmp_path: Path) -> None:
    head = bytearray(512)
    head[:4] = bytes([2, 0x50, 200, 0])
    head[6:10] = (1).to_bytes(2, "little") + (60000).to_bytes(2, "little")
    (tmp_path / "lies.c3d").write_bytes(head)
    tracemalloc.start()
    with pytest.raises(UsageError, match="cannot hold"):
        list(read_source(tmp_path / "lies.c3d"))
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


# faiss, which other tests import, and ezc3d share tables of types of SWIG: beside it, ezc3d reads files but writes none.
WRITE_C3D = """
import sys
import ezc3d, numpy as np
content, points, names = ezc3d.c3d(), np.load(sys.argv[1]), sys.argv[3:]
for key, value in (("RATE", [100.0]), ("LABELS", names), ("UNITS", ["mm"])):
    content["parameters"]["POINT"][key]["value"] = value
content["data"]["points"] = points
content.write(sys.argv[2])
"""


def test_joint_centres_of_c3d_are_read(tmp_path: Path) -> None:
    pytest.importorskip("ezc3d")
    (joints,) = clips_of("squat")
    points = np.ones((4, len(JOINTS), len(joints)))
    points[:3] = 1000 * np.moveaxis(joints, (0, 1, 2), (2, 1, 0))
    np.save(tmp_path / "points.npy", points)
    names = [f"Ann:{name.title().replace('_', '')}" for name in JOINTS]
    subprocess.run([sys.executable, "-c", WRITE_C3D, tmp_path / "points.npy", tmp_path / "squat.c3d", *names], check=True)
    (clip,) = read_source(tmp_path / "squat.c3d")
    assert (clip.unit, clip.fps, clip.joints.shape) == ("millimetres", 100.0, joints.shape)
    np.testing.assert_allclose(
        clip.joints[:, PELVIS] - clip.joints[0, PELVIS], joints[:, PELVIS] - joints[0, PELVIS], atol=1e-3
    )
    # The library crashes, or asks for gigabytes, where the sizes of parameters lie.
    content = (tmp_path / "squat.c3d").read_bytes()
    messages = []
    for at in (525, 549):
        (tmp_path / "lies.c3d").write_bytes(content[:at] + b"\xff\x7f" + content[at + 2 :])
        with pytest.raises(UsageError, match=r"lies\.c3d: ") as refused:
            list(read_source(tmp_path / "lies.c3d"))
        messages.append(str(refused.value))
    # Here only a name is lost, without which the others suffice.
    (tmp_path / "lies.c3d").write_bytes(content[:861] + b"\xff\x7f" + content[863:])
    (other,) = read_source(tmp_path / "lies.c3d")
    assert np.abs(other.joints - clip.joints).max() < 0.1
    assert any("the reader crashed" in message for message in messages), messages


def test_the_card_names_the_terms_of_clips(tmp_path: Path) -> None:
    finish(tmp_path, iter([{"counts": {"train": 3}, "licence": "CC-BY-4.0 (motion imported from: our lab)"}]))
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "license: other" in card
    assert "whose licences apply: CC-BY-4.0 (motion imported from: our lab)." in card
    assert "no recorded motion" not in card
    assert "cc0" not in card


def test_names_of_joints_come_from_a_file(tmp_path: Path) -> None:
    (joints,) = clips_of("squat")
    file, names = tmp_path / "squat.bvh", tmp_path / "names.yaml"
    write_bvh(file, joints, FPS)
    (same,) = read_source(file)
    text = file.read_text(encoding="utf-8")
    for ours, theirs in {"Hips": "Root", "LeftLeg": "Bone7", "RightLeg": "Bone12", "LeftFoot": "Bone8"}.items():
        text = text.replace(ours, theirs)
    file.write_text(text)
    page = (Path(__file__).parents[2] / "docs" / "own-clips.md").read_text(encoding="utf-8")
    names.write_text(page.rpartition("```yaml\n")[2].partition("```")[0] + "left_ankle: Bone8\n")
    (clip,) = read_source(file, names=names)
    np.testing.assert_allclose(clip.joints, same.joints, atol=1e-6)
    names.write_text("left_ankle: Bone9\n")
    with pytest.raises(UsageError, match="has no joint 'Bone9', which --names gives as left_ankle"):
        list(read_source(file, names=names))


@pytest.mark.parametrize("part", ["left_wrist", "right_wrist", "left_elbow"])
def test_a_bone_shorter_than_any_of_a_person_costs_no_clip(part: str, tmp_path: Path) -> None:
    (joints,) = clips_of("squat")
    above = {"wrist": "elbow", "elbow": "shoulder"}[part.partition("_")[2]]
    end, begin = (point(joints, name) for name in (part, f"{part.partition('_')[0]}_{above}"))
    moved = joints.copy()
    below = [JOINTS.index(part), *([JOINTS.index(part.replace("elbow", "wrist"))] if "elbow" in part else [])]
    moved[:, below] -= 0.75 * (end - begin)[:, None]
    np.savez(tmp_path / "squat.npz", joints=moved, fps=FPS)
    assert main(["import", str(tmp_path / "squat.npz"), "--out", str(tmp_path / "own"), "--quiet"]) == 0
    assert len(load_library(tmp_path / "own").entries) > 0


def test_no_mocap_is_taken_for_mirrored_and_what_is_mirrored_is_found(reference: list[Clip]) -> None:
    other = {"left": "right", "right": "left"}
    halves = [name.partition("_") for name in JOINTS]
    sides = [JOINTS.index(f"{other.get(side, side)}{bar}{part}") for side, bar, part in halves]
    bodies = [clip.joints.astype(np.float64) for clip in reference]
    bodies = [joints[np.isfinite(joints).all((1, 2))] for joints in bodies]
    assert not any(is_mirrored(joints) for joints in bodies)
    assert np.mean([is_mirrored(joints[:, sides]) for joints in bodies]) > 0.95
