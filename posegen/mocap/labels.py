"""Labels of clips: from a CSV table, from HumanML3D's ``texts`` folder, from the file itself, or from the name of the file."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from posegen.foundations.errors import UsageError
from posegen.foundations.links import require_inside
from posegen.foundations.wording import hidden_character, shown
from posegen.mocap.words import label_words, verb_of_sentence

MOST_BYTES = 64 * 2**20
MOST_TEXTS = 40
LONGEST_NAME = 48
ROWS_SHOWN = 5
"""Rows of a table without a file that are named."""
_NO_WORD = "has no word in the letters a to z that names an action; give an English label"


@dataclass(frozen=True)
class Label:
    """What a clip shows: the name of its action, and sentences about it."""

    name: str
    texts: tuple[str, ...] = ()


def action_name(text: str) -> str:
    """Return the name of the action of a label: lower case, words joined by underscores, without numbers and accents.

    It is empty if the label has no word in the letters a to z, or none but left and right.

    Examples
    --------
    >>> action_name("kickLFront1Reps"), action_name("Jumping jack (02)")
    ('kick_front', 'jumping_jack')
    """
    words = [word for word in label_words(text) if word not in ("left", "right")]
    return "_".join(words)[:LONGEST_NAME].rstrip("_")


def read_label_table(path: Path) -> Mapping[str, Label]:
    """Read a CSV file with the columns ``file``, ``label`` and optionally ``text``; a file may have several rows.

    Returns
    -------
    mapping of str to Label
        By the file as the table names it: a path or its end, with or without the ending of the file.

    Raises
    ------
    UsageError
        If it cannot be read or lacks a column, a label has no word, or a file has two labels.
    """
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path}: is not a file of at most {MOST_BYTES // 2**20} MB; give a CSV file with --labels")
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read as CSV ({error}); save it as UTF-8 with commas") from error
    labels: dict[str, Label] = {}
    for number, row in enumerate(rows, 2):
        file_name, name = row.get("file"), row.get("label")
        if not file_name or not name:
            raise UsageError(
                f"{path}, line {number}: needs `file` and `label`; the first line must name the columns file,label,text"
            )
        key, action = PurePosixPath(file_name.strip()).as_posix(), action_name(name)
        if not action:
            raise UsageError(f"{path}, line {number}: the label {shown(name)} {_NO_WORD}")
        before = labels.get(key)
        if before is not None and before.name != action:
            raise UsageError(
                f"{path}, line {number}: {shown(key)} has the label {before.name} in an earlier line; if these are two files, "
                f"give their folders, as in {shown(f'FOLDER/{key}')}, otherwise one label"
            )
        text = (row.get("text") or "").strip()
        texts = (*(before.texts if before else ()), *([text] if text else []))
        labels[key] = Label(action, texts[:MOST_TEXTS])
    return labels


def _names(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the ends of the path of a file, the longest first, each with and without the ending of the file."""
    parts = Path(os.path.abspath(file)).parts
    for first in range(len(parts)):
        named = Path(*parts[first:])
        yield named.as_posix(), named.with_suffix("").as_posix()


def row_of(file: Path, table: Mapping[str, Label]) -> Label:
    """Return the label of a file in a table: that of the row with the longest end of its path.

    Raises
    ------
    UsageError
        If there is none, or such rows with and without the ending of the file have different labels.
    """
    for names in _names(file):
        if found := [table[name] for name in names if name in table]:
            if found[0].name != found[-1].name:
                raise UsageError(
                    f"{file}: the table of labels has {found[0].name} for {shown(names[0])} and {found[1].name} for "
                    f"{shown(names[1])}; give one label, or the folders of both files"
                )
            return Label(found[0].name, tuple(text for label in found for text in label.texts)[:MOST_TEXTS])
    raise UsageError(f"{file}: has no row in the table of labels; add one, or leave the file out")


def table_for_files(path: Path, files: Sequence[Path]) -> tuple[Mapping[str, Label], list[str]]:
    """Return a table of labels that has all files, and notes about its rows that match none.

    Raises
    ------
    UsageError
        If it cannot be read, or lacks a file.
    """
    table = read_label_table(path)
    for file in files:
        row_of(file, table)
    unused = rows_without_file(table, files)
    if not unused:
        return table, []
    more = f" and {len(unused) - ROWS_SHOWN:,} more" if len(unused) > ROWS_SHOWN else ""
    return table, [f"{path}: these rows match no file: {', '.join(map(shown, unused[:ROWS_SHOWN]))}{more}"]


def rows_without_file(table: Mapping[str, Label], files: Iterable[Path]) -> list[str]:
    """Return the names of files in a table of labels that are none of `files`."""
    known = {name for file in files for names in _names(file) for name in names}
    return [name for name in table if name not in known]


def texts_beside(file: Path) -> tuple[str, ...]:
    """Return the sentences of ``texts/NAME.txt`` beside the folder of a file, or beside the file, as in HumanML3D."""
    for folder in (file.parent.parent / "texts", file.parent / "texts"):
        path = folder / f"{file.stem}.txt"
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            require_inside(folder.parent, path)
            lines = path.read_text("utf-8", errors="replace").splitlines()
            return tuple(line.partition("#")[0].strip() for line in lines[:MOST_TEXTS] if line.strip())
    return ()


def label_of(file: Path, table: Mapping[str, Label] | None, own: str, clip: str = "") -> Label:
    """Return the label of a clip.

    Parameters
    ----------
    file : Path
    table : mapping of str to Label, optional
        As :func:`read_label_table` returns it; it must then have the file.
    own : str
        What the file itself calls the clip; empty if it does not.
    clip : str
        Name of the clip for messages; by default the file.

    Raises
    ------
    UsageError
        If a table is given that lacks the file, nothing has a word that names an action, or the name is not readable.
    """
    if hidden_character(clip or file.name):
        raise UsageError(f"{shown(clip or str(file))}: its name is not UTF-8, or has a hidden character; rename it")
    if table is not None:
        return row_of(file, table)
    texts = texts_beside(file)
    if name := action_name(own):
        return Label(name, texts)
    verbs = [verb for text in texts if (verb := verb_of_sentence(text))]
    if verbs:
        # Clips of one verb are strategies of one action.
        return Label(action_name(re.split(r"[| ]", verbs[0])[3]), texts)
    name = "" if own else action_name(file.stem)
    if not name:
        raise UsageError(f"{clip or file}: its label {shown(own or file.stem)} {_NO_WORD} in a table with --labels")
    return Label(name, texts)
