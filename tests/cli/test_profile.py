"""The command ``posegen profile``: its output, its estimates, and that it leaves no files."""

from __future__ import annotations

import io
import json
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
from posegen.generation.profile import Run, estimate

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
    """Return one profile as JSON, with its exit code and standard error."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main([*PROFILE, "--out", str(folder / "new" / "dataset"), "--target", "60,1000000", "--json"])
    return {"code": code, "error": error.getvalue(), **json.loads(out.getvalue())}


def test_each_target_has_an_estimate(profiled: dict[str, Any]) -> None:
    small, large = profiled["targets"]
    assert [small["samples"], large["samples"]] == [60, 10**6]
    for target in (small, large):
        assert 0 < target["seconds_low"] < target["seconds"] < target["seconds_high"]
    assert profiled["workers"] == 1
    assert large["seconds"] == pytest.approx(10**6 / profiled["samples_per_second"] + profiled["startup_seconds"])
    assert small["fits_disk"]
    assert 0 < profiled["memory"] < profiled["memory_free"]
    assert profiled["code"] == 0


def test_bytes_match_a_real_run(profiled: dict[str, Any], tmp_path: Path) -> None:
    made = posegen.generate(posegen.load_config("smoke", SETTINGS), samples=60, workers=1, out=tmp_path / "dataset")
    assert profiled["targets"][0]["bytes"] == pytest.approx(made.bytes, rel=0.03)


def test_nothing_stays(profiled: dict[str, Any], folder: Path) -> None:
    assert [*folder.iterdir()] == []
    assert "run 1 of 1: 30 samples, 1 worker\n" in profiled["error"]


@pytest.mark.slow
def test_several_workers_and_a_disk_that_is_too_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "disk").mkdir()
    options = ["--target=60,1000000000", "--workers=2", "--repeats=2", "--out", str(tmp_path / "disk/dataset")]
    assert main([*PROFILE, *options]) == 0
    out, error = capsys.readouterr()
    assert "Estimated costs, 2 at once" in out
    assert "1,000,000,000 samples do not fit on this disk: they need " in out
    assert error.splitlines()[-1] == "run 2 of 2: 48 samples, 2 workers"
    assert [*(tmp_path / "disk").iterdir()] == []


def test_the_interval_spans_the_runs() -> None:
    runs = [Run(startup, rate, 1000.0, 5000, 10**8) for startup, rate in ((2.0, 50.0), (3.0, 40.0))]
    found = estimate(runs, 2000, disk_free=10**12)
    assert found.seconds == pytest.approx((42 + 53) / 2)
    assert found.seconds_low < 42 < 53 < found.seconds_high
    assert (found.bytes, found.fits_disk) == (2_005_000, True)
    assert not estimate(runs, 2000, disk_free=10**6).fits_disk


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
            limit = time.monotonic() + PATIENCE
            # Within a run: after several complete shards.
            while not [*disk.glob(".posegen-profile~*/dataset/receipts/00003.json")]:
                assert process.poll() is None
                assert time.monotonic() < limit
                time.sleep(0.005)
            process.send_signal(signal.SIGINT)
            _, printed = process.communicate()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert process.returncode == 130
    assert printed.endswith("posegen: interrupted\n")
    assert [*disk.iterdir()] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--samples=0"], "samples must be from 1 to "),
        (["--target=0"], "a target must be from 1 to "),
        (["--target=10,,20"], "must be a whole number"),
        (["--target=" + "1," * 30 + "1"], "20 are the most"),
        (["--repeats=0"], "repeats must be from 1 to 100"),
        (["--workers=0"], "workers: must be at least 1"),
        (["--config=smokey"], "did you mean 'smoke'?"),
        (["--sample=3"], "No such option"),
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
