"""A user's clips: archives and folders that are read, and hostile or malformed ones that are refused before memory is taken."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
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
        ({"joints": np.full((50, 22, 3), -1e300)}, "some joints of clip 0 are infinite, or farther than 10,000 m"),
        ({"joints": np.float32(1)}, "joints must be float [frames, 22, 3] (got 1.0)"),
        ({"joints": np.full((50, 22, 3), "x")}, "joints must be float"),
        (
            {"offsets": np.array([0, 10, 31, 34, 99])},
            "offsets must be integers that increase from 0 to the number of frames, 50",
        ),
        ({"offsets": np.array([0, 31, 10, 34, 50])}, "offsets must be integers"),
        ({"offsets": np.array([0, 10, 31, 34, 50], np.uint8)[[0, 2, 1, 3, 4]]}, "offsets must be integers"),
        ({"offsets": np.array(["0", "10", "31", "34", "50"])}, "offsets must be integers"),
        ({"offsets": np.array([0.0, np.nan, 31, 34, 50])}, "offsets must be integers"),
        ({"offsets": np.int64(0)}, "offsets must be integers"),
        ({"offsets": np.zeros(0, np.int64)}, "offsets must be integers"),
        ({"fps": np.float64(0)}, "fps must be one number from 1 to 1000 (got 0.0)"),
        ({"fps": np.float64(1e-6)}, "fps must be one number from 1 to 1000 (got 1e-06)"),
        ({"fps": np.float64(-25)}, "fps must be one number from 1 to 1000 (got -25.0)"),
        ({"fps": np.float64("nan")}, "fps must be one number from 1 to 1000 (got nan)"),
        ({"fps": np.float64("inf")}, "fps must be one number from 1 to 1000 (got inf)"),
        ({"fps": np.float64(1e9)}, "fps must be one number from 1 to 1000"),
        ({"fps": np.array("25")}, "fps must be one number from 1 to 1000 (got '25')"),
        ({"fps": np.array([25.0, 25.0])}, "fps must be one number from 1 to 1000 (got float64 [2])"),
        ({"fps": np.zeros(0)}, "fps must be one number"),
        ({"fps": np.complex128(25)}, "fps must be one number"),
        ({"classes": np.array("walk")}, "classes must name the action of each of the 4 clips (got 'walk')"),
        ({"classes": np.array(["walk"] * 3)}, "classes must name the action of each of the 4 clips (got <U4 [3])"),
        ({"classes": np.ones(4)}, "classes must name"),
        ({"classes": np.array([b"\xff"] * 4)}, "classes cannot be read as text"),
        ({"classes": np.array(["\ud800"] * 4)}, "classes cannot be read as text"),
        ({"classes": np.array([2**31] * 4, np.uint32).view("<U1")}, "classes cannot be read as text"),
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


def bomb(path: Path, declared: int) -> Path:
    """Write an archive whose joints are 12 GiB of zeros in 12 MB, and whose directory declares `declared` bytes of them."""
    archive_of(path, joints=None)
    size = 12 * 2**30
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    stream = compressor.compress(header_of((size // (22 * 3 * 4), 22, 3), np.float32))
    stream += compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(bytes(2**26)) + compressor.flush(zlib.Z_FULL_FLUSH)
    stream += block * (size // 2**26) + compressor.flush()
    with zipfile.ZipFile(path, "a") as packed:
        member = zipfile.ZipInfo("joints.npy")
        member.compress_type, member.file_size, member.compress_size, member.CRC = (
            zipfile.ZIP_DEFLATED,
            declared,
            len(stream),
            0,
        )
        member.header_offset = packed.start_dir
        assert packed.fp
        packed.fp.seek(packed.start_dir)
        packed.fp.write(member.FileHeader(zip64=True) + stream)
        packed.start_dir = packed.fp.tell()
        packed.filelist.append(member)
        packed.writestr("more.npy", b"")  # writes the directory
    return path


READ = """
import re, sys
from pathlib import Path
from posegen.dataset.clip_files import read_clip_archive

def most():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

before = most()
try:
    read_clip_archive(Path(sys.argv[1]), ["classes"])
except Exception as error:
    print(error)
print(most() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of memory that Linux reports")
@pytest.mark.parametrize(
    ("declared", "reported"),
    [
        (12 * 2**30 + 128, "joints unpacks to 12,884,902,016 bytes; at most 2,147,483,648 are read"),
        (2**30, "joints asks for 12,884,901,744 bytes, but the file has 1,073,741,824"),
    ],
)
def test_a_real_bomb_takes_no_memory(declared: int, reported: str, tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.npz", declared)
    assert path.stat().st_size < 14e6
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True, timeout=120)
    message, taken = done.stdout.splitlines()
    assert message.startswith(f"{path}: {reported}")
    assert int(taken) < MUCH


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


def test_arrays_of_no_bytes_take_no_time(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.npz", classes=None)
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("classes.npy", header_of((10**12,), np.dtype("<U0")))  # type: ignore[arg-type]
    assert "classes" in refusal(path)


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
