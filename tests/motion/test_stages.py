"""Scratch rows of the kernels of motion have names, and all stages of an actor stand in one function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from posegen.motion import rows

PACKAGE = Path(rows.__file__).parent
SCRATCH = {"root", "turns", "nominal", "leg", "scratch", "work"}
"""Arrays of rows, by the names that kernels give them."""


def name_of(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def unnamed_rows(tree: ast.Module) -> Iterator[str]:
    """Places in which a row has a number or a name that states no content."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and name_of(node.value) in SCRATCH:
            index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            if isinstance(index, ast.Constant) and isinstance(index.value, int):
                yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.expr) and name_of(node).startswith("WORK"):
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_scratch_rows_have_names() -> None:
    found = [f"{file.name}:{place}" for file in PACKAGE.rglob("*.py") for place in unnamed_rows(ast.parse(file.read_text()))]
    assert not found, "name the row in posegen/motion/rows.py"


def test_unnamed_rows_are_found() -> None:
    lines = "work.turns[4]", "root[3, f]", "root[rows.WORK2]", "turns[rows.HEAD]", "legs[0, rows.KNEE_X]", "is_near[0]"
    assert [place[:1] for place in unnamed_rows(ast.parse("\n".join(lines)))] == ["1", "2", "3"]


def test_rows_of_the_root_have_different_names() -> None:
    names = [name for name, value in vars(rows).items() if name.isupper() and isinstance(value, int)]
    last = names.index("ROOT_ROWS")
    assert [getattr(rows, name) for name in names[:last]] == list(range(rows.ROOT_ROWS))


def test_one_function_has_the_order_of_all_stages() -> None:
    tree = ast.parse((PACKAGE / "engine.py").read_text())
    (stages,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "animate_actor"]
    source = ast.get_source_segment((PACKAGE / "engine.py").read_text(), stages) or ""
    comments = [line for line in source.splitlines() if line.strip().startswith("# ")]
    assert len(comments) >= 20
    assert all("->" in line or "The same" in line for line in comments), "each comment names what a stage reads and writes"
