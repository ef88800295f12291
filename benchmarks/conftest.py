"""Record the ratio of each guard and compare it with the committed one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.figures import RESULTS, described_machine
from benchmarks.guards import Guard

COMMITTED = RESULTS / "guards.json"
MEASURED = Path(__file__).parents[1] / ".cache" / "guards.json"
NOTABLE = 1.3
"""Factor from which a difference to the committed ratio is reported; less is noise."""

_measured = pytest.StashKey[dict[str, dict[str, float]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--commit", action="store_true", help="write the measured ratios to benchmarks/results/guards.json")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_measured] = {}


@pytest.fixture
def guard(request: pytest.FixtureRequest) -> Guard:
    """Return the function that records a ratio and checks it against its threshold."""

    def check(name: str, ratio: float, *, most: float | None = None, least: float | None = None) -> None:
        limits = {"most": most, "least": least}
        given = {which: limit for which, limit in limits.items() if limit is not None}
        request.config.stash[_measured][name] = {"ratio": ratio, **given}
        assert most is None or ratio <= most, f"{name} is {ratio:.2f}; it must be at most {most}"
        assert least is None or ratio >= least, f"{name} is {ratio:.2f}; it must be at least {least}"

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print each ratio beside its threshold and the committed ratio, and write them."""
    measured = config.stash[_measured]
    if not measured:
        return
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))["guards"] if COMMITTED.exists() else {}
    terminalreporter.section("guards")
    for name, each in measured.items():
        terminalreporter.write_line(guard_line(name, each, committed.get(name)))
    guards = {**committed, **measured} if config.getoption("--commit") else measured
    document = {"machine": described_machine(), "load": round(os.getloadavg()[0], 1), "guards": guards}
    path = COMMITTED if config.getoption("--commit") else MEASURED
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    terminalreporter.write_line(f"written to {path.relative_to(Path(__file__).parents[1])}")


def guard_line(name: str, measured: dict[str, float], committed: dict[str, float] | None) -> str:
    """Return a line with the ratio, its threshold and the committed ratio."""
    limit = f"at most {measured['most']}" if "most" in measured else f"at least {measured['least']}"
    line = f"{name}: {measured['ratio']:.2f} ({limit})"
    if committed is None:
        return f"{line}, none committed"
    worse = measured["ratio"] / committed["ratio"] if "most" in measured else committed["ratio"] / measured["ratio"]
    notable = "  <-- worse" if worse > NOTABLE else "  <-- better" if worse < 1 / NOTABLE else ""
    return f"{line}; committed {committed['ratio']:.2f}{notable}"
