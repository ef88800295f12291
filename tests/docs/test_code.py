"""Every code block of every page runs, in the order of the page; what cannot run in a test is listed with the reason."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest

from posegen.cli.main import posegen as program
from posegen.config.load import load_config
from posegen.foundations.errors import UsageError
from posegen.foundations.yaml_files import read_yaml
from tests.docs.pages import PAGES, Step, commands, steps
from tests.docs.world import make_data, make_models, run
from tests.exchange import servers as hub
from tests.once import made_once
from tests.paraphrase import servers as models
from tests.running import hear_interrupts

NOT_RUN: Mapping[str, str] = {
    r"pip install|python3 -m venv|git clone|make (dataset|test)": "installs or builds posegen: tests/test_install.py, CI",
    r"docker ": "needs a container engine",
    r"eval |_POSEGEN_COMPLETE": "is typed in other shells: tests/cli/test_docs.py",
    r"ssh |while sleep": "needs another machine",
    r"posegen generate .*--scheduler": "needs a cluster: tests/generation/test_dask.py",
    r"hf auth login|export AWS_": "needs an account",
    r"posegen train .*--preset gpu|torch\.cuda|posegen (runs|export-model) /volume": "needs a GPU",
    r"posegen train .*--lora 8": "is an alternative to a run above it",
    r"posegen train clips\.npz .*(identity|--label)": "needs labels that the archive of the page lacks: test_own_clips.py",
    r"posegen (train|worth) .*--with|generate .*configs/classes": "needs clips of classes that DATASET shows: test_together.py",
    r"posegen export-model runs/motion|--animated": "needs a trained model: tests/training/test_exports.py",
}
"""Commands that are not run, as regular expressions, and why."""
MOST_NOT_RUN = {
    "needs a GPU": 7,
    "needs a container engine": 2,
    "needs another machine": 2,
    "needs an account": 2,
    "is an alternative to a run above it": 4,
}
"""Most commands that a reason may keep from running. The others are run elsewhere."""
ELSEWHERE = {"docs/animate.md": "tests/training/test_exports.py", "docs/reading.md: sql": "tests/dataset/test_conditions.py"}
"""Blocks that another test runs: Python unless stated."""
NAMES: Mapping[str, str] = {
    "docs/together.md": "import numpy as np; clips, names = [np.zeros((99, 6))] * 2, ['kick', 'wave']",
    "docs/training.md": "import numpy as np; clips, names = [np.zeros((9, 22, 3))] * 2, ['kick', 'wave']",
}
"""What the Python code of a page assumes."""
OWN_DATA = ("docs/fields.md",)
"""Pages whose first command makes the dataset with other fields."""
FROM_NOTHING = ("docs/tutorial.md",)
"""Pages that begin in an empty folder."""
REFERENCE = ("docs/commands.md", "docs/config.md")
"""Pages that list commands one by one: none follows from the one before."""
FOLLOWED = {page: path for page, path in PAGES.items() if page not in REFERENCE}
MODELS = re.compile(r"posegen (embed|search|train|animate|predict|compare|export-model|runs)\b|embed|--encoder")
COMMANDS = [(page, command) for page, path in PAGES.items() for command in commands(path)]


def reason_not_to_run(command: str) -> str | None:
    return next((reason for pattern, reason in NOT_RUN.items() if re.match(rf".*({pattern})", command)), None)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "pages", make_data)


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")

    def make(folder: Path) -> None:
        shutil.copytree(data, folder, dirs_exist_ok=True)
        make_models(folder)

    return made_once(tmp_path_factory, "pages-models", make)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A language model and the Hub on this machine; yields the address of the first."""
    with models.serving(lambda caption, _: caption) as model, hub.serving(tmp_path / "hub") as address:
        for name, value in {
            "HF_ENDPOINT": address, "HF_TOKEN": hub.TOKEN, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0",
            "HF_HOME": str(tmp_path / "home"),
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield model.url


def is_slow(page: str) -> bool:
    return any(command.split()[1] != "mix" for command in commands(PAGES[page]))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if is_slow(page) else []) for page, path in FOLLOWED.items() if steps(path)],
)
def test_a_page_runs(page: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_models = any(MODELS.search(step.code) for step in steps(PAGES[page]))
    folder = tmp_path / "folder"
    if page in FROM_NOTHING:
        pytest.importorskip("torch")
        folder.mkdir()
    else:
        world = request.getfixturevalue("trained" if needs_models else "data")
        shutil.copytree(world, folder, copy_function=os.link)  # files are replaced, never changed
    if page in OWN_DATA:
        shutil.rmtree(folder / "data/default-0")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(NAMES.get(page, ""), names)
    served = request.getfixturevalue("served") if re.search(r"posegen (paraphrase|push)", PAGES[page].read_text()) else ""
    if named := {*re.findall(r"s3://([a-z-]+)/", PAGES[page].read_text())}:
        server = request.getfixturevalue("server")
        for bucket in named:
            urllib.request.urlopen(urllib.request.Request(f"{server.address}/{bucket}", method="PUT")).close()
        for variable, value in {**server.environment(), "POSEGEN_READ_CACHE": str(tmp_path / "cache")}.items():
            monkeypatch.setenv(variable, value)
    for step in steps(PAGES[page]):
        _run(page, step, names, served)
        for picture in re.findall(r"-o (\S+\.(?:gif|png))$", step.code if reason_not_to_run(step.code) is None else ""):
            assert Path(picture).stat().st_size > 1000


def _run(page: str, step: Step, names: dict[str, Any], endpoint: str) -> None:
    match step.language:
        case "sh" if step.code.startswith("posegen view"):
            _look(step.code)
        case "sh" if step.code.startswith("posegen push"):  # the client reads the address of the Hub when it is imported
            subprocess.run([sys.executable, "-m", *shlex.split(step.code)], check=True, timeout=300)
        case "sh" if reason_not_to_run(step.code) is None:
            run(step.code.replace("http://localhost:8000/v1", endpoint))
        case "python" if page not in ELSEWHERE and ("torch" not in step.code or find_spec("torch") is not None):
            exec(step.code, names)
        case "sql" if f"{page}: sql" not in ELSEWHERE:
            assert pytest.importorskip("duckdb").sql(step.code).fetchall()
        case "toml":
            assert tomllib.loads(step.code)
        case "yaml":
            _read(step)


def _look(command: str) -> None:
    """Open a page as a browser does, then end the command; one that a shell runs in the background ignores Ctrl-C."""
    arguments = [sys.executable, "-m", *shlex.split(command)]
    arguments += [] if "--no-browser" in command else ["--no-browser"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, **pipes, preexec_fn=hear_interrupts) as process:
        assert process.stdout is not None
        with urllib.request.urlopen(process.stdout.readline().strip()) as answer:
            assert b"<canvas" in answer.read()
        process.terminate()
        assert process.wait(60) == 0


def _read(step: Step) -> None:
    """Read a block of YAML as what it is: a config, actions or interactions of an own library, or names of joints."""
    file = Path(step.file or "block.yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(step.code, encoding="utf-8")
    keys = set(read_yaml(file))
    if len(file.parts) > 1:  # a file of a library, which the commands of the page read
        return
    if keys & {"family", "interactions"}:
        (Path("own") / "actions").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, Path("own") / ("actions/block.yaml" if "family" in keys else "interactions.yaml"))
        assert load_config("default", ["story.library=own"]).story.library == Path("own").absolute()
    elif keys <= set(load_config("default").model_dump()):
        assert load_config(str(file)).name
    else:
        assert {"pelvis", "hip", "left_knee"} <= keys  # names of joints, which tests/mocap/test_import.py reads


def test_code_that_another_test_runs_is_there() -> None:
    for page, test in ELSEWHERE.items():
        name = re.sub(r"docs/|: \w+", "", page)
        assert name in (Path(__file__).parents[2] / test).read_text(encoding="utf-8")


def test_few_commands_are_not_run_and_each_has_a_reason() -> None:
    left_out = [reason_not_to_run(step.code) for path in FOLLOWED.values() for step in steps(path) if step.language == "sh"]
    for reason, most in MOST_NOT_RUN.items():
        assert left_out.count(reason) <= most, reason
    strange = [step.code for path in PAGES.values() for step in steps(path) if step.language == "sh"
               and not step.code.startswith("posegen ") and reason_not_to_run(step.code) is None]  # fmt: skip
    assert strange == []
    assert len(COMMANDS) > 120
    assert {command.split()[1] for _, command in COMMANDS} >= {"generate", "train", "export", "import", "embed", "verify"}


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page}: {command}" for page, command in COMMANDS])
def test_a_command_on_a_page_is_valid(page: str, command: str) -> None:
    found: click.Command = program
    arguments = shlex.split(command)[1:]
    context = click.Context(program, info_name="posegen")
    while isinstance(found, click.Group):
        found, arguments = found.get_command(context, arguments[0]), arguments[1:]
        assert found is not None, command
    try:
        found.make_context(found.name, list(arguments))
    except (click.BadParameter, UsageError) as error:  # its files exist for those who follow the page
        message = error.format_message() if isinstance(error, click.BadParameter) else str(error)
        assert re.search("does not exist|is neither a dataset, nor a file", message), f"{page}: {command}: {message}"
