"""The command ``posegen profile``: its output, its estimates, and that it leaves no files."""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from posegen.generation.session import temporary_folder

ROOT = Path(__file__).parents[2]
PATIENCE = 300
SETTINGS = ["frames=40", "store.shard=4", "store.chunk=2"]
SMALL = ["--config", "smoke", *(part for setting in SETTINGS for part in ("--set", setting))]
PROFILE = ["profile", *SMALL, "--workers=1", "--repeats=1", "--samples=30"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for datasets."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def profiled(folder: Path) -> dict[str, Any]:
    """Return one profile as JSON, with its exit code, standard error, and page."""
    options = ["--target", "60,1000000", "--budget=1000d", "--json", "--html", str(folder / "page.html")]
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main([*PROFILE, "--out", str(folder / "new" / "dataset"), *options])
    page = (folder / "page.html").read_text(encoding="utf-8")
    (folder / "page.html").unlink()
    return {"code": code, "error": error.getvalue(), "page": page, **json.loads(out.getvalue())}


def test_each_target_has_an_estimate(profiled: dict[str, Any]) -> None:
    small, large = profiled["targets"]
    assert [small["samples"], large["samples"]] == [60, 10**6]
    for target in (small, large):
        assert 0 < target["seconds_low"] < target["seconds"] < target["seconds_high"]
        assert (target["workers"], target["sequences"]) == (1, 5 * target["samples"])
        assert target["limited_by"] in ("processor", "disk write", "sync", "memory")
        assert target["recommended_shard"] % 2 == 0
        suffices = target["bytes"] <= profiled["disk_free"]  # few disks have room for a million
        assert (target["disk_suffices"], target["memory_suffices"], target["fits"]) == (suffices, True, suffices)
    steady = 10**6 / profiled["rates"][0]["samples_per_second"]
    assert large["seconds"] == pytest.approx(steady, rel=0.1)
    assert small["fits"]
    assert profiled["code"] == int(not large["fits"])


@pytest.mark.slow
def test_a_target_that_does_not_fit_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "disk").mkdir()
    options = ["--target=60,1000000000", "--budget=0.1s", "--workers=2", "--repeats=2", "--out", str(tmp_path / "disk/dataset")]
    assert main([*PROFILE, *options]) == 1
    out, error = capsys.readouterr()
    assert re.search(r"^ captions +[\d,]+ +\d+\.\d% ", out, re.MULTILINE)
    assert re.search(r"^ 60 .* no *$", out, re.MULTILINE)
    assert "1,000,000,000 samples do not fit on this disk: they need " in out
    assert re.search(r"^60 samples (may )?take longer than 0s: up to ", out, re.MULTILINE)
    assert re.search(r"^ 1 .*\n 2 ", out, re.MULTILINE)
    assert re.search(r"^Recommended: --workers [12], shards of ", out, re.MULTILINE)
    assert error.splitlines()[-1] == "measuring the start of the program"
    assert [*(tmp_path / "disk").iterdir()] == []


def test_stages_add_up_to_a_shard(profiled: dict[str, Any]) -> None:
    stages = profiled["stages"]
    assert {"plan", "captions", "motion", "variants", "encode", "hash", "write", "sync", "start-up"} <= stages.keys()
    shard = {name: stage["seconds"] for name, stage in stages.items() if stage["per"] == "shard"}
    assert sum(shard.values()) == pytest.approx(profiled["shard_seconds"], rel=1e-6)
    assert shard["rest"] < 0.3 * profiled["shard_seconds"]
    assert all(shard[name] > 0 for name in ("plan", "motion", "variants", "checks", "captions", "encode", "hash", "sync"))
    assert stages["write"]["background_seconds"] > 0
    assert stages["start-up"]["per"] == "run"
    assert stages["start-up"]["seconds"] >= stages["start-up"]["program"] > 0


def test_bytes_match_a_real_run(profiled: dict[str, Any], tmp_path: Path) -> None:
    made = posegen.generate(posegen.load_config("smoke", SETTINGS), samples=60, workers=1, out=tmp_path / "dataset")
    assert profiled["targets"][0]["bytes"] == pytest.approx(made.bytes, rel=0.03)


def test_nothing_stays(profiled: dict[str, Any], folder: Path) -> None:
    assert [*folder.iterdir()] == []
    assert "measuring" in profiled["error"]


def test_the_page_has_no_external_resources(profiled: dict[str, Any]) -> None:
    page = profiled["page"]
    assert page.count("<rect") > 30
    assert "shard (4 samples)" in page
    assert not re.search(r"<script|<link|src=|@import|url\(", page)
    addresses = set(re.findall(r"https?://[^\"\s]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    empty = len(re.findall(r"<(?:meta|!doctype|rect|line)", page))
    assert page.count("<") == 2 * page.count("</") + empty


def wait_for(folder: Path, pattern: str, process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + PATIENCE
    while not [*folder.glob(pattern)]:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.mark.slow
def test_an_interrupted_profile_leaves_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    # Half a minute of samples, and few enough for a disk with little room: a run refuses to fill it.
    command = [sys.executable, "-m", "posegen", *PROFILE[:-1], "--samples=5000", "--out", str(disk / "dataset")]
    # Tests started in the background may inherit that interrupts are ignored, which processes pass on.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
            # Within a run: after the first complete shard.
            wait_for(disk, ".posegen-profile~*/dataset/receipts/*.json", process)
            process.send_signal(signal.SIGINT)
            _, printed = process.communicate()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert process.returncode == 130
    assert printed.endswith("posegen: interrupted\n")
    assert [*disk.iterdir()] == []


def test_the_next_profile_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    disk, elsewhere = tmp_path / "disk", tmp_path / "elsewhere"
    disk.mkdir()
    command = [sys.executable, "-m", "posegen", *PROFILE, "--out", str(disk / "dataset")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        wait_for(disk, ".posegen-profile~*", process)
        process.kill()
    (left,) = disk.iterdir()
    shutil.copytree(left, elsewhere / "copy")  # other names stay
    (disk / "mine").mkdir()
    with temporary_folder(disk / "dataset") as folder:
        assert not left.exists()
        with temporary_folder(elsewhere / "dataset"), temporary_folder(disk / "other"):
            assert folder.exists()  # its process is alive
    assert [path.name for path in disk.iterdir()] == ["mine"]
    assert [path.name for path in elsewhere.iterdir()] == ["copy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--samples=0"], "samples must be from 1 to "),
        (["--target=0"], "a target must be from 1 to "),
        (["--target=10,,20"], "must be a whole number"),
        (["--target=" + "1," * 30 + "1"], "20 are the most"),
        (["--repeats=0"], "repeats must be from 1 to 100"),
        (["--workers=0"], "workers: must be at least 1"),
        (["--budget=soon"], "--budget must be a duration such as 90s, 30m, 2h or 1h30m (got 'soon')"),
        (["--budget=0"], "--budget must be a duration"),
        (["--config=smokey"], "did you mean 'smoke'?"),
        (["--sample=3"], "No such option"),
        (["--html=."], "is a directory"),
        (["--html=not/there/page.html"], "its folder does not exist"),
    ],
)
def test_invalid_options_are_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--config=smoke", "--out", str(tmp_path / "dataset"), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("posegen: error: ")
    assert message in error
    assert [*tmp_path.iterdir()] == []
