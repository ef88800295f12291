"""Files in the current folder never run as modules of posegen, of its workers or of other processes that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from posegen import generate, load_config
from posegen.foundations.import_path import safe_path

PATIENCE = 900
COMMAND = Path(sys.executable).with_name("posegen")
SETTINGS = ("--config=smoke", *(f"--set={setting}" for setting in ("frames=40", "store.shard=4", "store.chunk=2")))
OTHERS = ("numpy", "numba", "pyarrow", "zarr", "click", "psutil", "joblib", "loky", "torch", "peft", "sklearn", "faiss")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file for each module of Python and some others, which writes down that it runs."""
    poison = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + chr(10))\n"
    here = tmp_path / "here"
    here.mkdir()
    for name in (*sys.stdlib_module_names, *OTHERS):
        (here / f"{name}.py").write_text(poison)
    (here / "joblib").mkdir()
    (here / "joblib" / "__init__.py").write_text(poison)
    return here


def run(folder: Path, *command: str | Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ran = folder.parent / "ran"
    assert not ran.exists(), f"{sorted(set(ran.read_text().split()))} ran as modules\n{done.stderr}"
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
def test_commands_that_generate(folder: Path) -> None:
    run(folder, COMMAND, "generate", *SETTINGS, "--samples=12", "--workers=2", "--out=made", "--quiet")
    run(folder, COMMAND, "derive", "made", "--add=velocity", "--workers=2", "--quiet")
    run(folder, COMMAND, "verify", "made", "--deep", "--quiet")


@pytest.mark.slow
def test_embedding_and_training_with_loading_processes(folder: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("peft")
    config = load_config("smoke", [setting.removeprefix("--set=") for setting in SETTINGS[1:]])
    generate(config, samples=60, workers=1, out=folder / "made")
    run(folder, COMMAND, "embed", "made", "--encoder=hashing-for-tests", "--quiet")
    train = ("train", "made", "--task=action", "--preset=quick", "--set=steps=2", "--set=checks.times=1", "--quiet")
    machine = [f"--set=machine.{choice}" for choice in ("device=cpu", "workers=1", "threads=1", "precision=32-true")]
    run(folder, COMMAND, *train, *machine, "--out=run")


@pytest.mark.slow
def test_workers_of_a_module_run(folder: Path) -> None:
    """``python -m posegen`` itself imports from the current folder before posegen runs: only what it imports later is safe."""
    for file in folder.glob("*.py"):
        if file.stem not in ("numpy", "pyarrow", "psutil", "joblib"):
            file.unlink()
    run(folder, sys.executable, "-m", "posegen", "generate", *SETTINGS, "--samples=12", "--workers=2", "--out=made", "--quiet")


def test_the_current_folder_is_not_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", str(here), str(other)])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert safe_path() == [str(other)]
    monkeypatch.setenv("PYTHONPATH", str(here))
    assert safe_path() == [str(here), str(other)]
    here.rmdir()
    assert safe_path() == [str(here), str(other)]


def test_the_folder_of_posegen_stays_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(__file__).parents[2]
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", ["", str(home)])
    assert safe_path() == [str(home)]
