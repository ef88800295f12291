"""Store measured values as JSON and Markdown tables in `results/`."""

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

__all__ = [
    "RESULTS",
    "Figure",
    "described_machine",
    "filled_page",
    "machine_sentence",
    "provenance",
    "results_table",
    "update",
    "write",
    "write_document",
]

RESULTS = Path(__file__).parent / "results"
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
        Kept in the JSON file, not in the table.
    """

    name: str
    value: str
    target: str = ""
    passed: bool | None = None
    detail: Any = None


def write(section: str, title: str, figures: Sequence[Figure], seconds: float) -> Path:
    """Write figures as JSON and as a Markdown table, and return the path of the table."""
    document = {
        "section": section,
        "machine": described_machine(),
        "seconds": round(seconds),
        "figures": [*map(asdict, figures)],
    }
    return write_document(title, {**document, "reruns": []})


def update(section: str, title: str, figures: Sequence[Figure], seconds: float) -> Path:
    """Replace the figures of the same names in the stored results, append new ones, and record the re-run."""
    file = RESULTS / f"{section}.json"
    empty = {"section": section, "machine": described_machine(), "seconds": None, "figures": []}
    document = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else empty
    new = {figure.name: asdict(figure) for figure in figures}
    document["figures"] = [new.pop(figure["name"], figure) for figure in document["figures"]] + list(new.values())
    names = [figure.name for figure in figures]
    # Only the last run of a figure counts.
    earlier = [{**rerun, "figures": [f for f in rerun["figures"] if f not in names]} for rerun in document.get("reruns", [])]
    earlier = [rerun for rerun in earlier if rerun["figures"]]
    rerun = {"figures": names, "seconds": round(seconds), "machine": described_machine()}
    document["reruns"] = [*earlier, rerun]
    return write_document(title, document)


def provenance(document: dict[str, Any]) -> str:
    """Return sentences that state the duration, the machine and the re-runs of a section."""
    machine = machine_sentence(document["machine"])
    text = f"Machine: {machine}. The section was measured in parts; figures that are not listed were not measured."
    if document["seconds"] is not None:
        text = f"`make judge SECTION={document['section']}`, {document['seconds'] / 60:.0f} minutes. Machine: {machine}."
    for rerun in document.get("reruns", []):
        # Figures whose names share a prefix are listed by the prefix.
        names = "; ".join(dict.fromkeys(name.partition(": ")[0] for name in rerun["figures"]))
        other = rerun.get("machine", document["machine"])
        place = f" on {machine_sentence(other)}" if other != document["machine"] else ""
        text += f"\n\nRe-run later ({rerun['seconds'] / 60:.0f} minutes{place}): {names}."
    return text


def write_document(title: str, document: dict[str, Any]) -> Path:
    """Write the results of a section as JSON and as a Markdown table, and return the path of the table."""
    RESULTS.mkdir(exist_ok=True)
    section = document["section"]
    text = json.dumps(document, indent=1, default=lambda value: value.item()) + "\n"  # NumPy scalars become plain numbers
    (RESULTS / f"{section}.json").write_text(_without_paths(text), encoding="utf-8")
    table = RESULTS / f"{section}.md"
    text = "\n".join([f"# {title}", "", results_table(document["figures"]), "", provenance(document)]) + "\n"
    table.write_text(_without_paths(text), encoding="utf-8")
    return table


def results_table(figures: Sequence[Mapping[str, Any]], head: str = "| measure | value | target | result |") -> str:
    """Return a Markdown table of figures as they are stored."""
    verdicts = {None: "", True: "pass", False: "**fail**"}
    lines = [f"| {f['name']} | {f['value']} | {f['target']} | {verdicts[f['passed']]} |" for f in figures]
    return "\n".join([head, "|---|---|---|---|", *lines])


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
