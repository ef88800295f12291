"""Commands whose optional packages are missing name the command that installs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import EXTRAS, install_hint, require_extra

ROOT = Path(__file__).parents[2]
OPTIONAL = {"nvidia-ml-py"}
"""Used where there is a GPU; training works without it."""
NOT_FOR_USERS = {"peers", "readers", "docs", "dev", "all"}
"""Extras that no command needs."""
MODULES = {"faiss-cpu": "faiss", "pillow": "PIL", "scikit-learn": "sklearn"}
"""Modules whose name differs from that of their distribution."""
COMMANDS = {
    "train smoke --task action": "train",
    "run -c smoke --out made": "train",
    "animate nowhere walk -o made.npz": "train",
    "predict nowhere nowhere -o made.parquet": "train",
    "compare nowhere nowhere nowhere": "train",
    "export-model nowhere --format onnx -o made": "train",
    "push nowhere me/motion": "hub",
    "push nowhere s3://bucket/motion": "cloud",
    "show --config smoke --sample 0 -o made.png": "view",
}
"""Commands, and the extra that each of them needs."""

PROGRAM = """
import json, sys
from importlib.machinery import PathFinder

hidden, commands = json.loads(sys.argv[1])

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else super().find_spec(name, path, target)

sys.meta_path = [Finder if finder is PathFinder else finder for finder in sys.meta_path]

from posegen.cli.main import main
for command in commands:
    print(main(command.split()), file=sys.stderr)
"""


def test_the_table_holds_every_package_of_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert EXTRAS.keys() == extras.keys() - NOT_FOR_USERS
    for extra, modules in EXTRAS.items():
        names = [re.split(r"[<>=!; ]", requirement)[0] for requirement in extras[extra]]
        assert {MODULES.get(name, name.replace("-", "_")) for name in names if name not in OPTIONAL} <= set(modules), extra


@pytest.mark.parametrize(
    ("hidden", "commands"),
    [
        (["torch", "peft", "safetensors", "PIL", "huggingface_hub", "obstore"], COMMANDS),
        # torch comes with the extra "embed", so that only packages of training are missing.
        (["peft"], {words: extra for words, extra in COMMANDS.items() if words.startswith(("train", "run"))}),
    ],
    ids=["no extra", "embed"],
)
def test_a_missing_package_is_one_line_with_its_command(hidden: list[str], commands: dict[str, str], tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-c", PROGRAM, json.dumps([hidden, list(commands)])]
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    lines = done.stderr.splitlines()
    assert lines[1::2] == ["2"] * len(commands)
    for (words, extra), line in zip(commands.items(), lines[::2], strict=True):
        assert line.startswith("posegen: error: "), words
        assert "not installed" in line, words
        assert line.endswith(f" Run: {sys.executable} -m pip install -e '{ROOT}[{extra}]'"), words
    assert list(tmp_path.iterdir()) == []


def test_other_missing_modules_are_no_usage_error() -> None:
    assert install_hint(ModuleNotFoundError(name="posegen.nothing")) is None
    assert install_hint(ModuleNotFoundError()) is None


def test_a_missing_extra_is_refused_before_anything_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "view", ("matplotlib_of_nobody",))
    with pytest.raises(UsageError, match=r"matplotlib_of_nobody is not installed\. Run: .* -m pip install -e .*\[view\]'"):
        require_extra("view")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{"url": "file:///wheels/my%20own/posegen-0.1.0-py3-none-any.whl", "archive_info": {}}',
         "'/wheels/my own/posegen-0.1.0-py3-none-any.whl[train]'"),
        (None, "'posegen[train]'"),  # from an index
    ],
)  # fmt: skip
def test_the_command_names_the_wheel_that_posegen_was_installed_from(
    source: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "posegen-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: posegen\nVersion: 0.1.0\n")
    if source is not None:
        (folder / "direct_url.json").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("posegen.foundations.plugins.__file__", str(tmp_path / "posegen" / "foundations" / "plugins.py"))
    hint = install_hint(ModuleNotFoundError(name="peft"))
    assert hint == f"peft is not installed. Run: {sys.executable} -m pip install {expected}"


def test_the_build_of_torch_for_cpus_is_named_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_gpu in (False, True):
        monkeypatch.setattr(Path, "exists", lambda path, has_gpu=has_gpu: has_gpu and str(path) == "/proc/driver/nvidia")
        hint = install_hint(ModuleNotFoundError(name="torch.nn"))
        assert hint is not None
        assert ("build for CPUs first: posegen docs install" in hint) == (not has_gpu and sys.platform == "linux")
