"""Quote user input in messages, suggest known names for unknown ones, and lay out tables as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LONGEST_QUOTE = 60
_LONGEST_GUESS = 100
_WIDTH = 120


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

    Parameters
    ----------
    columns : sequence of str
        Headers.
    rows : iterable of sequence of str
    title : str, optional
        Printed above the table.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        grid.add_column(column, justify="right" if number and column else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    # Without a terminal rich would cut lines at 80 letters.
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(file=sys.stdout, highlight=False, markup=False, color_system=None, width=width)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
