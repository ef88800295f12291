"""Store measured values as Markdown tables in `results/`, and their details as JSON in `.cache/results/`."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DETAILS = Path(__file__).parents[1] / ".cache" / "results"
PATHS = {
    str(Path(__file__).parents[1]): "REPOSITORY",
    sys.prefix: "PYTHON",
    sys.base_prefix: "PYTHON",
    str(Path.home()): "HOME",
    tempfile.gettempdir(): "TEMPORARY",
    "/dev/shm": "MEMORY",
}
"""Paths of this machine, and their replacement in committed results."""
PACKAGES = ("numpy", "numba", "zarr", "pyarrow")


@dataclass(frozen=True)
class Figure:
    """One measured value.

    Attributes
    ----------
    name : str
        The measure.
    value : str
        The measured value with its unit.
    target : str
        The required value; empty if the value is only reported.
    passed : bool or None
        Whether the target is met; None if there is no target.
    detail : any
        Kept in the JSON file, which is not committed.
    """

    name: str
    value: str
    target: str = ""
    passed: bool | None = None
    detail: Any = None


def write(section: str, title: str, figures: Sequence[Figure], seconds: float) -> Path:
    """Write figures as a Markdown table and return its path; their details go to :data:`DETAILS`, which is not committed."""
    machine = machine_sentence(described_machine())
    where = f"`make judge SECTION={section}`, {seconds / 60:.0f} minutes. Machine: {machine}."
    return _write(section, title, figures, [*map(_row, figures)], [where])


def update(section: str, title: str, figures: Sequence[Figure], seconds: float) -> Path:
    """Replace the rows of the same names in the stored table, append new ones, and record the re-run."""
    table = RESULTS / f"{section}.md"
    rows, remarks = read_table(table) if table.is_file() else ([], ["The section was measured in parts."])
    new = {figure.name: _row(figure) for figure in figures}
    rows = [new.pop(_name(row), row) for row in rows] + list(new.values())
    # Figures whose names share a prefix are listed by the prefix. Only the last run of the same figures counts.
    names = "; ".join(dict.fromkeys(figure.name.partition(": ")[0] for figure in figures))
    remarks = [remark for remark in remarks if not (remark.startswith("Re-run") and remark.endswith(f": {names}."))]
    machine = machine_sentence(described_machine())
    remark = f"Re-run later ({seconds / 60:.0f} minutes on {machine}): {names}."
    return _write(section, title, figures, rows, [*remarks, remark])


def read_table(table: Path) -> tuple[list[str], list[str]]:
    """Return the rows of the table of a section, and the remarks below it."""
    lines = table.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")][1:]
    return rows, [line for line in lines[2:] if line and not line.startswith("|")]


def results_table(rows: Sequence[str], head: str = "| measure | value | target | result |") -> str:
    """Return a Markdown table of rows as :func:`read_table` returns them."""
    return "\n".join([head, "|---|---|---|---|", *rows])


def _row(figure: Figure) -> str:
    verdict = {None: "", True: "pass", False: "**fail**"}[figure.passed]
    return f"| {figure.name} | {figure.value} | {figure.target} | {verdict} |"


def _name(row: str) -> str:
    return row.removeprefix("| ").partition(" | ")[0]


def _write(section: str, title: str, figures: Sequence[Figure], rows: Sequence[str], remarks: Sequence[str]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    DETAILS.mkdir(parents=True, exist_ok=True)
    details = json.dumps([*map(asdict, figures)], indent=1, default=lambda value: value.item())  # NumPy scalars
    (DETAILS / f"{section}.json").write_text(f"{details}\n", encoding="utf-8")
    table = RESULTS / f"{section}.md"
    text = "\n\n".join([f"# {title}", results_table(rows), *remarks])
    table.write_text(_without_paths(f"{text}\n"), encoding="utf-8")
    return table


def filled_page(template: Path, parts: Mapping[str, str]) -> str:
    """Return a template with its parts, ``{{name}}``."""
    text = template.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _without_paths(text: str) -> str:
    for path in sorted(PATHS, key=len, reverse=True):
        text = re.sub(rf"{re.escape(path)}(?![\w-])", PATHS[path], text)
    return text


def described_machine() -> dict[str, str]:
    """Return processor, cores, system and package versions."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def _processor() -> str:
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine_sentence(machine: dict[str, str]) -> str:
    """Return a phrase that names the machine and its packages."""
    packages = ", ".join(f"{package} {machine[package]}" for package in PACKAGES)
    return f"{machine['cores']} cores of {machine['processor']}, Python {machine['python']}, {packages}"
