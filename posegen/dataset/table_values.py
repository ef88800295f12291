"""Values of columns of a user's table: texts that are numbers, and values that no model can use.

A column of texts holds numbers if every text is one, with a currency or a per cent sign if it has any. The whole column decides
whether a comma or a point separates decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from posegen.foundations.arrays import Array
from posegen.foundations.wording import hidden_character

MOST = 1e15
"""Numbers of a larger size are taken for mistakes."""
DECIMALS = (".", ",")
_MISSING = {"", "-", "?", "na", "n/a", "nan", "none", "null"}
_SIGN = r"(?:[$€£¥₹%]|EUR|USD|GBP|CHF|JPY|INR)"
_GROUPS = {".": r"[, '\u00a0\u202f]", ",": r"[. '\u00a0\u202f]"}
_CODE = re.compile(r"[-+]?0\d")


def _pattern(decimal: str) -> re.Pattern[str]:
    number = rf"(?:\d{{1,3}}(?:{_GROUPS[decimal]}\d{{3}})+|\d+)(?:\{decimal}\d+)?(?:[eE][-+]?\d+)?|\{decimal}\d+"
    return re.compile(rf"([-+]?)\s*{_SIGN}?\s*([-+]?)\s*({number})\s*{_SIGN}?", re.IGNORECASE)


_PATTERNS = {decimal: _pattern(decimal) for decimal in DECIMALS}


def parse_number(text: str | None, decimal: str = ".") -> float:
    """Return the number that a text is; NaN if it is none.

    Parameters
    ----------
    text : str or None
    decimal : str
        What separates decimals, a point or a comma; the other one separates thousands.

    Examples
    --------
    >>> parse_number("$1,234.50"), parse_number("1.234,5 €", ","), parse_number("12 %"), parse_number("boots")
    (1234.5, 1234.5, 12.0, nan)
    """
    match = _PATTERNS[decimal].fullmatch((text or "").strip())
    if match is None:
        return float("nan")
    digits = re.sub(_GROUPS[decimal], "", match[3]).replace(",", ".")
    return float(("-" if "-" in match[1] + match[2] else "") + digits)


def parse_numbers(texts: Iterable[str | None], decimal: str) -> Array:
    """Return the numbers that texts are, float64 [n]; NaN where there is none."""
    return np.array([parse_number(text, decimal) for text in texts], np.float64)


def decimal_of(texts: Iterable[str | None]) -> str | None:
    """Return what separates decimals in a column of numbers that are texts; None if it is no such column.

    Examples
    --------
    >>> decimal_of(["1.234,5", "7"]), decimal_of(["$1.50", None]), decimal_of(["red", "1"]), decimal_of(["007", "120"])
    (',', '.', None, None)
    """
    known = {text.strip() for text in texts if text is not None and text.strip().lower() not in _MISSING}
    if not known or any(_CODE.match(text) and text.isdecimal() for text in known):
        return None
    return next((each for each in DECIMALS if all(_PATTERNS[each].fullmatch(text) for text in known)), None)


def first_number(texts: Iterable[str | None], decimal: str) -> str:
    """Return the first number of a column as it is written and as it is read.

    >>> first_number(["", "1,5"], ",")
    '1,5 is 1.5'
    """
    text = next(text for text in texts if text is not None and not np.isnan(parse_number(text, decimal)))
    return f"{text.strip()} is {parse_number(text, decimal):g}"


def unusable_number(values: Array) -> int | None:
    """Return the first row whose number is infinite or larger than :data:`MOST`; None if there is none. NaN is missing.

    >>> unusable_number(np.array([1.0, np.nan, 1e300]))
    2
    """
    rows = np.flatnonzero(np.abs(np.nan_to_num(values, nan=0.0, posinf=np.inf)) > MOST)
    return int(rows[0]) if len(rows) else None


def hidden_text(texts: Iterable[str | None]) -> tuple[int, str] | None:
    r"""Return the first row with a control character other than a tab or a line end, and the character; None if there is none.

    >>> hidden_text(["a\n", "b\x07"])
    (1, 'U+0007 (control character)')
    """
    for row, text in enumerate(texts):
        if text and not text.isprintable() and (hidden := hidden_character(text, "\t\r\n")):
            return row, hidden
    return None


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type of columns holds numbers or truth values."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def is_vector(kind: pa.DataType) -> bool:
    """Return whether a type of columns holds lists of floating-point numbers."""
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and types.is_floating(kind.value_type))
