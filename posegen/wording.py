"""How messages quote what a user wrote, and guess what the user meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "nearest", "printable", "shown"]

_LONGEST_QUOTE = 60
_LONGEST_GUESS = 100


def shown(value: object) -> str:
    r"""Quote a value in one line of readable length.

    Parameters
    ----------
    value : object
        Anything that came out of a file or an option.

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
        # The rest of a text that is cut off anyway need not be quoted.
        value = value[: _LONGEST_QUOTE + 1]
    try:
        text = repr(value)
    except ValueError:  # Python does not write out whole numbers of thousands of digits
        text = "a number too long to show"
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def printable(text: str) -> str:
    r"""Write out the characters that a terminal would obey rather than show; the ends of lines stay.

    Parameters
    ----------
    text : str
        A message, with names in it that anybody may have given.

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
    """Find the known name that looks most like `name`, or None where none does.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What could have been written.

    Returns
    -------
    str or None

    Examples
    --------
    >>> nearest("smok", ["default", "smoke", "full"])
    'smoke'
    """
    if len(name) > _LONGEST_GUESS:  # nothing that is known is like it, and finding that out takes long
        return None
    matches = get_close_matches(name, sorted(set(known)), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Continue a message about an unknown `name` by the nearest known one, or by all of them.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What could have been written.

    Returns
    -------
    str
        Begins with a semicolon.

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
