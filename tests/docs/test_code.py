"""The code on the pages runs: Python as it stands, commands of the tutorial as typed; all other commands have valid options."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest

import posegen
from posegen.cli.main import main
from posegen.cli.main import posegen as program
from posegen.dataset.mix import write_mix
from tests.docs.pages import PAGES, commands, python_blocks
from tests.once import made_once

ELSEWHERE = {"docs/animate.md": "tests/training/test_exports.py"}
"""Pages whose Python code another test runs."""
NAMES: Mapping[str, str] = {
    "docs/training.md": "import numpy as np; clips, names = [np.zeros((9, 22, 3))] * 2, ['kick', 'wave']",
}
"""What the code of a page assumes."""
EMBEDDED = ("docs/embedding.md", "docs/search.md")
"""Pages that read embeddings, which take a minute."""
COMMANDS = [(page, command) for page, path in PAGES.items() for command in commands(path)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The datasets that the pages read."""

    def make(folder: Path) -> None:
        for name, config in (("default-0", "default"), ("default-1", "default"), ("first", "smoke")):
            posegen.generate(
                posegen.load_config(config, seed=int(name == "default-1")), samples=8, workers=1, out=folder / name
            )
        write_mix(folder / "mix.json", posegen.concat([folder / "default-0", folder / "default-1"], weights=[1, 4]))

    return made_once(tmp_path_factory, "pages", make)


RUN = [page for page, path in PAGES.items() if python_blocks(path) and page not in ELSEWHERE]


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.slow] if page in EMBEDDED else []) for page in RUN])
def test_the_python_code_of_a_page_runs(page: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if page in EMBEDDED:
        pytest.importorskip("torch")
        shutil.copytree(data, "data")
        assert main(["embed", "data/default-0", "--pairs", "--quiet"]) == 0
    else:
        (tmp_path / "data").symlink_to(data)
    names: dict[str, Any] = {}
    exec(NAMES.get(page, ""), names)
    for block in python_blocks(PAGES[page]):
        if "torch" not in block or find_spec("torch") is not None:
            exec(block, names)


def test_code_that_another_test_runs_is_there() -> None:
    for page, test in ELSEWHERE.items():
        assert page.removeprefix("docs/") in (Path(__file__).parents[2] / test).read_text(encoding="utf-8")


def test_the_pages_have_commands() -> None:
    assert len(COMMANDS) > 80
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
    except click.BadParameter as error:  # its files exist for those who follow the page
        assert "does not exist" in error.format_message(), f"{page}: {command}: {error.format_message()}"  # noqa: PT017


@pytest.mark.slow
def test_the_tutorial_leads_from_nothing_to_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    # `view` serves until it is interrupted.
    typed = [command for command in commands(PAGES["docs/tutorial.md"]) if not command.startswith("posegen view")]
    assert len(typed) >= 12
    for command in typed:
        arguments = [part.replace("200", "60") for part in shlex.split(command)[1:]]
        assert main(arguments) == 0, command
    names: dict[str, Any] = {}
    for block in python_blocks(PAGES["docs/tutorial.md"]):
        exec(block, names)
    for file in ("sample.gif", "sample.png", "wave.gif", "walk.gif"):
        assert (tmp_path / file).stat().st_size > 1000
