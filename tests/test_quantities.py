"""Byte sizes and durations are parsed and formatted in one way everywhere."""

from __future__ import annotations

import pytest

from posegen.foundations.quantities import human_bytes, human_time, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("14h", 50_400),
        ("1.5 H ", 5400),
        ("0.1s", 0.1),
    ],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "0", "0s", "-1s", "1h30", "1w", "1e9s", "inf", "nan", "1" * 30 + "s", "h"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration such as 90s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "count"), [("500MB", 500e6), ("2GB", 2e9), ("1.5 G", 1.5e9), ("7", 7), ("3kb", 3000), ("1 TB", 1e12)]
)
def test_sizes_are_parsed(text: str, count: float) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1EB", "1 000", "GB"])
def test_text_that_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be an amount of memory"):
        parse_bytes(text)


def test_sizes_and_times_are_readable() -> None:
    assert [human_bytes(n) for n in (0, 999, 1000, 65_432_100, 5e15)] == ["0 B", "999 B", "1 kB", "65.4 MB", "5,000 TB"]
    assert [human_time(s) for s in (0.4, 59, 61, 3600, 7322)] == ["0s", "59s", "1m 01s", "1h 00m", "2h 02m"]
