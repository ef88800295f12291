"""The command that says what a dataset will cost: what it prints, what it finds, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from posegen.generation.profiling.figures import kept_figures
from posegen.generation.profiling.place import temporary_folder
from posegen.store.headers import load_header

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
    options = ["--target", "60,1000000000", "--budget=1000d", "--json", "--html", str(data / "page.html")]
    command = [sys.executable, "-m", "posegen", *PROFILE, "--out", str(data / "new" / "dataset"), *options]
    environment = os.environ | {"POSEGEN_PROFILE_CACHE": str(figures)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    page = (data / "page.html").read_text(encoding="utf-8")
    (data / "page.html").unlink()
    return {"code": done.returncode, "error": done.stderr, "page": page, **json.loads(done.stdout)}


def test_each_target_has_its_cost(profiled: dict[str, Any]) -> None:
    small, large = profiled["targets"]
    assert [small["samples"], large["samples"]] == [60, 10**9]
    for target in (small, large):
        assert 0 < target["seconds_low"] < target["seconds"] < target["seconds_high"]
        assert (target["workers"], target["sequences"]) == (1, 5 * target["samples"])
        assert target["binds"] in ("processor", "disk write", "sync", "memory")
        assert target["recommended_shard"] % 2 == 0
    steady = 10**9 / profiled["rates"][0]["samples_per_second"]
    assert large["seconds"] == pytest.approx(steady, rel=0.01)
    assert small["memory_suffices"]


def test_what_does_not_fit_on_the_disk_fits_no_budget(profiled: dict[str, Any]) -> None:
    small, large = profiled["targets"]
    assert (small["disk_suffices"], small["fits"]) == (True, True)
    assert large["bytes"] > profiled["disk_free"]
    assert (large["disk_suffices"], large["fits"]) == (False, False)
    assert profiled["code"] == 1


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


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A profile that has begun to make shards, and has long to go."""
    command = [*PROFILE[:-1], "--samples=100000", "--out", str(tmp_path / "disk" / "dataset")]
    (tmp_path / "disk").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "posegen", *command],
        cwd=ROOT,
        env=os.environ | {"POSEGEN_PROFILE_CACHE": str(tmp_path / "figures")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    limit = time.monotonic() + PATIENCE
    while not [*(tmp_path / "disk").glob(".posegen-profile~*/dataset/receipts/*.json")]:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.01)
    yield process
    process.kill()
    process.communicate()


def test_stopped_it_leaves_nothing(begun: subprocess.Popen[str], tmp_path: Path) -> None:
    begun.send_signal(signal.SIGINT)
    _, error = begun.communicate(timeout=PATIENCE)
    assert begun.returncode == 130
    assert error.endswith("posegen: interrupted\n")
    assert [*(tmp_path / "disk").iterdir()] == []
    assert not [file for file in (tmp_path / "figures").rglob("*") if file.is_file()]


def test_killed_it_is_cleared_up_by_the_next(
    begun: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSEGEN_PROFILE_CACHE", str(tmp_path / "figures"))
    begun.kill()
    begun.communicate()
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
        (["--budget=2"], "--budget must be a duration"),
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
