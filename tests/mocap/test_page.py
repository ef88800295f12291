"""The commands of docs/own-clips.md run as typed, on ten BVH files."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from tests.mocap.bvh_of_joints import write_bvh
from tests.mocap.test_import import FPS, clips_of

PAGE = Path(__file__).parents[2] / "docs" / "own-clips.md"


@pytest.mark.slow
def test_the_page_leads_to_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^    (posegen .*)$", text, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["import", "actions", "generate", "import", "mix", *["convert"] * 3]
    monkeypatch.chdir(tmp_path)
    Path("clips").mkdir()
    for action, name in (("squat", "squat"), ("kick", "front_kick")):
        for number, joints in enumerate(clips_of(action, 5), 1):
            write_bvh(Path("clips") / f"{name}_{number:02}.bvh", joints, FPS)
    write_bvh(Path("walk.bvh"), clips_of("squat", 1)[0], FPS)
    config = re.search(r"```yaml\n(samples.*?)```", text, re.DOTALL)
    assert config is not None
    Path("mine.yaml").write_text(config[1].replace("1000", "4"), encoding="utf-8")
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command
    shown = capsys.readouterr()
    assert "Imported 10 clips as 2 actions into my_actions." in shown.out
    assert "(BVH, left_hip 'LeftUpLeg', left_shoulder 'LeftArm'; centimetres, y up, 25 fps)" in shown.err
    assert Path("squat.gif").stat().st_size > 1000
    dataset = open_dataset(Path("data/mine"))
    assert dataset.header.licence == "CC-BY-4.0 (motion imported from: our lab, 2026)"
    assert dataset.header.config["skeleton"] == "library"
    assert main(["evaluate", "data/mine", "--json", "--quiet"]) == 0
    farthest = json.loads(capsys.readouterr().out)["measures"]["limits, farthest"]
    assert 0 <= farthest["worst"] < 5
    texts = [caption["text"] for sample in range(4) for row in dataset.rows(sample) for caption in row["captions"]]
    assert any("squat" in text or "front kick" in text for text in texts)
