"""Format and parse byte sizes and durations."""

from __future__ import annotations

import math
import re

from posegen.foundations.wording import shown

_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_SIZE = re.compile(rf"({_NUMBER})\s*([KMGT]?)B?", re.IGNORECASE)
_SIZE_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_DURATION = re.compile(rf"{_NUMBER}|(?:{_NUMBER}\s*[smhd]\s*)+")
_DURATION_PART = re.compile(rf"({_NUMBER})\s*([smhd])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def human_bytes(count: float) -> str:
    """Format a number of bytes with a decimal unit.

    Examples
    --------
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
    """Format a duration in hours, minutes and seconds.

    Examples
    --------
    >>> human_time(5), human_time(75), human_time(7322)
    ('5s', '1m 15s', '2h 02m')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole // 60 % 60:02d}m"


def human_rate(per_second: float, unit: str) -> str:
    """Format a rate per second, or per minute or hour where that has more digits.

    Examples
    --------
    >>> human_rate(1234.5, "rows"), human_rate(2.34, "rows"), human_rate(0.02, "shards")
    ('1,234 rows/s', '2.3 rows/s', '1.2 shards/min')
    """
    seconds, time = (1, "s") if per_second >= 0.5 else (60, "min") if per_second >= 0.5 / 60 else (3600, "h")
    rate = per_second * seconds
    return f"{rate:,.0f} {unit}/{time}" if rate >= 10 else f"{rate:.1f} {unit}/{time}"


def parse_bytes(text: str) -> int:
    """Parse a byte size with a decimal unit.

    Raises
    ------
    ValueError
        If `text` is not a size.

    Examples
    --------
    >>> parse_bytes("500MB"), parse_bytes("1.5 G"), parse_bytes("20")
    (500000000, 1500000000, 20)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"must be an amount of memory such as 4GB or 500MB (got {shown(text)})")
    return int(float(match[1]) * _SIZE_UNITS[match[2].upper()])


def parse_duration(text: str) -> float:
    """Parse a duration above 0 into seconds; a number without a unit is seconds.

    Raises
    ------
    ValueError
        If `text` is not a duration.

    Examples
    --------
    >>> parse_duration("90"), parse_duration("90s"), parse_duration("1h30m"), parse_duration("1.5 h"), parse_duration("2d")
    (90.0, 90.0, 5400.0, 5400.0, 172800.0)
    """
    plain = text.strip().lower()
    if _DURATION.fullmatch(plain):
        parts = _DURATION_PART.findall(plain)
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else float(plain)
        if seconds > 0:
            return seconds
    raise ValueError(f"must be a duration such as 90s, 30m, 2h or 1h30m (got {shown(text)})")
