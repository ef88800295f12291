"""Clips are converted without a library: joints are kept, one bad file costs no other, and options act as messages state."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from posegen.cli.main import main
from posegen.exchange.bvh import read_bvh_body
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.mocap.convert import convert_clips, resample_body
from posegen.mocap.sources import SHORT_UNITS, UNITS, UP_AXES, read_source
from tests.exchange.bvh_files import bvh_text

Joints = NDArray[np.float64]
FPS = 50.0


def bent(frames: int = 80) -> list[dict[str, tuple[float, float, float]]]:
    """Return angles of a person who bends, turns and raises an arm."""
    return [
        {
            "pelvis": (0.0, 0.0, t), "spine1": (0.0, 0.2 * t, 0.1 * t), "spine3": (0.1 * t, 0.2 * t, 0.3 * t),
            "right_shoulder": (-1.2 * t, 0.0, 0.0), "left_elbow": (0.0, -t, 0.0), "left_knee": (0.0, 0.3 * t, 0.0),
        }
        for t in range(frames)
    ]  # fmt: skip


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "clips" / "bend_01.bvh"
    path.parent.mkdir()
    path.write_text(bvh_text(bent(), fps=FPS), encoding="utf-8")
    return path


def distance(found: Joints, expected: Joints) -> float:
    """Return the largest distance of joints, metres, after heading and origin are undone; the last frame may be missing."""
    a, b = (joints[: len(found)] - joints[:1, :1] for joints in (found, expected))
    dot = (a[..., 0] * b[..., 0] + a[..., 2] * b[..., 2]).sum()
    angle = np.arctan2((a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]).sum(), dot)
    c, s = np.cos(angle), np.sin(angle)
    turned = np.stack([c * a[..., 0] + s * a[..., 2], a[..., 1], c * a[..., 2] - s * a[..., 0]], axis=-1)
    return float(np.sqrt(((turned - b) ** 2).sum(-1)).max())


def joints_of(path: Path) -> Joints:
    return next(read_source(path)).joints


@pytest.mark.parametrize(
    ("form", "file", "fps"),
    [
        ("humanml3d", "new_joint_vecs/bend_01.npy", None), ("bvh", "bend_01.bvh", 20.0), ("npz", "bend_01.npz", 20.0),
        ("kimodo", "bend_01.npz", None), ("hml272", "motion_data/bend_01.npy", None), ("holosoma", "bend_01.npz", 20.0),
    ],
)  # fmt: skip
def test_joints_are_kept(walk: Path, form: str, file: str, fps: float | None, tmp_path: Path) -> None:
    found = convert_clips([walk], form, tmp_path / "out", fps=fps, workers=1)
    assert (found.clips, found.failures) == (["bend_01"], [])
    (clip,) = read_source(tmp_path / "out" / file, unstated_fps=20)
    assert clip.fps == (20 if form not in ("kimodo", "hml272") else 30)
    assert distance(clip.joints, resample_body(joints_of(walk), FPS, clip.fps)) < 2e-3


def test_humanml3d_is_read_again_as_bvh(walk: Path, tmp_path: Path) -> None:
    convert_clips([walk], "humanml3d", tmp_path / "features", workers=1)
    assert (tmp_path / "features" / "texts" / "bend_01.txt").read_text().startswith("bend#")
    assert (tmp_path / "features" / "train.txt").read_text() == "bend_01\n"
    convert_clips([tmp_path / "features" / "new_joint_vecs"], "bvh", tmp_path / "back", workers=1)
    figure = read_bvh_body(tmp_path / "back" / "bend_01.bvh")
    assert figure.fps == pytest.approx(20)
    assert distance(0.01 * figure.joints, resample_body(joints_of(walk), FPS, 20)) < 2e-3


def test_bones_keep_their_lengths_or_get_those_given(walk: Path, tmp_path: Path) -> None:
    def lengths(joints: Joints) -> Joints:
        return np.asarray(np.sqrt(((joints[:, 1:] - joints[:, PARENTS[1:]]) ** 2).sum(-1)))

    source = lengths(joints_of(walk))
    np.testing.assert_allclose(lengths(resample_body(joints_of(walk), FPS, 20)), source[:1].repeat(32, 0), atol=1e-6)
    given = tmp_path / "000021.npy"
    np.save(given, 1.1 * joints_of(walk))
    convert_clips([walk], "humanml3d", tmp_path / "out", skeleton=given, workers=1)
    found = lengths(np.load(tmp_path / "out" / "new_joints" / "bend_01.npy"))
    np.testing.assert_allclose(found, 1.1 * source[:1].repeat(len(found), 0), atol=1e-5)


def test_a_bad_file_costs_no_other(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (walk.parent / "broken.bvh").write_text("HIERARCHY\nnothing\n")
    assert main(["convert", str(walk.parent), "--to", "npz", "-o", str(tmp_path / "out"), "--workers", "1"]) == 1
    printed = capsys.readouterr()
    assert f"failed: {walk.parent / 'broken.bvh'}, line 2: should be `ROOT`" in printed.err
    assert "1 failure:" in printed.err
    assert "Converted 1 clip into" in printed.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"bend_01.npz", "clips.jsonl"}


def test_a_file_alone_may_be_named(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bend.bvh"
    assert main(["convert", str(walk), "--to", "bvh", "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(out), "format": "bvh", "clips": 1, "failures": []}
    assert distance(joints_of(out), joints_of(walk)) < 1e-3
    assert main(["convert", str(walk), "--to", "bvh", "-o", str(out)]) == 2
    assert "exists and is not an empty folder; choose another one with --out" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["amass", "csv", "glb", "hf"])
def test_formats_that_only_others_read_are_written(walk: Path, form: str, tmp_path: Path) -> None:
    assert convert_clips([walk], form, tmp_path / "out", workers=1).failures == []
    assert max(path.stat().st_size for path in (tmp_path / "out").rglob("*.*")) > 5000


def test_readings_of_sensors_are_written_in_three_formats(walk: Path, tmp_path: Path) -> None:
    for form in ("imu", "imu-parquet", "unimts"):
        assert convert_clips([walk], form, tmp_path / form, workers=1).clips == ["bend_01"]
    with np.load(tmp_path / "imu/bend_01.npz") as stored:
        arrays = dict(stored)
    names = arrays["placements"].tolist()
    assert (arrays["rate"], arrays["acceleration"].shape, len(names)) == (4 * FPS, (320, 17, 3), 17)
    assert np.median(np.linalg.norm(arrays["acceleration"], axis=-1)) == pytest.approx(9.81, rel=0.05)
    table = pq.read_table(tmp_path / "imu-parquet/bend_01.parquet").to_pydict()
    wrist = arrays["angular_velocity"][:, names.index("left_wrist"), 2]
    np.testing.assert_array_equal(np.float32(table["left_wrist_angular_velocity_z"]), wrist)
    assert table["time"][-1] == pytest.approx(319 / 200)
    sim = np.load(tmp_path / "unimts/sim/bend_01.npy")
    assert sim.shape == (32, 22, 6)
    assert (tmp_path / "unimts/aug_texts/bend_01.txt").read_text() == "bend\n"
    np.testing.assert_allclose(np.linalg.norm(sim[0, JOINTS.index("head"), :3]), 9.81, rtol=0.1)


def test_files_of_one_name_are_all_kept(walk: Path, tmp_path: Path) -> None:
    other = tmp_path / "clips" / "ann" / walk.name
    other.parent.mkdir()
    other.write_bytes(walk.read_bytes())
    found = convert_clips([tmp_path / "clips"], "npz", tmp_path / "out", workers=1)
    assert len(set(found.clips)) == 2
    assert len([*(tmp_path / "out").glob("*.npz")]) == 2


@pytest.mark.parametrize("command", ["convert", "import"])
def test_files_without_a_rate_need_fps(command: str, walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "no_rate.npz"
    np.savez(path, joints=joints_of(walk))
    line = [command, str(path), "-o", str(tmp_path / "out"), *(["--to", "bvh"] if command == "convert" else [])]
    assert main(line) == 2
    assert f"{path}: states no frame rate, such as an array fps; add it, or give --fps" in capsys.readouterr().err
    assert main([*line, "--fps", "50"]) == 0


def test_formats_and_rates_that_do_not_fit_are_refused(walk: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs actions or a camera"):
        convert_clips([walk], "pyskl", tmp_path / "out")
    with pytest.raises(UsageError, match=r"has 20 frames per second \(got 30\). Leave out --fps; --source-fps"):
        convert_clips([walk], "humanml3d", tmp_path / "out", fps=30)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("unit", SHORT_UNITS)
def test_a_unit_may_be_given(unit: str, tmp_path: Path) -> None:
    path = tmp_path / "small.bvh"
    scale = 0.25 / UNITS[SHORT_UNITS[unit]]  # too small a person for any unit
    path.write_text(bvh_text([{}] * 3, scale=scale, place=(0.0, 0.25, 0.0)), encoding="utf-8")
    (clip,) = read_source(path, unit=unit)
    assert clip.unit == SHORT_UNITS[unit]
    assert np.ptp(clip.joints[0, :, 1]) == pytest.approx(0.25 * np.ptp(joints_of_a_body()[:, 1]), rel=1e-3)


def joints_of_a_body() -> Joints:
    from posegen.foundations.bodies import body_offsets
    from posegen.foundations.scene import empty_scenes

    offsets = body_offsets(empty_scenes(1, 1, 1).persons)[0, 0].astype(np.float64)
    joints = np.zeros((len(JOINTS), 3))
    for joint, parent in enumerate(PARENTS[1:], 1):
        joints[joint] = joints[parent] + offsets[joint]
    return joints


@pytest.mark.parametrize("up", UP_AXES)
def test_the_axis_that_is_up_may_be_given(up: str, walk: Path, tmp_path: Path) -> None:
    expected = joints_of(walk)
    x, y, z = np.moveaxis(expected, -1, 0)
    turned = {"x": (y, -x, z), "-x": (-y, x, z), "y": (x, y, z), "-y": (x, -y, -z), "z": (x, -z, y), "-z": (x, z, -y)}[up]
    np.savez(tmp_path / "turned.npz", joints=np.stack(turned, axis=-1), fps=FPS)
    (clip,) = read_source(tmp_path / "turned.npz", up=up)
    np.testing.assert_allclose(clip.joints, expected, atol=1e-9)
