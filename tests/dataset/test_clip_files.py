"""A user's clips: archives and folders that are read, and hostile or malformed ones that are refused before memory is taken."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from posegen.dataset import clip_files
from posegen.dataset.clip_files import read_clip_archive, read_clip_folder
from posegen.foundations.errors import UsageError
from tests.dataset.clip_archives import FRAMES, archive_of

MUCH = 50e6
"""Bytes that no refusal may take."""


def refusal(path: Path, required: tuple[str, ...] = ("classes",)) -> str:
    """Return the message for a file that must be refused without taking memory."""
    tracemalloc.start()
    with pytest.raises(UsageError) as raised:
        read_clip_folder(path) if path.is_dir() else read_clip_archive(path, required)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < MUCH
    text = str(raised.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_an_archive_is_read(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.npz", subjects=np.array([1, 1, 2, 2]), fps=np.array([50]))
    clips = read_clip_archive(path, ["classes", "subjects"])
    assert [len(joints) for joints in clips.joints] == list(FRAMES)
    assert [float(joints[0, 0, 0]) for joints in clips.joints] == [1, 11, 32, 35]
    assert (clips.fps, clips.subjects) == (50.0, ["1", "1", "2", "2"])
    assert clips.classes == ["walk", "run", "walk", "run"]
    assert read_clip_archive(archive_of(path, classes=None), []).classes == [""] * 4


def test_a_folder_per_class_is_read(tmp_path: Path) -> None:
    for word in ("wave", "bow"):
        (tmp_path / word).mkdir()
        np.save(tmp_path / word / "one.npy", np.zeros((30, 22, 3), np.float32))
    clips = read_clip_folder(tmp_path)
    assert (clips.classes, clips.fps) == (["bow", "wave"], 25.0)


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"classes": None}, "has no array classes"),
        ({"subjects": None}, "has no array subjects"),
        ({"joints": np.zeros((50, 21, 3), np.float32)}, "joints must be float [frames, 22, 3] (got float32 [50, 21, 3])"),
        ({"joints": np.zeros((50, 22, 3), np.int64)}, "joints must be float"),
        ({"joints": np.full((50, 22, 3), np.inf)}, "some joints of clip 0 are infinite, or farther than 10,000 m"),
        ({"joints": np.full((50, 22, 3), 1e300)}, "farther than 10,000 m from the origin"),
        ({"joints": np.float32(1)}, "joints must be float [frames, 22, 3] (got 1.0)"),
        (
            {"offsets": np.array([0, 10, 31, 34, 99])},
            "offsets must be integers that increase from 0 to the number of frames, 50",
        ),
        ({"offsets": np.array([0, 31, 10, 34, 50])}, "offsets must be integers"),
        ({"offsets": np.array(["0", "10", "31", "34", "50"])}, "offsets must be integers"),
        ({"offsets": np.int64(0)}, "offsets must be integers"),
        ({"fps": np.float64(-25)}, "fps must be one number from 1 to 1000 (got -25.0)"),
        ({"fps": np.float64(1e-6)}, "fps must be one number from 1 to 1000 (got 1e-06)"),
        ({"fps": np.float64("nan")}, "fps must be one number from 1 to 1000 (got nan)"),
        ({"fps": np.array("25")}, "fps must be one number from 1 to 1000 (got '25')"),
        ({"fps": np.array([25.0, 25.0])}, "fps must be one number from 1 to 1000 (got float64 [2])"),
        ({"fps": np.complex128(25)}, "fps must be one number"),
        ({"classes": np.array("walk")}, "classes must name the action of each of the 4 clips (got 'walk')"),
        ({"classes": np.array(["walk"] * 3)}, "classes must name the action of each of the 4 clips (got <U4 [3])"),
        ({"classes": np.ones(4)}, "classes must name"),
        ({"classes": np.array([b"\xff"] * 4)}, "classes cannot be read as text"),
        ({"classes": np.array(["\ud800"] * 4)}, "classes cannot be read as text"),
        ({"classes": np.array([{}, {}, {}, {}])}, "classes holds Python objects"),
        ({"subjects": np.array(["a", "b"])}, "subjects must name one subject for each of the 4 clips"),
        ({"subjects": np.array([None] * 4)}, "subjects holds Python objects"),
    ],
)
def test_malformed_arrays_are_named_with_a_fix(tmp_path: Path, changes: dict[str, object], reported: str) -> None:
    path = archive_of(tmp_path / "a.npz", **{"subjects": np.arange(4), **changes})
    text = refusal(path, ("classes", "subjects"))
    assert reported in text
    # What to do follows.
    assert text[text.index(reported[:8]) :].count(". ") >= 1


def header_of(shape: tuple[int, ...], dtype: type) -> bytes:
    """Return the header of an array that is not there."""
    file = io.BytesIO()
    described = {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, described)
    return file.getvalue()


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive_of(tmp_path / "bomb.npz", joints=None)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed, packed.open("joints.npy", "w") as member:
        member.write(header_of((250_000, 22, 3), np.float32))
        for _ in range(66):
            member.write(bytes(1_000_000))
    monkeypatch.setattr(clip_files, "MOST_BYTES", 60_000_000)
    assert path.stat().st_size < 200_000
    assert "joints unpacks to 66,000,128 bytes; at most 60,000,000 are read. " in refusal(path)
    monkeypatch.setattr(clip_files, "MOST_LABEL_BYTES", 100)
    monkeypatch.setattr(clip_files, "MOST_BYTES", 70_000_000)
    assert "unpacks to" in refusal(archive_of(tmp_path / "labels.npz"))


def test_a_header_that_declares_more_than_the_file_has_is_refused(tmp_path: Path) -> None:
    for name, shape, reported in (
        ("joints", (10**9, 22, 3), "joints asks for 264,000,000,000 bytes, but the file has"),
        ("joints", (-1, 22, 3), "joints asks for"),
        ("classes", (10**12,), "classes asks for"),
    ):
        path = archive_of(tmp_path / "a.npz", **{name: None})
        with zipfile.ZipFile(path, "a") as packed:
            packed.writestr(f"{name}.npy", header_of(shape, np.float32) + bytes(1000))
        assert reported in refusal(path)
    (tmp_path / "folder" / "walk").mkdir(parents=True)
    file = tmp_path / "folder" / "walk" / "a.npy"
    file.write_bytes(header_of((10**9, 22, 3), np.float32) + bytes(1000))
    with pytest.raises(UsageError, match=r"walk/a\.npy: joints asks for 264,000,000,000 bytes"):
        read_clip_folder(tmp_path / "folder")


def test_a_clip_of_too_many_frames_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clip_files, "LONGEST_CLIP", 20)
    assert "joints: clip 1 has 21 frames; at most 20 of a clip are read. Cut it" in refusal(archive_of(tmp_path / "a.npz"))
    (tmp_path / "folder" / "walk").mkdir(parents=True)
    np.save(tmp_path / "folder" / "walk" / "a.npy", np.zeros((21, 22, 3)))
    assert "walk/a.npy has 21 frames" in refusal(tmp_path / "folder")


@pytest.mark.parametrize(
    "content",
    [b"", b"mine", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x04\x00" + b"((((", b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{"],
)
def test_files_that_are_no_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    assert "cannot be read as an .npz file of plain arrays" in refusal(tmp_path / "a.npz")
    path = archive_of(tmp_path / "b.npz", joints=None)
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("joints.npy", content)
    assert "joints cannot be read as a plain array" in refusal(path)
    (tmp_path / "folder" / "walk").mkdir(parents=True)
    (tmp_path / "folder" / "walk" / "a.npy").write_bytes(content)
    with pytest.raises(UsageError, match=r"a\.npy: cannot be read as an \.npy file of a plain array"):
        read_clip_folder(tmp_path / "folder")


def test_damage_at_any_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.npz")
    with np.load(path) as arrays:
        np.savez_compressed(path, **arrays)
    data = path.read_bytes()
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            read_clip_archive(path, ["classes"])
        except UsageError as error:
            assert str(error).startswith(str(path))  # noqa: PT017


def test_absent_files_and_empty_folders_are_refused(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "none.npz")
    assert "contains no clips" in refusal(tmp_path)
    (tmp_path / "walk").mkdir()
    (tmp_path / "walk" / "broken.npy").symlink_to(tmp_path / "none")
    os.mkfifo(tmp_path / "walk" / "pipe.npy")
    os.mkfifo(tmp_path / "pipe.npz")
    assert "contains no clips" in refusal(tmp_path)
    assert "there is no such file" in refusal(tmp_path / "pipe.npz")
