"""Errors that are reported to the user; every other exception is a bug.

A message contains the problem, its location and the fix. The command line prints it without a traceback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from posegen.foundations.wording import did_you_mean, shown

_SECRETS = re.compile(r"TOKEN|SECRET|PASSWORD|ACCESS_KEY")
_SHORTEST_SECRET = 4


class PosegenError(Exception):
    """A failure, or damaged data: exit code 1."""


class UsageError(PosegenError):
    """An invalid option, config, file or name: exit code 2."""


class ServerError(Exception):
    """A server refused a request, or failed for too long: exit code 1.

    Not a :class:`PosegenError`: callers treat those as damaged data.
    """


class MissingPathError(UsageError, FileNotFoundError):
    """A path at which there is nothing: also what Python itself raises for it."""


def require_positive(name: str, value: int | None) -> None:
    """Raise UsageError if an option is given and less than 1."""
    if value is not None and value < 1:
        raise UsageError(f"{name} must be at least 1 (got {value})")


def require_known(what: str, name: str, known: Collection[str]) -> None:
    """Raise UsageError if a name is not a known one, with the nearest or all known ones.

    Examples
    --------
    >>> require_known("there is no split", "tset", ["test", "training"])
    Traceback (most recent call last):
    posegen.foundations.errors.UsageError: there is no split 'tset'; did you mean 'test'?
    """
    if name not in known:
        raise UsageError(f"{what} {shown(name)}{did_you_mean(str(name), known)}")


def require_local(path: str | Path) -> None:
    """Raise UsageError if a path is the address of a server: ``s3://bucket/motion`` would become a folder ``s3:``."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        raise UsageError(
            f"{path}: is an address; name a local folder or file. Datasets in object storage, s3://BUCKET/PATH, work with most "
            "commands; for the others, copy them to this machine (posegen docs object-storage)"
        )


def require_inside(folder: Path, file: Path) -> None:
    """Raise UsageError if a file in a folder is a link, or lies in one, to something outside; a folder may come from anyone.

    Parameters
    ----------
    folder : Path
        May be a link itself.
    file : Path
        Begins with `folder`.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"{file}: is a link to something outside {folder}; put a copy of the file there, or leave it out")


def without_secrets(text: str) -> str:
    """Return the first line of a message without signatures of addresses and values of secret environment variables.

    Examples
    --------
    >>> without_secrets("403 for https://me:word@host/file?X-Signature=1f")
    '403 for https://host/file'
    """
    line = next(iter(text.strip().splitlines()), "")
    for value in sorted(_secrets(), key=len, reverse=True):
        line = line.replace(value, "***")
    return re.sub(r"(https?://)(?:[^\s/@]*@)?([^\s?'\"]*)(?:\?[^\s'\"]*)?", r"\1\2", line)


def _secrets() -> Iterable[str]:
    return {value for name, value in os.environ.items() if _SECRETS.search(name) and len(value) >= _SHORTEST_SECRET}
