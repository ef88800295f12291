"""What a neutral body performs is close to the clip, and the report states how close."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from posegen.cli.main import main
from posegen.foundations.skeleton import JOINTS
from posegen.mocap.fidelity import BONES, MOST_APART, Played, bone_table
from tests.mocap.test_import import FPS, clips_of


def test_angles_are_those_between_bones() -> None:
    (joints,) = clips_of("squat")
    bent = joints.copy()
    elbow, wrist = JOINTS.index("left_elbow"), JOINTS.index("left_wrist")
    x, y, z = (joints[:, wrist] - joints[:, elbow]).T
    s, c = np.sin(np.radians(30)), np.cos(np.radians(30))
    bent[:, wrist] = joints[:, elbow] + np.stack([x, c * y - s * z, s * y + c * z], axis=-1)
    angles = Played(joints, bent).angles()
    across = np.hypot(y, z) / np.sqrt(x * x + y * y + z * z)  # a bone that is not at a right angle to the axis turns by less
    expected = np.degrees(2 * np.arcsin(across * np.sin(np.radians(15)))).mean()
    assert angles["left forearm"] == pytest.approx(expected, abs=1e-6)
    assert max(value for name, value in angles.items() if name != "left forearm") < 1e-5
    assert bone_table([Played(joints, bent)])["left forearm"] == (round(expected, 1),) * 2


def test_the_report_states_how_near_played_actions_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clips").mkdir()
    for action in ("squat", "wave"):
        np.savez(tmp_path / "clips" / f"{action}.npz", joints=clips_of(action)[0], fps=FPS)
    page = tmp_path / "page.html"
    command = ["import", str(tmp_path / "clips"), "-o", str(tmp_path / "own"), "--report", str(page), "--json", "--quiet"]
    assert main(command) == 0
    apart = json.loads(capsys.readouterr().out)["degrees_apart"]
    assert set(apart) == {*BONES, "all bones"}
    assert apart["all bones"]["median"] <= MOST_APART
    assert "clip and action are" in page.read_text()
    assert main([*command[:4], str(tmp_path / "other"), "--report", "page.txt"]) == 2
