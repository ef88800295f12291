"""Printed rates and times agree with each other, with the receipts, and with the time that the command took."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.embedding.models import HASHING
from tests.cli.conftest import SMALL

_LINE = re.compile(
    r"(?P<task>[a-z ]+): (?P<done>[0-9,]+) of (?P<total>[0-9,]+) (?P<unit>[a-z]+) \(100%\), "
    r"(?P<rate>[0-9,.]+) (?P=unit)/(?P<time>s|min|h)(?P<details>.*), 0s left"
)
_SECONDS = {"s": 1, "min": 60, "h": 3600}
OWN = [part for setting in SMALL for part in ("--set", setting)]


@dataclass(frozen=True)
class Shown:
    """What a command printed, and the seconds that it took, measured around it."""

    out: str
    err: str
    seconds: float

    def last_line(self, task: str) -> tuple[int, float, float, str]:
        """Return the count of a task, the lowest and highest rate per second that its last line may stand for, and details."""
        match = next(match for match in map(_LINE.fullmatch, self.err.splitlines()) if match and match["task"] == task)
        rate, time = float(match["rate"].replace(",", "")), _SECONDS[match["time"]]
        rounded = 0.05 if "." in match["rate"] else 0.5
        return int(match["done"].replace(",", "")), (rate - rounded) / time, (rate + rounded) / time, match["details"]


def run(capsys: pytest.CaptureFixture[str], *command: str) -> Shown:
    capsys.readouterr()
    started = time.monotonic()
    assert main(list(command)) == 0
    seconds = time.monotonic() - started
    return Shown(*capsys.readouterr(), seconds)


def stored_seconds(receipts: Path) -> float:
    return sum(json.loads(path.read_bytes())["seconds"] for path in receipts.glob("*.json"))


def numbers(pattern: str, text: str) -> Sequence[float]:
    match = re.search(pattern, text)
    assert match, text
    return [float(number.replace(",", "")) for number in match.groups()]


def test_rates_of_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dataset"
    command = ["generate", "--config", "smoke", *OWN, "--samples", "40", "--workers", "1", "--out", str(path)]
    shown = run(capsys, *command)
    done, low, high, details = shown.last_line("generate")
    assert done == 40
    assert done / high <= shown.seconds
    # One process makes the shards, so that they take at least the sum of their times.
    made = stored_seconds(path / "receipts")
    assert made > 0
    assert low * (made - 0.01) <= done  # ten times, each rounded to a millisecond
    (sequences,) = numbers(r"([0-9,]+) sequences/s", details)
    assert 5 * low - 1 <= sequences <= 5 * high + 1
    assert "CPU" not in details
    count, seconds, rate = numbers(r"Generated ([0-9,]+) sequences in ([0-9.]+)s, ([0-9,]+) per second", shown.out)
    assert count == 200
    assert made - 0.06 <= seconds <= shown.seconds + 0.06
    assert (rate - 1) * (seconds - 0.06) <= count <= (rate + 1) * (seconds + 0.06)


def test_rates_of_embed(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "embed", str(dataset), "--encoder", HASHING, "--no-cache", "--workers=1")
    done, _, high, _ = shown.last_line("embed")
    assert done / high <= shown.seconds
    receipts = dataset / "embeddings" / HASHING / "receipts" / "vectors"
    texts, seconds, computed = numbers(r"Embedded ([0-9,]+) texts in ([0-9.]+) s, computed in ([0-9.]+) s", shown.out)
    assert texts == done
    assert stored_seconds(receipts) - 0.06 <= computed <= seconds + 0.06 <= shown.seconds + 0.12


def test_rates_of_derive_and_export(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, task in (
        (["derive", str(dataset), "--add", "velocity", "--workers", "1"], "derive"),
        (["export", str(dataset), "--to", "csv", "-o", str(tmp_path / "csv"), "--workers", "1"], "export"),
        (["verify", str(dataset)], "read"),
    ):
        shown = run(capsys, *command)
        done, _, high, _ = shown.last_line(task)
        assert done / high <= shown.seconds
