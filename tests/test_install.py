"""What docs/install.md, CITATION.cff and the metadata of the package state, and completion in the shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from posegen import __version__
from posegen.cli.main import COMMANDS
from posegen.foundations.plugins import EXTRAS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "install.md").read_text("utf-8")


def completed(*words: str) -> list[str]:
    """Return what is proposed for the last word, as click writes it for bash: kind and text."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_POSEGEN_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-m", "posegen"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_commands_options_and_files_are_completed() -> None:
    assert completed("posegen", "ge") == ["plain,generate"]
    assert {line.removeprefix("plain,") for line in completed("posegen", "")} == set(COMMANDS)
    assert completed("posegen", "info", "data", "--sa") == ["plain,--sample"]
    assert completed("posegen", "info", "da") == ["file,da"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_of_the_page_print_the_script_of_each_shell(shell: str) -> None:
    assert f"_POSEGEN_COMPLETE={shell}_source posegen" in PAGE
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_POSEGEN_COMPLETE": f"{shell}_source"}
    if shell == "bash":
        environment["PATH"] += f":{Path(sys.executable).parent}"
    done = subprocess.run([sys.executable, "-m", "posegen"], env=environment, capture_output=True, text=True, check=True)
    assert f"_POSEGEN_COMPLETE={shell}_complete" in done.stdout


def test_the_page_names_every_extra_for_users() -> None:
    table = PAGE.partition("## Extras")[2].partition("##")[0]
    assert set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("|")))) == set(
        EXTRAS
    )


def test_the_citation_is_that_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (citation["version"], citation["license"]) == (__version__, project["license"])
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


def test_the_image_copies_files_that_exist() -> None:
    locks = re.findall(r"-r (locks/\S+)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert locks
    assert all((ROOT / name).is_file() for name in locks)
