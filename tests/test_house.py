"""Rules for all source files. Import directions are in `pyproject.toml` (import-linter); private names are checked by ruff."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "posegen").rglob("*.py"))

CONTENT = (
    "captions",
    "checks",
    "fields",
    "kernels",
    "motion",
    "planning",
    "randomness",
    "scene",
    "skeleton",
    "synthesis",
    "variants",
)
"""Packages that decide the content of samples. They use + - * / and sqrt only, which every processor computes alike."""

INEXACT = {
    "acos", "arccos", "arcsin", "arctan", "arctan2", "asin", "atan", "atan2", "cbrt", "cos", "cosh", "dot", "einsum", "exp",
    "exp2", "expm1", "hypot", "inner", "linalg", "log", "log10", "log1p", "log2", "matmul", "norm", "outer", "pow", "power",
    "sin", "sinh", "tan", "tanh", "tensordot", "vdot",
}  # fmt: skip
"""Functions of NumPy and math whose last bits differ between processors, C libraries and BLAS builds."""

NUMERIC = {"np", "numpy", "math", "cmath"}


def part_of(source: Path) -> str:
    """Return the stage of a source; a module of the foundations counts as one of its own."""
    first, *rest = source.relative_to(ROOT / "posegen").parts
    return (rest[0] if first == "foundations" else first).removesuffix(".py")


@cache
def nodes_of(source: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source.read_text(encoding="utf-8"), str(source))))


def imports(source: Path) -> Iterator[tuple[str, str]]:
    """Module and name of each import from posegen; the name is empty where the module is imported as a whole."""
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "posegen")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}:{node.lineno}: imports are absolute"
            if node.module and node.module.split(".")[0] == "posegen":
                yield from ((node.module, alias.name) for alias in node.names)


def attribute_chain(node: ast.Attribute) -> str:
    names = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    names.append(value.id if isinstance(value, ast.Name) else "?")
    return ".".join(reversed(names))


@cache
def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def assert_none(rule: Callable[[Path], Iterator[str]], sources: Iterable[Path] = SOURCES) -> None:
    offences = [f"{source.relative_to(ROOT)}: {offence}" for source in sources for offence in rule(source)]
    assert not offences, "\n".join(["", *offences])


def test_no_unknown_error_is_swallowed() -> None:
    def swallowed(source: Path) -> Iterator[str]:
        for node in nodes_of(source):
            if isinstance(node, ast.ExceptHandler):
                kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                caught = {ast.unparse(kind) if kind else "everything" for kind in kinds}
                raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
                if not raises and caught & {"everything", "Exception", "BaseException"}:
                    yield f"line {node.lineno}: say which errors"

    assert_none(swallowed)


def test_nothing_unsafe_is_used() -> None:
    def unsafe(source: Path) -> Iterator[str]:
        for node in nodes_of(source):
            if isinstance(node, ast.Attribute):
                chain = attribute_chain(node)
                if chain.startswith(("np.random", "numpy.random")):
                    yield f"line {node.lineno}: {chain}; draw from posegen.foundations.randomness"
                if chain in {"yaml.load", "yaml.unsafe_load", "yaml.full_load"}:
                    yield f"line {node.lineno}: {chain}; use a safe loader"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                # PYSKL reads pickles: they are written for it, and none is loaded.
                writes = source.name == "keypoint_files.py" and not re.search(r"pickle\.loads?\b", source.read_text("utf-8"))
                if names & {"pickle", "random", "numpy.random", "dill", "shelve"} - ({"pickle"} if writes else set()):
                    yield f"line {node.lineno}: {names}"
            switch = isinstance(node, ast.keyword) and node.arg in {"fastmath", "allow_pickle"}
            if switch and ast.unparse(node.value) != "False":
                yield f"line {node.value.lineno}: {node.arg}"

    assert_none(unsafe)


def test_numba_compiles_through_the_one_wrapper() -> None:
    compilers = {f"numba.{name}" for name in ("njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil")}

    def direct(source: Path) -> Iterator[str]:
        for node in nodes_of(source):
            if isinstance(node, ast.Attribute) and attribute_chain(node) in compilers:
                yield f"line {node.lineno}: use posegen.foundations.kernels.kernel"

    assert_none(direct, [s for s in SOURCES if part_of(s) != "kernels"])


def test_content_is_decided_by_plain_arithmetic() -> None:
    def is_number(node: ast.expr) -> bool:
        return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)

    def unequal(source: Path) -> Iterator[str]:
        for node in nodes_of(source):
            if isinstance(node, ast.Attribute):
                first, _, rest = attribute_chain(node).partition(".")
                if first in NUMERIC and set(rest.split(".")) & INEXACT:
                    yield f"line {node.lineno}: {first}.{rest}"
            if isinstance(node, ast.ImportFrom) and node.module in NUMERIC:
                yield from (f"line {node.lineno}: {a.name}" for a in node.names if a.name in INEXACT)
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
                yield f"line {node.lineno}: @ goes through BLAS"
            power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
            if power and not (is_number(node.left) and is_number(node.right)):
                yield f"line {node.lineno}: ** goes through the C library; multiply"

    assert_none(unequal, [s for s in SOURCES if part_of(s) in CONTENT])


PATH_TYPE = r"\b(?:Any|Pure|Posix|Bucket)?Path(?:Like)?\b|\bFolder\b"
PATH_TYPE_CHECK = re.compile(
    rf"\b(?:isinstance|issubclass)\([^,]*, [^)]*(?:{PATH_TYPE})|\btype\(\w+\) (?:is|==|in) .*(?:{PATH_TYPE})"
    rf"|\bcase (?:{PATH_TYPE})\("
)
"""A line that asks whether a dataset is in a folder or in a bucket."""


def test_the_type_of_a_path_is_asked_in_one_function() -> None:
    asked = {
        source.relative_to(ROOT).as_posix()
        for source in SOURCES
        for line in source.read_text("utf-8").splitlines()
        if PATH_TYPE_CHECK.search(line)
    }
    assert asked == {"posegen/dataset/storage/address.py"}


@pytest.mark.parametrize("line", ["isinstance(x, AnyPath)", "isinstance(x, (str, pathlib.Path))", "type(x) is Path"])
def test_checks_of_the_type_of_a_path_are_found(line: str) -> None:
    assert PATH_TYPE_CHECK.search(line)
    assert not PATH_TYPE_CHECK.search("isinstance(x, str) and Path(x).is_dir()")


def test_no_file_is_a_drawer() -> None:
    drawers = {"utils.py", "util.py", "helpers.py", "misc.py", "common.py"}
    assert not [file for file in tracked_files() if file.name in drawers]


def test_no_file_names_a_place_of_one_machine() -> None:
    place = re.compile(r"(?<![\w.$}/])/(?:home|root|Users|work|tmp|opt|mnt)/[\w.-]+")
    text = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".json", ".cfg", ""}
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in tracked_files()
        if file.suffix in text and file.name != "LICENSE"
        for match in place.finditer(file.read_text(encoding="utf-8"))
    ]
    assert not found


def test_constraints_are_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pin = re.compile(r'[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*(; python_version (<|>=) "3\.\d+")?')
    assert not [line for line in lines if not line.startswith("#") and not pin.fullmatch(line)]


def test_commands_of_the_readme_exist() -> None:
    from posegen.cli.main import COMMANDS

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"```(?:sh|console)\n(.*?)```", readme, re.DOTALL))
    commands = set(re.findall(r"^(?:\$ )?posegen ([a-z-]+)", shown, re.MULTILINE))
    targets = set(re.findall(r"^(?:\$ )?make ([a-z]+)", shown, re.MULTILINE))
    assert {"dataset", "test"} <= targets <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert {"generate", "info", "show"} <= commands <= set(COMMANDS)


def test_generating_imports_no_torch(tmp_path: Path) -> None:
    command = ["generate", "--config", "smoke", "--samples", "2", "--workers", "1", "--out", str(tmp_path / "dataset")]
    code = (
        "import sys; from posegen.cli.main import main\n"
        f"assert main({command}) == 0\n"
        "heavy = {'torch', 'matplotlib', 'PIL'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


BANNED = re.compile(
    r"\b(?:told|tells|telling|retold|caption_dropout|roads?|sittings|whoever|mends?|mended|mending|cures?|cured|strays|vacancy|ledger|unasked|parted"
    r"|goes on|went on|comes back|came back|taken again|measured again|planned again|made anew|who trains|who reads|who makes"
    r"|captured (?:motion|clips?|skeletons?)|steps learned)\b",
    re.IGNORECASE,
)
"""Words of the left column of the style guide that have no other sense in this repository. Language data (YAML) is exempt."""

WORDS_IN_ANOTHER_SENSE = {
    "posegen/captions/grammar.py": "goes_on",
    "posegen/captions/lexicon.py": "goes_on",
    "posegen/dataset/embeddings.py": '"told"',
    "posegen/library/words.py": "goes_on",
    "tests/captions/test_captions.py": "went on",
    "tests/captions/test_language.py": "goes_on",
    "tests/captions/test_parser.py": "goes on",
    "tests/test_house.py": ".*",
}
"""Files and lines in which a banned word is a word of a caption, a key of a word file, or a key of stored datasets."""


def test_no_file_uses_a_banned_word() -> None:
    def banned(file: Path) -> Iterator[str]:
        allowed = WORDS_IN_ANOTHER_SENSE.get(file.relative_to(ROOT).as_posix())
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = BANNED.search(line.replace("_", " "))
            if match and not (allowed and re.search(allowed, line)):
                yield f"line {number}: {match.group()}"

    assert_none(banned, [file for file in tracked_files() if file.suffix in {".py", ".md", ".toml", ".j2", ".html"}])
