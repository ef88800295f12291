"""Labels of clips, from a CSV table, from HumanML3D's ``texts`` folder, from the file itself or from its name, and their words.

Words are verbs in all forms, made from a label such as ``front_kick`` or from sentences about a clip. A sentence loses its
subject, and is left out where it states a side or a number, which differ between performances: the grammar states them where
they hold.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from posegen.dataset.table_files import read_table
from posegen.exchange.text_motion import verb_forms
from posegen.foundations.errors import UsageError, require_inside
from posegen.foundations.wording import hidden_character, shown
from posegen.foundations.yaml_files import read_yaml
from posegen.library.load import load_library

MOST_WORDS = 8
MOST_VERBS = 12
_SUBJECT = re.compile(
    r"^(?:(?:a|an|the|this|one)\s+)?(?:\w+\s+)?(?:person|man|woman|human|figure|someone|somebody|individual|guy|girl|boy|character|subject|he|she)"
    r"(?:\s+(?:is|was|then|who|that|starts?\s+(?:by|to)|begins?\s+(?:by|to)))*\s+"
)
_STATED = re.compile(
    r"\b(?:left|right|clockwise|counterclockwise|once|twice|times?|two|three|four|five|six|seven|eight|nine|ten|\d+|slow\w*|quick\w*|fast\w*)\b"
)
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d"}
)
"""Latin letters that Unicode does not decompose into one of a to z and an accent."""
_OTHER = re.compile(r"[,;.:()]|\b(?:and|then|while|before|after|as|when)\b")
_PLAIN = re.compile(r"[a-z' -]+")
_IRREGULAR: list[str] = read_yaml(Path(__file__).with_name("irregular_verbs.yaml"))
MOST_BYTES = 64 * 2**20
MOST_TEXTS = 40
LONGEST_NAME = 48
_NO_WORD = "has no word in the letters a to z that names an action; give an English label"


@lru_cache(maxsize=1)
def known_verbs() -> Mapping[str, str]:
    """Return the four forms, separated by ``|``, of each known form of a verb."""
    known: dict[str, str] = {}
    irregular = ("|".join((*others, base)) for base, *others in map(str.split, _IRREGULAR))
    for forms in (*irregular, *verb_forms(load_library().words["actions"])):
        for form in forms.split("|"):
            known.setdefault(form, forms)
    return known


def verb_of_label(label: str) -> str:
    """Return the verb of a label: that of posegen's action with this name, as it has an object where one is needed.

    A label that does not begin with a known verb becomes the object of "perform".

    Examples
    --------
    >>> verb_of_label("pick_up"), verb_of_label("waving")
    ('picks|picking|picked|pick something up', 'waves|waving|waved|wave')
    >>> verb_of_label("capoeira")
    'performs|performing|performed|perform capoeira'
    """
    words = label_words(label)
    if own := load_library().words["actions"].get("_".join(words)):
        return str(own["verbs"][0])
    first, rest = (words[0], words[1:]) if words else ("", [])
    forms = known_verbs().get(first)
    if forms is None:
        return " ".join(("performs|performing|performed|perform", *words)) if words else "moves|moving|moved|move"
    return " ".join((forms, *rest))


def label_words(label: str) -> list[str]:
    """Return the words of a label without numbers and accents; letters of other scripts separate words.

    Examples
    --------
    >>> label_words("kickFront2Reps"), label_words("Übung_01"), label_words("跳")
    (['kick', 'front'], ['ubung'], [])
    """
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", label).translate(_LETTERS))
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", re.sub(r"[^A-Za-z]+", " ", plain))
    return [word.lower() for word in apart.split() if word.lower() not in ("reps", "rep", "poses", "stageii") and len(word) > 1]


def verb_of_sentence(sentence: str) -> str | None:
    """Return the verb of a sentence about a person, or None if it has no verb or states more than the action.

    Examples
    --------
    >>> verb_of_sentence("A person waves his hand.")
    'waves|waving|waved|wave {their} hand'
    >>> verb_of_sentence("a man kicks with the left leg") is None
    True
    """
    text = sentence.partition("#")[0].strip().lower().rstrip(".! ")
    text = _SUBJECT.sub("", text, count=1)
    words = text.split()
    if not words or len(words) > MOST_WORDS or not _PLAIN.fullmatch(text) or _STATED.search(text) or _OTHER.search(text):
        return None
    forms = known_verbs().get(words[0])
    if forms is None or "person" in words:
        return None
    rest = ["{their}" if word in ("his", "her", "their", "its") else word for word in words[1:]]
    return " ".join((forms, *rest))


def action_words(label: str, texts: Iterable[str], *, side: str = "") -> dict[str, Any]:
    """Return the entry of a words file for an action.

    Parameters
    ----------
    label : str
    texts : iterable of str
        Sentences about its clips.
    side : str
        ``hand`` or ``leg`` where the side shows in the joints, else empty.
    """
    verbs = list(dict.fromkeys(verb for text in texts if (verb := verb_of_sentence(text))))[:MOST_VERBS]
    entry: dict[str, Any] = {"verbs": verbs or [verb_of_label(label)], "manner": True}
    if side:
        entry["side"] = {way: [f"with the {way} {side}", f"with {{their}} {way} {side}"] for way in ("left", "right")}
    return entry


@dataclass(frozen=True)
class Label:
    """Label of a clip: the name of its action, and sentences about it."""

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


def read_label_table(path: Path, files: Iterable[Path] = ()) -> Mapping[str, Label]:
    """Read a table with the columns ``file``, ``label`` and optionally ``text``; a file may have several rows.

    Parameters
    ----------
    path : Path
    files : iterable of Path
        Files that must have a row.

    Returns
    -------
    mapping of str to Label
        By the file as the table names it: a path or its end, with or without the ending of the file.

    Raises
    ------
    UsageError
        If it cannot be read or lacks a column or a file, a label has no word, or a file has two labels.
    """
    labels: dict[str, Label] = {}
    for number, row in enumerate(read_table(path).to_pylist(), 2):
        file_name, name, text = (str(row.get(column) or "").strip() for column in ("file", "label", "text"))
        if not file_name or not name:
            columns = "the first line must name the columns file,label,text"
            raise UsageError(f"{path}, line {number}: needs `file` and `label`; {columns}")
        key, action = PurePosixPath(file_name).as_posix(), action_name(name)
        if not action:
            raise UsageError(f"{path}, line {number}: the label {shown(name)} {_NO_WORD}")
        before = labels.get(key)
        if before is not None and before.name != action:
            fix = f"if these are two files, give their folders, as in {shown(f'FOLDER/{key}')}, otherwise one label"
            raise UsageError(f"{path}, line {number}: {shown(key)} has the label {before.name} in an earlier line; {fix}")
        texts = (*(before.texts if before else ()), *([text] if text else []))
        labels[key] = Label(action, texts[:MOST_TEXTS])
    for file in files:
        row_of(file, labels)
    return labels


def row_of(file: Path, table: Mapping[str, Label]) -> Label:
    """Return the label of a file in a table: that of the row with the longest end of its path.

    Raises
    ------
    UsageError
        If there is none.
    """
    parts = Path(os.path.abspath(file)).parts
    for end in (Path(*parts[first:]) for first in range(len(parts))):
        if label := table.get(end.as_posix()) or table.get(end.with_suffix("").as_posix()):
            return label
    raise UsageError(f"{file}: has no row in the table of labels; add one, or leave the file out")


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
        Label in the file itself; empty if it has none.
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
