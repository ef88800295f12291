"""Checkouts of other projects in the folder that POSEGEN_READERS names, and the parts of their files that tests run."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


def checkout(name: str) -> Path:
    """Return a checkout, or skip the test."""
    folder = os.environ.get("POSEGEN_READERS")
    if not folder or not (Path(folder) / name).is_dir():
        pytest.skip(f"needs POSEGEN_READERS: a folder with a checkout of {name}")
    return Path(folder) / name


def definitions(file: Path, *names: str, **known: Any) -> SimpleNamespace:
    """Run functions, classes and constants of a file, without decorators, and return them; `known` are names that they use."""
    nodes = ast.parse("from __future__ import annotations").body
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        assigned = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
        if getattr(node, "name", None) in names or {*names} & {*assigned}:
            if isinstance(node, ast.ClassDef):
                node.decorator_list = []
            nodes.append(node)
    exec(compile(ast.Module(nodes, []), str(file), "exec"), known)
    return SimpleNamespace(**known)
