"""Quote user input in messages, suggest known names for unknown ones, and lay out tables as text."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LONGEST_QUOTE = 60
_LONGEST_GUESS = 100
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control and format characters, halves of pairs, and ends of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
_WIDTH, _WIDEST = 120, 10_000
"""Columns of a table where there is no terminal, and at most."""


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


def counted(count: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "shard"), counted(1200, "shard")
    ('1 shard', '1,200 shards')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def verb(count: int) -> str:
    """Return "is" or "are" for a number of things."""
    return "is" if count == 1 else "are"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """Return a table as text: the first column and those without a name aligned left, the others right.

    Nothing is cut in a narrow terminal: text wraps as far as it can, and then the terminal wraps the lines.

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

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        is_figure = number > 0 and name != ""
        grid.add_column(name, justify="right" if is_figure else "left", no_wrap=is_figure, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    console = Console(file=sys.stdout, highlight=False, markup=False, color_system=None, width=_WIDEST)
    width = shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else _WIDTH
    least = console.measure(grid).minimum
    with console.capture() as captured:
        console.print(grid, width=max(width, least))
    text = "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
    return f"{title}\n{text}" if title else text
