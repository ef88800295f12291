"""Count the lines of code of folders: those that hold a token other than comments and docstrings.

python .ci/code_lines.py posegen
"""

from __future__ import annotations

import ast
import sys
import tokenize
from pathlib import Path

EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(file: Path) -> int:
    """Return the lines of code of a file. Any text that is a statement of its own counts as a docstring."""
    with tokenize.open(file) as source:
        tokens = [token for token in tokenize.generate_tokens(source.readline) if token.type not in EMPTY]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(file.read_bytes())):
        for each in node.body if isinstance(node, DOCUMENTED) else []:
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str):
                lines -= set(range(each.lineno, (each.end_lineno or each.lineno) + 1))
    return len(lines)


for folder in map(Path, sys.argv[1:]):
    files = sorted(folder.rglob("*.py"))
    print(f"{sum(map(code_lines, files)):,} lines of code in {len(files)} files in {folder}")
