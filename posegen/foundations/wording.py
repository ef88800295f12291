"""Quote user input in messages, suggest known names for unknown ones, and lay out tables as text."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

_LONGEST_QUOTE = 60
_LONGEST_GUESS = 100
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control and format characters, halves of pairs, and ends of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
_WIDTH = 120
"""Columns of a table where there is no terminal."""
_NARROW = 20
"""Width to which a terminal can narrow text in a table."""
_NARROWEST = 6
"""The same where a number needs the room."""
_GAP = 3


def shown(value: object) -> str:
    r"""Format a value in one line of readable length.

    Parameters
    ----------
    value : object
        Any value from a file or an option.

    Returns
    -------
    str

    Examples
    --------
    >>> shown("two\nlines"), shown(None), shown(True), shown(2.5)
    ("'two\\nlines'", 'nothing', 'true', '2.5')
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Longer text is truncated below.
        value = value[: _LONGEST_QUOTE + 1]
    try:
        text = repr(value)
    except ValueError:  # Python refuses to format integers with thousands of digits
        text = "a number too long to show"
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def printable(text: str) -> str:
    r"""Escape control characters except line ends, so that a terminal shows them.

    Parameters
    ----------
    text : str
        A message, which may contain names from untrusted input.

    Returns
    -------
    str

    Examples
    --------
    >>> printable("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\nc'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


def hidden_character(text: str, allowed: str = "") -> str:
    r"""Return the code and name of the first character that a reader cannot see, or that changes the order of others.

    Parameters
    ----------
    text : str
    allowed : str
        Such characters that are allowed; joiners between letters always are.

    Returns
    -------
    str
        Empty if there is none.

    Examples
    --------
    >>> hidden_character("walks\u202e"), hidden_character("r\u00e9sum\u00e9"), hidden_character("a\tb", "\t")
    ('U+202E (right-to-left override)', '', '')
    """
    for char in "" if text.isprintable() else text:
        if unicodedata.category(char) in _HIDDEN and char not in _JOINERS + allowed:
            return f"U+{ord(char):04X} ({unicodedata.name(char, 'control character').lower()})"
    return ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, or None.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
        Known names.

    Returns
    -------
    str or None

    Examples
    --------
    >>> nearest("smok", ["default", "smoke", "full"])
    'smoke'
    """
    if len(name) > _LONGEST_GUESS:  # no known name is as long, and the search would be slow
        return None
    matches = get_close_matches(name, sorted(set(known)), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown `name`: the nearest known name, or all known names.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
        Known names.

    Returns
    -------
    str
        Starts with a semicolon.

    Examples
    --------
    >>> "unknown preset 'smok'" + did_you_mean("smok", ["default", "smoke"])
    "unknown preset 'smok'; did you mean 'smoke'?"
    >>> "unknown preset 'x'" + did_you_mean("x", ["default", "smoke"])
    "unknown preset 'x'; there are default, smoke"
    """
    names = sorted(set(known))
    match = nearest(name, names)
    if match is not None:
        return f"; did you mean {match!r}?"
    return f"; there are {', '.join(names)}" if names else "; there are none"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """Return a table as text: the first column and those without a name aligned left, the others right.

    Nothing is cut in a narrow terminal: columns on the left wrap, and columns without room are printed below, after the first
    column again.

    Parameters
    ----------
    columns : sequence of str
        Headers.
    rows : iterable of sequence of str
    title : str, optional
        Printed above the table.
    """
    width = shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else _WIDTH
    lines = [tuple(columns), *map(tuple, rows)]
    longest = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    least = [length if number and columns[number] else min(length, _NARROW) for number, length in enumerate(longest)]
    blocks = [[0]]
    for number in range(1, len(columns)):
        if len(blocks[-1]) > 1 and sum(least[i] + _GAP for i in blocks[-1]) + least[number] > width:
            blocks.append([0])
        blocks[-1].append(number)
    grids = []
    for block in blocks:
        spare = width + _GAP - sum(least[i] + _GAP for i in block)
        widths = dict[int, int]()
        for number in block:
            # Without room for two columns, the first one wraps further.
            widths[number] = max(min(least[number], 1 if number else _NARROWEST), min(longest[number], least[number] + spare))
            spare -= widths[number] - least[number]
        grids.append(_grid(columns, lines[1:], widths))
    return (f"{title}\n" if title else "") + "\n\n".join(grids)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Mapping[int, int]) -> str:
    """Return the columns of a table that have a width, as text."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, width in widths.items():
        grid.add_column(
            columns[number], justify="right" if number and columns[number] else "left", width=width, overflow="fold"
        )
    for row in rows:
        grid.add_row(*(row[number] for number in widths))
    total = sum(widths.values()) + _GAP * len(widths)
    console = Console(file=sys.stdout, highlight=False, markup=False, color_system=None, width=total)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
