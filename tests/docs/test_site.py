"""The site is complete: every command and config key has an entry, and it builds without a warning, such as a dead link."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import get_args

import click
import pytest
from pydantic import BaseModel

from posegen.cli.main import posegen as program
from posegen.config.schema import Config
from posegen.training.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["reference"] = module  # its dataclass looks there for its annotations
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model", [Config, Settings])
def test_every_key_has_a_meaning(reference: ModuleType, model: type[BaseModel]) -> None:
    keys = {key.path: key for key in reference.keys(model)}
    assert [key.path for key in keys.values() if not key.meaning] == []
    assert set(_paths(model.model_validate({}).model_dump())) <= set(keys)
    for key in keys:
        assert f"| `{key}` |" in reference.config_page()


def test_generated_pages_are_up_to_date(reference: ModuleType) -> None:
    for name, text in reference.pages().items():
        page = ROOT / "docs" / name
        assert page.read_text(encoding="utf-8") == text, f"docs/{name} is out of date; run: python docs/reference.py"


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=lambda page: page.stem)
def test_links_between_pages_lead_to_files_of_the_repository(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_of_the_maps_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    paths = re.findall(r"`((?:posegen|tests|docs|configs|benchmarks|examples|locks)/[\w./-]*)`", text)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_tests_that_ci_names_exist() -> None:
    paths = re.findall(r"\btests/[\w./]*\w", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


def _paths(data: dict[str, object], prefix: str = "") -> list[str]:
    """Dotted paths of the keys of a default config; names in mappings of weights are no keys."""
    paths = []
    for name, value in data.items():
        paths.append(prefix + name)
        if isinstance(value, dict) and name not in ("styles", "actions", "weights"):
            paths += _paths(value, f"{prefix}{name}.")
    return paths


def test_keys_state_their_range_and_default(reference: ModuleType) -> None:
    keys = {key.path: key for key in reference.keys(Config)}
    assert (keys["frames"].value, keys["frames"].default) == ("integer, 10 to 10,000", "`250`")
    assert keys["population.left_handed"].value == "number, 0 to 1"
    assert keys["quotas.exact[].speed.min"].value == "number, above 0, at most 15"
    assert keys["workers"].value == "integer, 1 to 1,024 or null"
    assert get_args(Config.model_fields["fps"].annotation)[0] in (20, "20") or "`20`" in keys["fps"].value


def test_every_command_and_option_has_an_entry(reference: ModuleType) -> None:
    page = reference.commands_page()
    seen = 0
    for context in reference.commands(program, click.Context(program, info_name="posegen")):
        _, _, entry = page.partition(f"## {context.command_path}\n")
        entry = entry.partition("\n## ")[0]
        for option in context.command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.opts[-1] in entry, (context.command_path, option.opts)
                assert option.help, (context.command_path, option.opts)
                seen += 1
    assert seen > 100


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert "posegen.synthesize" in page
