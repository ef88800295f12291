"""Points of other projects: arrays in their orders, markers on the skin, TRC and NTU's files become our joints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.exchange.points import POINT_LAYOUTS, joint_centres, marker
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.mocap.sources import SourceClip, clip_files, read_source
from tests.exchange.bvh_files import bvh_text

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Array:
    """A person who bends a knee and an arm: float64 [frame, 22, 3] in metres."""
    path = tmp_path_factory.mktemp("body") / "a.bvh"
    turns = [
        {"left_knee": (0.0, 2.0 * f, 0.0), "right_shoulder": (-2.0 * f, 0.0, 0.0), "right_elbow": (0, -f, 0)} for f in range(40)
    ]
    path.write_text(bvh_text(turns))
    return next(read_source(path)).joints


def places(body: Array) -> dict[str, Array]:
    """Return points of a body by the names of layouts."""
    at = dict(zip(JOINTS, np.moveaxis(body, 1, 0), strict=True))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        at |= {f"{side}_ear": at["head"] + [0.07 * sign, 0.08, 0], f"{side}_big_toe": at[f"{side}_foot"] + [0, 0, 0.05]}
        at[f"{side}_heel"] = at[f"{side}_ankle"] + [0, -0.05, -0.06]
    at |= {"head_top": at["head"] + [0, 0.18, 0], "x": at["head"] + [0.02, 0.05, 0.08]}
    return (
        at
        | {f"spine_{name}": at["spine2"] for name in ("mid", "navel", "1", "2")}
        | dict.fromkeys(("spine_chest", "spine_top"), at["spine3"])
    )


def arranged(layout: str, body: Array) -> Array:
    return np.stack([places(body)[name] for name in POINT_LAYOUTS[layout].points.split()], axis=1)


def read(folder: Path, values: Array, fps: float | None = 25, names: Path | None = None) -> SourceClip:
    np.save(folder / "points.npy", values)
    (clip,) = read_source(folder / "points.npy", fps, names)
    return clip


def assert_same(
    found: Array, body: Array, within: float, parts: tuple[str, ...] = ("hip", "knee", "ankle", "elbow", "wrist")
) -> None:
    """Compare joints of limbs, relative to the hips."""
    limbs = [JOINTS.index(f"{side}_{part}") for side in ("left", "right") for part in parts]
    hips = [JOINTS.index("left_hip"), JOINTS.index("right_hip")]
    away = [joints[:, limbs] - joints[:, hips].mean(axis=1, keepdims=True) for joints in (found, body)]
    np.testing.assert_allclose(*away, atol=within)


@pytest.mark.parametrize("layout", POINT_LAYOUTS)
def test_the_order_of_points_is_found_by_the_bones(layout: str, body: Array, tmp_path: Path) -> None:
    clip = read(tmp_path, 100 * arranged(layout, body))
    assert (clip.format, clip.unit, clip.up) == (
        f"{len(POINT_LAYOUTS[layout].points.split())} points as {layout}",
        "centimetres",
        "y",
    )
    assert_same(clip.joints, body, 1e-6)
    assert np.abs(clip.joints - body)[:, JOINTS.index("head")].max() < 0.15
    assert ("estimated" in clip.note) == (layout not in ("smpl", "azure32"))


@pytest.mark.parametrize("count", [24, 52, 53, 55])
def test_hands_and_face_may_follow(count: int, body: Array, tmp_path: Path) -> None:
    hands = body[:, [JOINTS.index("left_wrist")] * (count - len(JOINTS))]
    np.testing.assert_allclose(read(tmp_path, np.concatenate([body, hands], axis=1)).joints, body, atol=1e-6)


SHAPES = {
    "MDM": lambda body: body.transpose(1, 2, 0),
    "several of MDM": lambda body: body.transpose(1, 2, 0)[None],
    "rows": lambda body: body.reshape(len(body), -1),
    "scores": lambda body: np.concatenate([body, np.ones((*body.shape[:2], 1))], axis=-1),
    "whole millimetres": lambda body: (1000 * body).round().astype(np.int64),
    "axes of a camera": lambda body: body * [1, -1, -1],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_other_shapes_are_read(shape: str, body: Array, tmp_path: Path) -> None:
    assert_same(read(tmp_path, SHAPES[shape](body)).joints, body, 2e-3)


def test_points_without_a_score_or_at_zero_are_unknown(body: Array, tmp_path: Path) -> None:
    points = np.concatenate([arranged("h36m17", body), np.ones((len(body), 17, 1))], axis=-1)
    points[5, 3] = [9, 9, 9, 0]
    points[9, 6, :3] = 0
    assert_same(read(tmp_path, points).joints, body, 0.02)


def test_the_rate_of_a_sensor_is_taken_with_a_note_and_others_must_be_given(body: Array, tmp_path: Path) -> None:
    clip = read(tmp_path, arranged("kinect20, UTD-MHAD", body), fps=None)
    assert (clip.fps, "taken as 30 frames per second" in clip.note) == (30, True)
    with pytest.raises(UsageError, match=r"states no frame rate.*give --fps"):
        read(tmp_path, arranged("coco17", body), fps=None)


def test_names_give_the_numbers_of_points_in_another_order(body: Array, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(len(JOINTS))
    with pytest.raises(UsageError, match=r"22 points, and their bones do not fit smpl\. Name them by their numbers, from 0"):
        read(tmp_path, body[:, order])
    lines = [f"{name}: {order.tolist().index(i)}" for i, name in enumerate(JOINTS) if not name.startswith("spine")]
    (tmp_path / "names.yaml").write_text("\n".join(lines))
    assert_same(read(tmp_path, body[:, order], names=tmp_path / "names.yaml").joints, body, 1e-6)


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        (np.zeros((9, 17, 2)), "Two-dimensional keypoints must be lifted first"),
        (np.concatenate([np.full((9, 17, 2), 300.0), np.ones((9, 17, 1))], axis=-1), "pixels and scores of an image"),
        (np.zeros((9, 7, 3)), "has 7 points, and no known skeleton has so many"),
        (np.full((9, 22, 3), np.inf), "some joints are infinite"),
        (np.zeros((9, 5)), r"must be float \[frames, joints, 3\]"),
        (np.array({"motion": 1}, dtype=object), r"are never read.*allow_pickle=True"),
    ],
)
def test_what_is_no_body_gets_advice(values: Array, advice: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=advice):
        read(tmp_path, values)


@pytest.mark.parametrize(
    ("ending", "advice"),
    [("pkl", "joblib.load"), ("fbx", "Blender"), ("json", "lift"), ("mat", "scipy"), ("doc", "convert it to BVH")],
)
def test_files_of_other_programs_get_advice(ending: str, advice: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{ending}").write_bytes(b"x")
    with pytest.raises(UsageError, match=advice):
        clip_files([tmp_path / f"a.{ending}"])


def ntu_text(bodies: Mapping[str, tuple[int, Array]], frames: int) -> str:
    """Write bodies, each with its first frame, as NTU RGB+D does."""
    lines = [str(frames)]
    for frame in range(frames):
        seen = [(name, points[frame - first]) for name, (first, points) in bodies.items() if 0 <= frame - first < len(points)]
        lines.append(str(len(seen)))
        for name, points in seen:
            lines += [f"{name} 0 1 1 1 1 0 0.1 0.2 2", "25", *(" ".join(map(str, [*point, *range(9)])) for point in points)]
    return "\n".join(lines)


def test_bodies_of_ntu_are_clips(body: Array, tmp_path: Path) -> None:
    points = arranged("kinect25, NTU RGB+D", body)
    path = tmp_path / "S001C001P001R001A023.skeleton"
    text = ntu_text({"72057": (0, points), "72058": (10, points[:20])}, len(points))
    path.write_text(text)
    first, second = read_source(path)
    assert (first.fps, len(first.joints), len(second.joints)) == (30, len(body), 20)
    assert_same(first.joints, body, 1e-6)
    for broken in (text[: len(text) // 2], "a b c", "", text.replace("\n25\n", "\n24\n", 1)):
        path.write_text(broken)
        with pytest.raises(UsageError, match="is no skeleton file of NTU"):
            list(read_source(path))


def trc_text(points: Mapping[str, Array], rate: float = 50) -> str:
    count = len(next(iter(points.values())))
    head = [
        "PathFileType\t4\t(X/Y/Z)\ta.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
        f"{rate}\t{rate}\t{count}\t{len(points)}\tmm",
    ]
    head += ["Frame#\tTime\t" + "\t\t\t".join(points) + "\t\t", "\t\tX1\tY1\tZ1"]
    rows = np.stack([*points.values()], axis=1).reshape(count, -1)
    cells = [["" if np.isnan(value) else f"{value:.4f}" for value in row] for row in rows]
    return "\n".join([*head, "", *(f"{i}\t{i / rate}\t" + "\t".join(row) for i, row in enumerate(cells, 1))])


def test_joint_centres_of_trc_are_read_with_gaps(body: Array, tmp_path: Path) -> None:
    at = places(body)
    parts = {
        "Hip": "hip",
        "Knee": "knee",
        "Ankle": "ankle",
        "BigToe": "big_toe",
        "Heel": "heel",
        "Shoulder": "shoulder",
        "Elbow": "elbow",
    }
    points = {
        f"{s[0].upper()}{theirs}": 1000 * at[f"{s}_{ours}"]
        for s in ("left", "right")
        for theirs, ours in (parts | {"Wrist": "wrist"}).items()
    }
    points |= {"Neck": 1000 * at["neck"], "Head": 1000 * at["head"]}
    points["LKnee"][7] = np.nan
    (tmp_path / "a.trc").write_text(trc_text(points))
    (clip,) = read_source(tmp_path / "a.trc")
    assert (clip.format, clip.unit, clip.fps) == ("TRC, named points", "millimetres", 50)
    assert_same(clip.joints, body, 0.02)
    (tmp_path / "a.trc").write_text(trc_text({"M1": points["LHip"], "M2": points["RHip"]}))
    with pytest.raises(UsageError, match=r"found no left_hip.* among its joints 'M1', 'M2'.*--names"):
        list(read_source(tmp_path / "a.trc"))
    (tmp_path / "a.trc").write_text("Frame#\n")
    with pytest.raises(UsageError, match="does not begin with the lines PathFileType"):
        list(read_source(tmp_path / "a.trc"))


MARKERS = (
    "asis psis knee_out knee_in ankle_out ankle_in toe shoulder elbow_out elbow_in wrist_thumb wrist_finger c7 chest_top head"
)
PLUG_IN_GAIT, QUALISYS, ANIMATION = (
    dict(zip(MARKERS.split(), names.split(), strict=True))
    for names in (
        "LASI LPSI LKNE - LANK - LTOE LSHO LELB - LWRA LWRB C7 CLAV LFHD",
        "L_IAS L_IPS L_FLE L_FME L_FAL L_TAM L_FM2 L_SAE L_HLE L_HME L_RSP L_USP CV7 SJN L_HEAD",
        "WaistLFront WaistLBack LKneeOut LKneeIn LAnkleOut LAnkleIn LForefoot2 LShoulderTop LElbowOut LElbowIn "
        "LWristIn LWristOut SpineTop SternumTop HeadFront",
    )
)


def markers_of(body: Array, names: Mapping[str, str]) -> dict[str, Array]:
    """Return markers in millimetres from which the formulas give the joints of a body that stands upright and faces +z."""
    at = {name: 1000 * place for name, place in places(body).items()}
    hips = (at["left_hip"] + at["right_hip"]) / 2
    half = float(np.linalg.norm(at["left_hip"] - at["right_hip"], axis=-1).mean()) / 2
    width, depth = (half - 7.3) / 0.33, 150.0
    front = hips + np.array([0, 0.30 * width + 10.9, 0.24 * depth + 9.9])
    apart = np.linalg.norm(at["left_shoulder"] - at["right_shoulder"], axis=-1, keepdims=True)
    found: dict[str, Array] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        aside = np.array([sign, 0.0, 0.0])
        own = {"asis": front + aside * width / 2, "psis": front + aside * 40 - [0, 0, depth], "toe": at[f"{side}_foot"]}
        own |= {
            f"{joint}_{end}": at[f"{side}_{joint}"] + way * 45 * aside
            for joint in ("knee", "ankle", "elbow")
            for end, way in (("out", 1), ("in", -1))
        }
        own |= {"wrist_thumb": at[f"{side}_wrist"] + [0, 0, 30], "wrist_finger": at[f"{side}_wrist"] - [0, 0, 30]}
        own |= {"shoulder": at[f"{side}_shoulder"] + 0.17 * apart * [0, 1, 0]}
        for name, place in own.items():
            if names[name] != "-":
                found[names[name].replace("L", side[0].upper(), 1)] = place
    neck = {
        "c7": at["neck"] - [0, 0, 50],
        "chest_top": at["neck"] + [0, 0, 50],
        "head": at["neck"] + 2 * (at["head"] - at["neck"]),
    }
    return found | {names[name]: place for name, place in neck.items()}


@pytest.mark.parametrize(("names", "within"), [(PLUG_IN_GAIT, 0.05), (QUALISYS, 0.01), (ANIMATION, 0.01)])
def test_joint_centres_of_markers_are_those_of_the_formulas(
    names: dict[str, str], within: float, body: Array, tmp_path: Path
) -> None:
    (tmp_path / "a.trc").write_text(trc_text(markers_of(body, names)))
    (clip,) = read_source(tmp_path / "a.trc")
    assert (clip.format, clip.unit) == ("TRC, joint centres of markers", "millimetres")
    assert_same(clip.joints, body, within, ("hip", "knee", "ankle", "shoulder", "elbow", "wrist", "foot"))


def test_centres_in_the_file_are_kept_and_lacking_markers_are_named(body: Array) -> None:
    markers = markers_of(body, PLUG_IN_GAIT)
    markers["LFEP"] = markers["LASI"] + 5.0
    centres, lacking = joint_centres([*markers], np.stack([*markers.values()], axis=1)) or ({}, [""])
    assert lacking == []
    np.testing.assert_array_equal(centres["left_hip"], markers["LFEP"])
    arms = {
        name: place for name, place in markers.items() if marker(name)[1] in ("asis", "psis", "knee_out", "ankle_out", "toe")
    }
    _, lacking = joint_centres([*arms], np.stack([*arms.values()], axis=1)) or ({}, [""])
    assert lacking[0] == "left shoulder (shoulder)"
    assert joint_centres(["LHip", "RHip"], np.zeros((2, 2, 3))) is None


def test_the_first_of_several_subjects_is_used(body: Array, tmp_path: Path) -> None:
    own = markers_of(body, QUALISYS)
    both = {f"Ann:{name}": place for name, place in own.items()} | {f"Bob:{name}": place[::-1] for name, place in own.items()}
    for first, (points, expected) in {
        "Ann": (both, body),
        "Bob": (dict(reversed(both.items())), body[::-1]),
    }.items():
        (tmp_path / "a.trc").write_text(trc_text(points | {"box:1": own["L_IAS"]}))
        (clip,) = read_source(tmp_path / "a.trc")
        assert_same(clip.joints, expected, 0.01)
        assert "the file has the subjects " in clip.note
        assert clip.note.startswith(f"the file has the subjects '{first}'")


def test_tables_of_other_programs_are_read(body: Array, tmp_path: Path) -> None:
    good = trc_text(markers_of(body, ANIMATION))
    lines = good.splitlines()
    spaced = "\n".join([*lines[:2], "  " + lines[2].replace("\t", "\t\t "), *lines[3:]])
    commas = "\n".join(line.replace("\t", ",") + ",,," for line in [*lines, ""])
    for text in (spaced, commas):
        (tmp_path / "a.trc").write_text(text)
        (clip,) = read_source(tmp_path / "a.trc")
        assert clip.fps == 50
        assert_same(clip.joints, body, 0.01)
