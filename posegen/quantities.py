"""Sizes and durations as people write them."""

from __future__ import annotations

import math

__all__ = ["human_bytes", "human_time"]


def human_bytes(count: float) -> str:
    """Size in the unit that suits it.

    >>> human_bytes(1_650_000_000)
    '1.65 GB'
    """
    if count < 1000:
        return f"{count:.0f} B"
    units = ("kB", "MB", "GB", "TB")
    power = min(int(math.log10(count)) // 3, len(units))
    number = count / 1000**power
    return f"{number:.3g} {units[power - 1]}" if number < 999.5 else f"{number:,.0f} {units[power - 1]}"


def human_time(seconds: float) -> str:
    """Duration in words.

    >>> human_time(5), human_time(75), human_time(7322)
    ('5s', '1m 15s', '2h 02m')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole // 60 % 60:02d}m"
