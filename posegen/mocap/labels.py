"""Labels of clips: from a CSV table, from HumanML3D's ``texts`` folder, from the file itself, or from the name of the file."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from posegen.errors import UsageError
from posegen.mocap.words import label_words, verb_of_sentence
from posegen.wording import shown

MOST_BYTES = 64 * 2**20
MOST_TEXTS = 40
LONGEST_NAME = 48


@dataclass(frozen=True)
class Label:
    """What a clip shows: the name of its action, and sentences about it."""

    name: str
    texts: tuple[str, ...] = ()


def action_name(text: str) -> str:
    """Return the name of the action of a label: lower case, words joined by underscores, without numbers.

    Examples
    --------
    >>> action_name("kickLFront1Reps"), action_name("Jumping jack (02)")
    ('kick_front', 'jumping_jack')
    """
    words = [word for word in label_words(text) if word not in ("left", "right")]
    return "_".join(words)[:LONGEST_NAME].rstrip("_") or "clip"


def read_label_table(path: Path) -> Mapping[str, Label]:
    """Read a CSV file with the columns ``file``, ``label`` and optionally ``text``; a file may have several rows.

    Raises
    ------
    UsageError
        If it cannot be read or lacks a column.
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
        before = labels.get(Path(file_name).stem)
        if before is not None and before.name != action_name(name):
            raise UsageError(f"{path}, line {number}: {shown(file_name)} has another label before; a clip has one label")
        text = (row.get("text") or "").strip()
        texts = (*(before.texts if before else ()), *([text] if text else []))
        labels[Path(file_name).stem] = Label(action_name(name), texts[:MOST_TEXTS])
    return labels


def texts_beside(file: Path) -> tuple[str, ...]:
    """Return the sentences of ``texts/NAME.txt`` beside the folder of a file, or beside the file, as in HumanML3D."""
    for folder in (file.parent.parent / "texts", file.parent / "texts"):
        path = folder / f"{file.stem}.txt"
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            lines = path.read_text("utf-8", errors="replace").splitlines()
            return tuple(line.partition("#")[0].strip() for line in lines[:MOST_TEXTS] if line.strip())
    return ()


def label_of(file: Path, table: Mapping[str, Label] | None, own: str) -> Label:
    """Return the label of a clip.

    Parameters
    ----------
    file : Path
    table : mapping of str to Label, optional
        By the name of the file without its ending; it must then have the file.
    own : str
        What the file itself calls the clip; empty if it does not.
    """
    if table is not None:
        if file.stem not in table:
            raise UsageError(f"{file}: has no row in the table of labels; add one, or leave the file out")
        return table[file.stem]
    texts = texts_beside(file)
    if own:
        return Label(action_name(own), texts)
    verbs = [verb for text in texts if (verb := verb_of_sentence(text))]
    if verbs:
        # Clips of one verb are strategies of one action.
        return Label(action_name(re.split(r"[| ]", verbs[0])[3]), texts)
    return Label(action_name(file.stem), texts)
