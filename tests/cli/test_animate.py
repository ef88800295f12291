"""`posegen animate`, with a model that has learned nothing: that takes a moment to make, and is as good for what is tested."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from posegen.cli.main import main

if not all(find_spec(name) for name in ("torch", "peft", "safetensors")):
    pytest.skip("the group train is not installed", allow_module_level=True)

TEXTS = ("a person walks", "a person waves")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("motion", tmp_path_factory.mktemp("run"))


def made(task: str, folder: Path) -> Path:
    from posegen.training.data.features import View
    from posegen.training.settings import Model
    from posegen.training.task import find_task
    from posegen.training.trained_models import build_model, save_model

    view = View(25, 6.25, 4, ("walk",), "hashing-for-tests", 64)
    model = build_model(find_task(task), view, Model(), 0)
    save_model(folder, find_task(task), view, Model(), model.state_dict())
    return folder


def test_arrays_with_their_words(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.npz"
    assert main(["animate", str(run), *TEXTS, "-o", str(out), "--seed", "3", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    # A fresh machine compiles kernels, which takes longer than two silent seconds.
    assert [line for line in said.err.splitlines() if not line.startswith("compile kernels")] == []
    with np.load(out, allow_pickle=False) as arrays:
        joints = arrays["joints"]
        assert joints.shape == (document["frames"], 22, 3)
        assert np.isfinite(joints).all()
        assert arrays["contact"].shape == (document["frames"], 4)
        assert arrays["texts"].tolist() == list(TEXTS)
        assert arrays["text_start"].tolist() == [part["start"] for part in document["texts"]]
        assert document["texts"][1]["start"] < document["texts"][0]["end"]
    assert main(["animate", str(run), *TEXTS, "-o", str(tmp_path / "again.npz"), "--seed", "3", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    with np.load(tmp_path / "again.npz", allow_pickle=False) as again:
        assert (again["joints"] == joints).all()


def test_one_thing_after_another_is_made_in_parts_unless_left_whole(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["animate", str(run), "a man walks, then waves", "-o", str(tmp_path / "out.npz"), "--json"]
    reported = []
    for more in ([], ["--whole"]):
        assert main([*asked, *more]) == 0
        reported.append(json.loads(capsys.readouterr().out))
    assert [part["text"] for part in reported[0]["texts"]] == ["a man walks", "a man waves"]
    assert [part["text"] for part in reported[1]["texts"]] == ["a man walks, then waves"]
    assert reported[0]["frames"] > 1.5 * reported[1]["frames"]
    assert reported[0]["texts"][1]["end"] == reported[0]["frames"]


@pytest.mark.parametrize("name", ["out.png", "out.gif"])
def test_pictures(name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["animate", str(run), TEXTS[0], "-o", str(tmp_path / name), "--seconds", "2"]) == 0
    assert f"Wrote {tmp_path / name}: 1.8 s." in capsys.readouterr().out
    with Image.open(tmp_path / name) as picture:
        assert picture.width >= 400
        assert name.endswith("png") or getattr(picture, "n_frames", 1) > 20


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([TEXTS[0], "-o", "out.avi"], "must end in .gif or .mp4 or .png or .npz"),
        ([TEXTS[0], "-o", "nowhere/out.npz"], "create it first"),
        ([TEXTS[0], "-o", "out.npz", "--seconds", "60"], "the seconds of a text must be 2 to 4"),
        ([TEXTS[0], "-o", "out.npz", "--guidance", "nan"], "'--guidance': must be a number"),
        ([TEXTS[0], "-o", "out.npz", "--seed", "-1"], "'--seed': -1 is not in the range"),
        ([TEXTS[0], "-o", "out.npz", "--encoder", "./nowhere"], "nowhere"),
        (["", "-o", "out.npz"], "there is no text to animate"),
        ([", then ".join(["walks"] * 101), "-o", "out.npz"], "at most 100 are possible"),
        (["-o", "out.npz"], "TEXT..."),
    ],
)
def test_bad_usage(run: Path, tmp_path: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(tmp_path / word) if word.startswith(("out.", "nowhere/")) else word for word in arguments]
    assert main(["animate", str(run), *arguments]) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_other_runs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "action").mkdir()
    for run, reason in ((made("action", tmp_path / "action"), "which generates no motion"), (tmp_path, "no trained model")):
        assert main(["animate", str(run), TEXTS[0], "-o", str(tmp_path / "out.npz")]) == 2
        assert reason in capsys.readouterr().err


def test_words_that_no_caption_has_are_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["animate", str(run), "a dog barks, then walks", "-o", str(tmp_path / "out.npz"), "--seconds", "2"]) == 0
    line = "not in any caption that posegen writes: dog, barks; the motion may not show what they mean\n"
    assert line in capsys.readouterr().err
    assert main(["animate", str(run), "a dog barks", "-o", str(tmp_path / "out.npz"), "--seconds", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unknown_words"] == ["dog", "barks"]
