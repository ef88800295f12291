"""Clips in which joints are unknown: short gaps are interpolated, and what is left out is stated."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from benchmarks.motion.scripted import animated, shown
from posegen.cli.main import main
from posegen.cli.main import posegen as commands
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.mocap.pieces import clip_actions
from posegen.mocap.recordings import read_recordings
from posegen.mocap.sources import fill_gaps, read_clips, read_source

FPS = 25
HEAD, WRIST = JOINTS.index("head"), JOINTS.index("left_wrist")


@pytest.fixture(scope="module")
def squat() -> NDArray[np.float64]:
    return animated(shown(load_library(), "squat", 1, FPS, neutral=True), load_library(), FPS)[0].joints


def test_only_short_inner_gaps_are_interpolated() -> None:
    line = np.arange(20.0)[:, None, None] * np.ones((1, 2, 3))
    damaged = line.copy()
    damaged[:2, 0] = damaged[5:10, 0] = damaged[12:18, 0] = damaged[7:9, 1] = np.nan
    filled = fill_gaps(damaged, 5)
    np.testing.assert_array_equal(filled[2:12], line[2:12])
    assert np.isnan(filled[:2, 0]).all()
    assert np.isnan(filled[12:18, 0]).all()
    assert not np.isnan(filled[:, 1]).any()


def test_short_gaps_lose_no_frames(squat: NDArray[np.float64], tmp_path: Path) -> None:
    joints = squat.copy()
    joints[20:25, WRIST] = np.nan
    np.savez(tmp_path / "squat.npz", joints=joints, fps=FPS)
    (clip,) = read_source(tmp_path / "squat.npz")
    assert (len(clip.joints), clip.begin, clip.note) == (len(squat), 0.0, "")


def test_the_frames_that_are_used_are_stated(
    squat: NDArray[np.float64], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joints = np.concatenate([squat[:1].repeat(30, 0), squat])
    joints[10:30, HEAD] = np.nan
    np.savez(tmp_path / "squat.npz", joints=joints, fps=FPS)
    note = f"frames 31 to {len(joints)} of {len(joints)} are used; in others some joints are unknown"
    (clip,) = read_source(tmp_path / "squat.npz")
    assert (clip.begin, clip.note, len(clip.joints)) == (1.2, note, len(squat))
    notes: list[str] = []
    assert len(list(read_recordings(tmp_path, log=notes.append))) == 1
    assert notes[1] == f"{tmp_path}/squat.npz: {note}"
    assert main(["import", str(tmp_path / "squat.npz"), "--out", str(tmp_path / "text")]) == 0
    assert note in capsys.readouterr().err
    result = CliRunner().invoke(commands, ["import", str(tmp_path), "--out", str(tmp_path / "mine"), "--json"])
    (stated,) = json.loads(result.stdout)["clips"]
    assert (stated["note"], stated["begin"]) == (note, 1.2)


def test_pieces_are_named_by_the_time_in_the_file(squat: NDArray[np.float64]) -> None:
    joints = np.concatenate([squat, squat[-1:].repeat(40, 0), squat[:, :, [0, 1, 2]] * [-1, 1, 1]])
    found, later = (clip_actions(np.concatenate([joints, joints]), FPS, "a", offset=at) for at in (0.0, 10.0))
    begins = [[float(name.split(", ")[1].split()[0]) for name, _ in pieces] for pieces, _ in (found, later)]
    np.testing.assert_allclose(np.array(begins[1]) - begins[0], 10.0, atol=0.11)


def test_what_is_too_short_names_the_cause(
    squat: NDArray[np.float64], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joints = squat.copy()
    joints[4:, HEAD] = np.nan
    np.savez(tmp_path / "squat.npz", joints=joints, fps=FPS)
    assert main(["import", str(tmp_path / "squat.npz"), "--out", str(tmp_path / "mine")]) == 2
    assert f"; frames 1 to 4 of {len(joints)} are used; in others some joints are unknown" in capsys.readouterr().err
    np.savez(tmp_path / "squat.npz", joints=joints * np.nan, fps=FPS)
    with pytest.raises(UsageError, match=r"squat\.npz: has fewer than two frames in a row in which all joints are known"):
        list(read_source(tmp_path / "squat.npz"))


def test_short_clips_of_an_archive_are_left_out_by_name(squat: NDArray[np.float64], tmp_path: Path) -> None:
    clips = [squat, squat[:0], squat[:1], squat * np.nan, squat]
    path = tmp_path / "squats.npz"
    ends = np.cumsum([0, *map(len, clips)])
    np.savez(path, joints=np.concatenate(clips), offsets=ends, fps=FPS, classes=["squat"] * 5, subjects=["a"] * 5)
    refused: list[str] = []
    assert [clip.name for clip in read_clips(path, refused.append)] == [f"{path}, clip 0", f"{path}, clip 4"]
    assert refused == [
        f"{path}, clip {number}: has fewer than two frames in a row in which all joints are known; leave it out"
        for number in (1, 2, 3)
    ]
    with pytest.raises(UsageError, match="clip 1: has fewer than two frames"):
        list(read_source(path))
    result = CliRunner().invoke(commands, ["import", str(path), "--out", str(tmp_path / "mine"), "--json"])
    report = json.loads(result.stdout)
    assert (len(report["clips"]), report["refused"]) == (2, refused)
    np.savez(path, joints=squat[:1], offsets=[0, 1], fps=FPS)
    with pytest.raises(UsageError, match="clip 0: has fewer than two frames"):
        list(read_clips(path, refused.append))
