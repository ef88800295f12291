"""``posegen evaluate`` of files: exports give the measures of the dataset, and hostile files are refused by name."""

from __future__ import annotations

import io
import os
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import posegen
from posegen.cli.main import main
from posegen.exchange.export import export
from posegen.foundations.errors import UsageError
from posegen.mocap.sources import read_source
from tests.cli.test_evaluate import evaluated
from tests.mocap.bvh_of_joints import write_bvh
from tests.once import made_once

EXACT = ("npz",)
"""Formats that hold the joints of the dataset bit by bit."""
ROUNDED = {"bvh": 2e-4}
"""Metres to which these hold them."""
BY_JOINTS = ("skate, GMD", "skate, strict", "speed of low toes", "penetration", "bone length", "overlap", "jerk")
"""Measures that use neither contact labels nor actions."""


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of four samples, and its exports."""

    def make(folder: Path) -> None:
        variants = "variants={speed: null, position: null, scale: null, mirror: false}"
        config = posegen.load_config("smoke", ["frames=60", "store={shard: 8, chunk: 4}", variants])
        posegen.generate(config, samples=4, workers=1, out=folder / "motion")
        for form in (*EXACT, *ROUNDED, "humanml3d", "hml272", "kimodo"):
            export(folder / "motion", form, folder / form, workers=1)

    return made_once(tmp_path_factory, "evaluated exports", make)


@pytest.mark.parametrize("form", [*EXACT, *ROUNDED])
def test_an_export_has_the_measures_of_the_dataset(form: str, exports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset, found = evaluated(capsys, exports / "motion")["measures"], evaluated(capsys, exports / form)
    assert (found["clips"], found["refused"]) == (4, [])
    metres = ROUNDED.get(form, 0.0)
    units = {"penetration": 2000, "bone length": 2000, "jerk": 2000, "speed of low toes": 10}
    for name in BY_JOINTS:
        tolerance = 1e-6 + metres * units.get(name, 20)
        for figure in ("median", "high"):
            expected = dataset[name][figure]
            assert found["measures"][name][figure] == (
                expected if expected is None else pytest.approx(expected, abs=tolerance)
            ), name


def test_features_give_the_joints_of_their_formats(exports: Path) -> None:
    names = sorted(path.stem for path in (exports / "humanml3d" / "new_joints").glob("*.npy"))
    for name in names:
        (joints,) = read_source(exports / "humanml3d" / "new_joints" / f"{name}.npy")
        (features,) = read_source(exports / "humanml3d" / "new_joint_vecs" / f"{name}.npy")
        np.testing.assert_allclose(features.joints, joints.joints, atol=1e-3)
        (kimodo,) = read_source(exports / "kimodo" / f"{name}.npz")
        (hml272,) = read_source(exports / "hml272" / "motion_data" / f"{name}.npy")
        assert (joints.fps, features.fps, kimodo.fps, hml272.fps) == (20, 20, 30, 30)
        # The second one faces +z; distances between joints do not depend on that.
        apart = [np.sqrt(((c.joints[:, None] - c.joints[:, :, None]) ** 2).sum(-1)) for c in (kimodo, hml272)]
        np.testing.assert_allclose(*apart, atol=1e-3)
        np.testing.assert_allclose(
            *(np.linalg.norm(np.diff(c.joints[:, 0], axis=0), axis=1) for c in (kimodo, hml272)), atol=1e-3
        )


def test_files_that_cannot_be_read_are_listed_and_others_evaluated(
    exports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joints = posegen.open(exports / "motion")[0].joints[0, 0]
    np.savez(tmp_path / "good.npz", joints=joints, fps=25)
    np.savez(tmp_path / "bad.npz", joints=joints[:, :21], fps=25)
    (tmp_path / "labels.csv").write_text("file,label\ngood.npz,wave\n")
    write_bvh(tmp_path / "fast.bvh", joints.repeat(4, 0), 100)
    assert main(["evaluate", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "2 clips" in printed.out
    assert f"refused: {tmp_path}/bad.npz: has 21 points, and their bones do not fit kit21" in printed.out
    assert (
        "fast.bvh: BVH, left_hip 'LeftUpLeg', left_shoulder 'LeftArm', centimetres, y up, 240 frames at 100 FPS" in printed.err
    )
    for arguments, message in {
        ("--encoder", "run"): "--encoder has no effect on clips",
        ("--samples", "0"): "--samples must be at least 1",
        ("--reference", "none"): "no such file or folder",
    }.items():
        assert main(["evaluate", str(tmp_path), *arguments]) == 2
        assert message in capsys.readouterr().err
    assert main(["evaluate", str(exports / "motion"), "--fps", "25"]) == 2
    assert "--fps has no effect on a dataset" in capsys.readouterr().err
    (tmp_path / "good.npz").unlink()
    (tmp_path / "fast.bvh").unlink()
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "none of the clips can be read\nrefused: " in capsys.readouterr().err


def test_a_lying_body_is_not_taken_for_one_with_another_axis_up(exports: Path, tmp_path: Path) -> None:
    x, y, z = np.moveaxis(posegen.open(exports / "motion")[0].joints[0, 0], -1, 0)
    lying = np.stack([x, z - z.min(), y + 0.5], axis=-1)
    np.save(tmp_path / "lies.npy", lying)
    (clip,) = read_source(tmp_path / "lies.npy")
    assert clip.up == "y"
    np.testing.assert_allclose(np.ptp(clip.joints, axis=(0, 1)), np.ptp(lying, axis=(0, 1)), rtol=1e-5)


def npy(array: Any, shape: tuple[int, ...] | None = None) -> bytes:
    """An array whose header may declare another shape."""
    buffer, array = io.BytesIO(), np.asarray(array)
    if array.dtype.hasobject:
        np.save(buffer, array)
        return buffer.getvalue()
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + array.tobytes()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else npy(array))
    return buffer.getvalue()


GOOD = np.cumsum(np.full((9, 22, 3), 0.01, np.float32), axis=1)
HUGE = (10**12, 22, 3)
HOSTILE = {
    "empty.bvh": b"",
    "latin.bvh": "HIERARCHY\nROOT Hüfte\n{".encode("latin-1"),
    "no_joints.bvh": b"HIERARCHY\nMOTION\nFrames: 0\n",
    "huge.npy": npy(GOOD, HUGE),
    "negative.npy": npy(GOOD, (-1, 22, 3)),
    "objects.npy": npy(np.array([{}], object)),
    "integers.npy": npy(GOOD.astype(int)),
    "nan.npy": npy(GOOD * np.nan),
    "infinite.npy": npy(GOOD * np.inf),
    "no_frames.npy": npy(GOOD[:0]),
    "features.npy": npy(np.full((9, 263), np.inf, np.float32)),
    "point.npy": npy(GOOD * 0),
    "huge.npz": npz(joints=npy(GOOD, HUGE), fps=25),
    "objects.npz": npz(joints=npy(np.array([{}], object)), fps=25),
    "rate.npz": npz(joints=GOOD, fps=1e300),
    "no_rate.npz": npz(joints=GOOD),
    "cut.npz": npz(joints=GOOD, fps=25)[:-30],
    "poses.npz": npz(poses=np.zeros((0, 66)), mocap_framerate=30),
    "turns.npz": npz(poses=npy(np.zeros((2, 66)), (10**9, 66)), mocap_framerate=30),
    "zip.npz": b"PK\x05\x06" + b"\0" * 18,
    "cut.c3d": b"\x02P" + b"\xff" * 600,
}


def test_hostile_files_are_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in HOSTILE.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "loop.bvh").symlink_to(tmp_path / "loop.bvh")
    (tmp_path / "folder.npy").mkdir()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for command in (["evaluate", str(tmp_path)], ["import", str(tmp_path), "--out", str(tmp_path / "out")]):
        assert main(command) == 2
        assert "none of the clips can be" in capsys.readouterr().err
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes
    for name in HOSTILE:
        with pytest.raises(UsageError) as refusal:
            list(read_source(tmp_path / name))
        assert str(tmp_path / name) in str(refusal.value)
        assert main(["evaluate", str(tmp_path / name)]) == 2, name
        printed = capsys.readouterr()
        assert str(tmp_path / name) in printed.err
        assert "Traceback" not in printed.err


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_read_or_refused(exports: Path, tmp_path: Path, data: st.DataObject) -> None:
    originals = [next(iter(sorted((exports / form).rglob(ending)))) for form, ending in ORIGINALS.items()]
    original = data.draw(st.sampled_from(originals))
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1) | st.integers(0, min(len(content) - 1, 600)))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=4))
    damaged = tmp_path / f"damaged{original.suffix}"
    damaged.write_bytes(content[: data.draw(st.just(len(content)) | st.integers(0, len(content)))])
    try:
        clips = list(read_source(damaged))
    except UsageError as error:
        assert str(damaged) in str(error)  # noqa: PT017
    else:
        assert all(np.isfinite(clip.joints).all() for clip in clips)


ORIGINALS = {"bvh": "*.bvh", "npz": "*.npz", "humanml3d": "0*.npy"}
