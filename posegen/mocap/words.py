"""Words of an imported action: verbs in all forms, made from a label such as ``front_kick`` or from sentences about a clip.

A sentence loses its subject, and is left out where it states a side or a number, which differ between performances: the grammar
states them where they hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from posegen.exchange.word_classes import verb_forms
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
_IRREGULAR = """
be is being was, beat beats beating beat, bend bends bending bent, bow bows bowing bowed, catch catches catching caught,
come comes coming came, cut cuts cutting cut, do does doing did, draw draws drawing drew, drink drinks drinking drank,
eat eats eating ate, fall falls falling fell, fight fights fighting fought, get gets getting got, give gives giving
gave, go goes going went, grab grabs grabbing grabbed, hit hits hitting hit, hold holds holding held, hop hops hopping
hopped, jog jogs jogging jogged, keep keeps keeping kept, kneel kneels kneeling knelt, lay lays laying laid, lead leads
leading led, leap leaps leaping leapt, lie lies lying lay, make makes making made, pick picks picking picked, put puts
putting put, ride rides riding rode, rise rises rising rose, run runs running ran, set sets setting set, shake shakes
shaking shook, show shows showing showed, sing sings singing sang, sit sits sitting sat, sleep sleeps sleeping slept,
spin spins spinning spun, squat squats squatting squatted, stand stands standing stood, step steps stepping stepped,
sweep sweeps sweeping swept, swim swims swimming swam, swing swings swinging swung, take takes taking took, throw throws
throwing threw, wring wrings wringing wrung, write writes writing wrote
"""


@lru_cache(maxsize=1)
def known_verbs() -> Mapping[str, str]:
    """Return the four forms, separated by ``|``, of each known form of a verb."""
    known: dict[str, str] = {}
    for entry in " ".join(_IRREGULAR.split()).split(", "):
        base, *others = entry.split()
        _add(known, "|".join((*others, base)))
    for forms in verb_forms(load_library().words["actions"]):
        _add(known, forms)
    return known


def _add(known: dict[str, str], forms: str) -> None:
    for form in forms.split("|"):
        known.setdefault(form, forms)


def verb_of_label(label: str) -> str:
    """Return the verb of a label: that of posegen's action with this name, as it has an object where one is needed.

    What does not begin with a known verb is something that a person performs.

    Examples
    --------
    >>> verb_of_label("pick_up"), verb_of_label("waving")
    ('picks|picking|picked|pick something up', 'waves|waving|waved|wave')
    >>> verb_of_label("tai_chi")
    'performs|performing|performed|perform tai chi'
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
    """Return the verb of a sentence about a person, or None where it has none or states more than what is done.

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


def action_words(label: str, texts: Iterable[str], *, side: str = "", counted: bool = False) -> dict[str, object]:
    """Return the entry of a words file for an action.

    Parameters
    ----------
    label : str
    texts : iterable of str
        Sentences about its clips.
    side : str
        ``hand`` or ``leg`` where the side shows in the joints, else empty.
    counted : bool
        Whether the number of repetitions shows.
    """
    verbs = list(dict.fromkeys(verb for text in texts if (verb := verb_of_sentence(text))))[:MOST_VERBS]
    entry: dict[str, object] = {"verbs": verbs or [verb_of_label(label)], "manner": True}
    if side:
        entry["side"] = {way: [f"with the {way} {side}", f"with {{their}} {way} {side}"] for way in ("left", "right")}
    if counted:
        entry["count"] = True
    return entry
