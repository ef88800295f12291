"""What a measure found, and how it is written down."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "Figure", "described_machine", "sentence", "took", "write", "write_again"]

RESULTS = Path(__file__).parent / "results"
PLACES = {
    str(Path(__file__).parents[1]): "REPOSITORY",
    sys.prefix: "PYTHON",
    sys.base_prefix: "PYTHON",
    str(Path.home()): "HOME",
    tempfile.gettempdir(): "TEMPORARY",
    "/dev/shm": "MEMORY",
}
"""What a message may hold of the machine, and what stands for it in results that are committed."""
PACKAGES = ("numpy", "numba", "zarr", "pyarrow")


@dataclass(frozen=True)
class Figure:
    """One finding.

    `good` is None where a figure is only told. `detail` is kept in the JSON, not in the table.
    """

    name: str
    found: str
    wanted: str = ""
    good: bool | None = None
    detail: Any = None


def write(section: str, title: str, figures: Sequence[Figure], seconds: float) -> Path:
    """Write figures as JSON and as a table in Markdown, and give the path of the table."""
    found = [asdict(figure) for figure in figures]
    return _record(
        title, {"section": section, "machine": described_machine(), "seconds": round(seconds), "figures": found, "again": []}
    )


def write_again(section: str, title: str, figures: Sequence[Figure], seconds: float) -> Path:
    """Put figures in the place of those of the same names that are written down, and new ones behind them; which were measured
    later is told. Of a section that was never measured whole, that is all there is.
    """
    kept = RESULTS / f"{section}.json"
    begun = {"section": section, "machine": described_machine(), "seconds": None, "figures": []}
    document = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else begun
    found = {figure.name: asdict(figure) for figure in figures}
    document["figures"] = [found.pop(figure["name"], figure) for figure in document["figures"]] + list(found.values())
    names = [figure.name for figure in figures]
    # Of what was measured several times, the last counts.
    before = [later for later in document.get("again", []) if not set(later["figures"]) <= set(names)]
    document["again"] = [*before, {"figures": names, "seconds": round(seconds), "machine": described_machine()}]
    return _record(title, document)


def took(document: dict[str, Any]) -> str:
    """Say in words how long a section took, on what, and which of its figures were measured again later."""
    machine = sentence(document["machine"])
    told = f"Measured in parts on {machine}; what is not listed was not measured."
    if document["seconds"] is not None:
        told = f"`make judge SECTION={document['section']}` took {document['seconds'] / 60:.0f} minutes on {machine}."
    for later in document.get("again", []):
        # Of figures whose names begin alike, what they begin with.
        what = "; ".join(dict.fromkeys(name.partition(": ")[0] for name in later["figures"]))
        again = "Measured again, after a mend," if document["seconds"] is not None else "Measured"
        elsewhere = later.get("machine", document["machine"]) != document["machine"]
        place = f" on {sentence(later['machine'])}" if elsewhere else ""
        told += f" {again} in {later['seconds'] / 60:.0f} minutes{place}: {what}."
    return told


def _record(title: str, document: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    section = document["section"]
    # NumPy's numbers and truths become plain ones.
    text = json.dumps(document, indent=1, default=lambda value: value.item()) + "\n"
    (RESULTS / f"{section}.json").write_text(_without_places(text), encoding="utf-8")
    lines = [f"# {title}", "", took(document), "", "| measure | found | wanted | |", "|---|---|---|---|"]
    mark = {True: "good", False: "**bad**", None: ""}
    lines += [
        f"| {f['name']} | {f['found']} | {f['wanted']} | {mark[None if f['good'] is None else bool(f['good'])]} |"
        for f in document["figures"]
    ]
    table = RESULTS / f"{section}.md"
    table.write_text(_without_places("\n".join(lines) + "\n"), encoding="utf-8")
    return table


def _without_places(text: str) -> str:
    for place in sorted(PLACES, key=len, reverse=True):
        text = re.sub(rf"{re.escape(place)}(?![\w-])", PLACES[place], text)
    return text


def described_machine() -> dict[str, str]:
    """Say what figures are measured on."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def _processor() -> str:
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def sentence(machine: dict[str, str]) -> str:
    """Say in words what figures were measured on."""
    packages = ", ".join(f"{package} {machine[package]}" for package in PACKAGES)
    return f"{machine['cores']} cores of {machine['processor']}, Python {machine['python']}, {packages}"
