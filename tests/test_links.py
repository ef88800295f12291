"""A link out of a folder of clips or of a library is refused, and nothing of what it leads to is read or quoted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from posegen.cli.main import main
from posegen.foundations.errors import UsageError, require_inside
from posegen.library.load import load_library
from posegen.mocap.labels import texts_beside
from posegen.training.data.own_clips import labels_of_clips, read_own_clips

SECRET = "ssh-rsa AAAA: secret\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "id"
    path.parent.mkdir()
    path.write_text(SECRET, "utf-8")
    return path


@pytest.mark.parametrize("command", [["import", "CLIPS", "-o", "OUT"], ["evaluate", "CLIPS"], ["predict", "RUN", "CLIPS"]])
@pytest.mark.parametrize("name", ["a.bvh", "b/c.bvh", "a.npz", "a.npy", "a.c3d", "a.trc"])
def test_clips_behind_links_are_refused(
    command: list[str], name: str, secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if command[0] == "predict" and name != "a.npy":
        pytest.skip("one is enough: the same files are listed")
    folder = tmp_path / "clips"
    link = folder / name
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    named = {"CLIPS": str(folder), "OUT": str(tmp_path / "out"), "RUN": str(tmp_path / "run")}
    assert main([named.get(part, part) for part in command]) in (1, 2)
    shown = capsys.readouterr()
    assert "secret" not in shown.out + shown.err
    if command[0] != "predict":
        assert f"{link}: is a link to something outside {folder}; put a copy of the file there" in shown.err


def test_links_within_a_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "folder" / "data").mkdir(parents=True)
    (tmp_path / "folder" / "data" / "a.npy").touch()
    (tmp_path / "folder" / "b.npy").symlink_to("data/a.npy")
    (tmp_path / "link").symlink_to("folder")
    for folder in (tmp_path / "folder", tmp_path / "link"):
        require_inside(folder, folder / "b.npy")
        require_inside(folder, folder / "absent")


def test_labels_texts_and_folders_of_classes_behind_links_are_refused(secret: Path, tmp_path: Path) -> None:
    clips = tmp_path / "clips"
    for name in ("walk", "run"):
        (clips / name).mkdir(parents=True)
        np.save(clips / name / "a.npy", np.zeros((10, 22, 3), np.float32))
    (clips / "labels.csv").symlink_to(secret)
    with pytest.raises(UsageError, match=r"labels\.csv: is a link to something outside"):
        labels_of_clips(clips, ["walk/a.npy"], "mood")
    (clips / "labels.csv").unlink()
    (clips / "jump").symlink_to(secret.parent)
    np.save(secret.parent / "a.npy", np.zeros((10, 22, 3), np.float32))
    with pytest.raises(UsageError, match=r"jump/a\.npy: is a link to something outside"):
        read_own_clips(clips, 25)
    (clips / "texts").mkdir()
    (clips / "texts" / "a.txt").symlink_to(secret)
    with pytest.raises(UsageError, match=r"texts/a\.txt: is a link to something outside"):
        texts_beside(clips / "walk" / "a.npy")


@pytest.mark.parametrize("name", ["mine.yaml", "actions/mine.yaml", "themes.yaml", "words/en.yaml"])
def test_a_library_does_not_follow_links_out_of_its_folder(name: str, secret: Path, tmp_path: Path) -> None:
    link = tmp_path / "library" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    with pytest.raises(UsageError, match="is a link to something outside") as refused:
        load_library(tmp_path / "library")
    assert "secret" not in str(refused.value)
