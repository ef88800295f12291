"""The locks: every package that the README's commands install is pinned, with the hashes of its files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
# Its files differ by GPU, so it is pinned by version alone.
WITHOUT_HASHES = {"torch"}


def _pins(text: str) -> set[tuple[str, str]]:
    return {(canonicalize_name(name), version) for name, version in re.findall(r"^([\w.-]+)==([\w.+!-]+)", text, re.MULTILINE)}


def _entries(name: str) -> list[str]:
    lines = (ROOT / "locks" / f"{name}.txt").read_text().replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("name", ["run", "test", "train"])
def test_every_package_has_a_version_and_hashes(name: str) -> None:
    entries = _entries(name)
    assert len(entries) > 30
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+==[\w.+!-]+( ; [^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+", entry), entry


@pytest.mark.parametrize("name", ["run", "test", "train"])
def test_no_address_of_a_registry_is_in_a_lock(name: str) -> None:
    assert not re.search(r"://|--index|--find-links", (ROOT / "locks" / f"{name}.txt").read_text())


def test_locks_and_constraints_name_the_same_versions() -> None:
    constraints = _pins((ROOT / "constraints.txt").read_text())
    run, test, train = (_pins("\n".join(_entries(name))) for name in ("run", "test", "train"))
    assert run <= train & test
    # On a Python without the tests of training, the newest versions of what only they need are locked as well.
    assert {pin for pin in constraints if pin[0] in dict(train) and pin[0] not in WITHOUT_HASHES} <= train
    # colorama is for Windows, where nobody has tried the constraints.
    assert {pin for pin in test - constraints if pin[0] != "colorama"} == set()
    assert {name for name, _ in constraints - test} == WITHOUT_HASHES


def test_what_a_plain_installation_needs_is_in_the_lock_of_the_main_job() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {
        canonicalize_name(Requirement(text).name) for text in project["dependencies"] + project["optional-dependencies"]["view"]
    }
    assert needed <= {name for name, _ in _pins("\n".join(_entries("run")))}
