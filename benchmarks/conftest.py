"""Guards write down what they found, and tell by how much it differs from what is kept in the repository."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.figures import RESULTS, described_machine
from benchmarks.guards import Guard

KEPT = RESULTS / "guards.json"
FOUND = Path(__file__).parents[1] / ".cache" / "guards.json"
NOTABLE = 1.3
"""Times by which a ratio must differ from the kept one to be pointed at; less is the noise of a machine."""

_found = pytest.StashKey[dict[str, dict[str, float]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep", action="store_true", help="keep what guards find as benchmarks/results/guards.json")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_found] = {}


@pytest.fixture
def guard(request: pytest.FixtureRequest) -> Guard:
    """Give the function that holds a ratio against what it must not pass, and writes it down."""

    def hold(name: str, ratio: float, *, most: float | None = None, least: float | None = None) -> None:
        limits = {"most": most, "least": least}
        given = {which: limit for which, limit in limits.items() if limit is not None}
        request.config.stash[_found][name] = {"ratio": ratio, **given}
        assert most is None or ratio <= most, f"{name}: {ratio:.2f}, and {most} is the most"
        assert least is None or ratio >= least, f"{name}: {ratio:.2f}, and {least} is the least"

    return hold


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write what was found, and tell it beside what is kept."""
    found = config.stash[_found]
    if not found:
        return
    kept = json.loads(KEPT.read_text(encoding="utf-8"))["guards"] if KEPT.exists() else {}
    terminalreporter.section("guards")
    for name, each in found.items():
        terminalreporter.write_line(told(name, each, kept.get(name)))
    # Those of a part of the guards do not drive out the rest.
    guards = {**kept, **found} if config.getoption("--keep") else found
    document = {"machine": described_machine(), "load": round(os.getloadavg()[0], 1), "guards": guards}
    place = KEPT if config.getoption("--keep") else FOUND
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    terminalreporter.write_line(f"written to {place.relative_to(Path(__file__).parents[1])}")


def told(name: str, found: dict[str, float], kept: dict[str, float] | None) -> str:
    """Say what a guard found, beside its limit and what is kept."""
    limit = f"at most {found['most']}" if "most" in found else f"at least {found['least']}"
    line = f"{name}: {found['ratio']:.2f} ({limit})"
    if kept is None:
        return f"{line}, none kept"
    worse = found["ratio"] / kept["ratio"] if "most" in found else kept["ratio"] / found["ratio"]
    notable = "  <-- worse" if worse > NOTABLE else "  <-- better" if worse < 1 / NOTABLE else ""
    return f"{line}, kept {kept['ratio']:.2f}{notable}"
