"""The command that says what a dataset will cost: what it prints, what it finds, and that it leaves nothing behind."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.header import load_header
from posegen.generation.profile.figures import kept_figures
from posegen.generation.profile.place import temporary_folder

ROOT = Path(__file__).parents[2]
PATIENCE = 300
SETTINGS = ["frames=40", "store.shard=4", "store.chunk=2"]
SMALL = ["--config", "smoke", *(part for setting in SETTINGS for part in ("--set", setting))]
PROFILE = ["profile", *SMALL, "--workers=1", "--repeats=1", "--samples=30"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A place for datasets, and one for figures."""
    return tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("figures")


@pytest.fixture(autouse=True)
def _figures(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSEGEN_PROFILE_CACHE", str(places[1]))


@pytest.fixture(scope="module")
def profiled(places: tuple[Path, Path]) -> dict[str, Any]:
    """One profile, told as JSON, with its exit code, what it printed besides, and its page."""
    data, figures = places
    options = ["--target", "60,1000000", "--budget=1000d", "--json", "--html", str(data / "page.html")]
    out, error = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(error):
        patch.setenv("POSEGEN_PROFILE_CACHE", str(figures))
        code = main([*PROFILE, "--out", str(data / "new" / "dataset"), *options])
    page = (data / "page.html").read_text(encoding="utf-8")
    (data / "page.html").unlink()
    return {"code": code, "error": error.getvalue(), "page": page, **json.loads(out.getvalue())}


def test_each_target_has_its_cost(profiled: dict[str, Any]) -> None:
    small, large = profiled["targets"]
    assert [small["samples"], large["samples"]] == [60, 10**6]
    for target in (small, large):
        assert 0 < target["seconds_low"] < target["seconds"] < target["seconds_high"]
        assert (target["workers"], target["sequences"]) == (1, 5 * target["samples"])
        assert target["binds"] in ("processor", "disk write", "sync", "memory")
        assert target["recommended_shard"] % 2 == 0
        suffices = target["bytes"] <= profiled["disk_free"]  # not everybody has room for a million
        assert (target["disk_suffices"], target["memory_suffices"], target["fits"]) == (suffices, True, suffices)
    steady = 10**6 / profiled["rates"][0]["samples_per_second"]
    assert large["seconds"] == pytest.approx(steady, rel=0.1)
    assert small["fits"]
    assert profiled["code"] == int(not large["fits"])


def test_what_does_not_fit_ends_with_1_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSEGEN_PROFILE_CACHE", str(tmp_path / "figures"))
    (tmp_path / "disk").mkdir()
    options = ["--target=60,1000000000", "--budget=0.1s", "--out", str(tmp_path / "disk" / "dataset")]
    assert main([*PROFILE, *options]) == 1
    out, error = capsys.readouterr()
    assert re.search(r"^ captions +[\d,]+ +\d+\.\d% ", out, re.MULTILINE)
    assert re.search(r"^ 60 .* no *$", out, re.MULTILINE)
    assert "1,000,000,000 samples do not fit on this disk: they need " in out
    assert re.search(r"^60 samples (may )?take longer than 0s: up to ", out, re.MULTILINE)
    assert "Recommended: --workers 1, shards of " in out
    assert error.splitlines()[-1] == "measuring the start of the program"
    assert [*(tmp_path / "disk").iterdir()] == []


def test_stages_add_up_to_a_shard(profiled: dict[str, Any]) -> None:
    stages = profiled["stages"]
    assert {"plan", "captions", "motion", "variants", "encode", "hash", "write", "sync", "start-up"} <= stages.keys()
    shard = {name: stage["seconds"] for name, stage in stages.items() if stage["per"] == "shard"}
    assert sum(shard.values()) == pytest.approx(profiled["shard_seconds"], rel=1e-6)
    assert shard["rest"] < 0.3 * profiled["shard_seconds"]
    assert all(shard[name] > 0 for name in ("plan", "motion", "variants", "checks", "captions", "encode", "hash", "sync"))
    assert stages["write"]["seconds_behind"] > 0
    assert stages["start-up"]["per"] == "run"
    assert stages["start-up"]["seconds"] >= stages["start-up"]["program"] > 0


def test_bytes_are_those_of_a_real_run(profiled: dict[str, Any], tmp_path: Path) -> None:
    made = posegen.generate(posegen.load_config("smoke", SETTINGS), samples=60, workers=1, out=tmp_path / "dataset")
    assert profiled["targets"][0]["bytes"] == pytest.approx(made.bytes, rel=0.03)


def test_nothing_stays_but_figures(profiled: dict[str, Any], places: tuple[Path, Path]) -> None:
    data, figures = places
    assert [*data.iterdir()] == []
    files = [file for file in figures.rglob("*") if file.is_file()]
    assert len(files) == 1
    assert json.loads(files[0].read_text())["rates"]["1"] == profiled["rates"][0]["samples_per_second"]
    assert "measuring" in profiled["error"]


def test_the_page_needs_nothing_from_elsewhere(profiled: dict[str, Any]) -> None:
    page = profiled["page"]
    assert page.count("<rect") > 30
    assert "shard (4 samples)" in page
    assert not re.search(r"<script|<link|src=|@import|url\(", page)
    addresses = set(re.findall(r"https?://[^\"\s]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert re.sub(r"<(meta|!doctype)[^>]*>", "", page).count("<") == 2 * page.count("</") + page.count("<rect") + page.count(
        "<line"
    )


def test_generate_says_when_it_is_slower_than_profiled(
    profiled: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], places: tuple[Path, Path]
) -> None:
    (file,) = places[1].glob("*.json")
    document = json.loads(file.read_text())
    claimed = {"rates": {"1": 10 * document["rates"]["1"]}, "processor_seconds": document["processor_seconds"] / 10}
    place = tmp_path / "dataset"
    try:
        file.write_text(json.dumps(document | claimed))
        assert main(["generate", *SMALL, "--workers=1", "--samples=100", "--out", str(place)]) == 0
        error = capsys.readouterr().err
        assert error.count("slower than profiled: ") == 1
        assert f"found {10 * document['rates']['1']:,.0f}. Likely: " in error
        assert re.search(r"a core takes \d+\.\d times as long for a sample as then", error)
        file.write_text("{}")
        assert kept_figures(load_header(place)) is None  # what is damaged counts as not there
    finally:
        file.write_text(json.dumps(document))
    found = kept_figures(load_header(place))
    assert found is not None
    assert found.rate(1) == profiled["rates"][0]["samples_per_second"]


def wait_for(folder: Path, pattern: str, is_over: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not [*folder.glob(pattern)]:
        assert not is_over()
        assert time.monotonic() < limit
        time.sleep(0.005)


def test_stopped_it_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("POSEGEN_PROFILE_CACHE", str(tmp_path / "figures"))
    (tmp_path / "disk").mkdir()
    stopped: list[bool] = []
    # Who starts tests in the background may have had interrupts ignored.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)

    def stop() -> None:
        # Well within a run: once a shard is complete, and many are to come.
        wait_for(tmp_path / "disk", ".posegen-profile~*/dataset/receipts/*.json", lambda: bool(stopped))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    code = main([*PROFILE[:-1], "--samples=100000", "--out", str(tmp_path / "disk" / "dataset")])
    stopped.append(True)
    thread.join()
    signal.signal(signal.SIGINT, usual)
    assert code == 130
    assert capsys.readouterr().err.endswith("posegen: interrupted\n")
    assert [*(tmp_path / "disk").iterdir()] == []
    assert not [file for file in (tmp_path / "figures").rglob("*") if file.is_file()]


def test_killed_it_is_cleared_up_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    command = [sys.executable, "-m", "posegen", *PROFILE, "--out", str(tmp_path / "disk" / "dataset")]
    environment = os.environ | {"POSEGEN_PROFILE_CACHE": str(tmp_path / "figures")}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as begun:
        wait_for(tmp_path / "disk", ".posegen-profile~*", lambda: begun.poll() is not None)
        begun.kill()
    monkeypatch.setenv("POSEGEN_PROFILE_CACHE", str(tmp_path / "figures"))
    (left,) = (tmp_path / "disk").iterdir()
    other = tmp_path / "other"
    shutil.copytree(left, other / "kept")  # what only looks like it, or belongs to who lives, stays
    with temporary_folder(other / "dataset") as folder:
        assert not left.exists()
        with temporary_folder(tmp_path / "disk" / "dataset"):
            assert folder.exists()
    assert [path.name for path in other.iterdir()] == ["kept"]
    assert not [file for file in (tmp_path / "figures").rglob("*") if file.is_file()]


@pytest.mark.parametrize(
    ("options", "told"),
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
def test_impossible_wishes_are_bad_usage(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--config=smoke", "--out", str(tmp_path / "dataset"), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("posegen: error: ")
    assert told in error
    assert [*tmp_path.iterdir()] == []
