"""A page with a picture of each action of a library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from posegen.captions.frames import verb_forms
from posegen.captions.grammar import grammar_of
from posegen.library import Library
from posegen.viewing.demonstration import demonstrate
from posegen.viewing.sheet import sheet_of_clip

__all__ = ["write_gallery"]

PAGE, PICTURES = "actions.md", "actions"
POSES, WIDTH, SCALE = 10, 1100, 74.0
COLOURS = 48
"""Figures are drawn with few colours: a palette makes the pictures a third as large."""


def write_gallery(library: Library, folder: Path) -> Iterator[Path]:
    """Write a page in Markdown and a contact sheet of each action beside it, and give the path of each file once it is there.

    Parameters
    ----------
    library : Library
    folder : Path
        Where `actions.md` and the folder `actions` of pictures go; what is there under these names is replaced.
    """
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    for name in library.actions:
        sheet = sheet_of_clip(demonstrate(library, name), poses=POSES, width=WIDTH, scale=SCALE)
        sheet.quantize(COLOURS).save(pictures / f"{name}.png", optimize=True)
        yield pictures / f"{name}.png"
    page = folder / PAGE
    page.write_text("\n".join(_lines(library)), encoding="utf-8")
    yield page


def _lines(library: Library) -> Iterator[str]:
    yield "# What people do"
    yield ""
    yield f"All {len(library.actions)} actions of the library, each done once by somebody of average build."
    yield "`posegen actions page` writes this page; `posegen actions show NAME` animates one."
    yield "How an action is written: [motion.md](motion.md)."
    for family, names in library.families.items():
        yield ""
        yield f"## {family.replace('_', ' ').capitalize()}"
        for name in names:
            yield ""
            yield f"### {name}"
            yield ""
            yield _told(library, name)
            yield ""
            yield f"![{name}]({PICTURES}/{name}.png)"
    yield ""


def _told(library: Library, name: str) -> str:
    action = library.action(name)
    grammar = grammar_of(library)
    does = [verb_forms(verb, grammar.forms)[grammar.finite] for verb in library.words["actions"][name]["verbs"]]
    verbs = ", ".join(dict.fromkeys(verb.replace("{their}", "their") for verb in does))
    remarks = [f"A person {verbs}."]
    if action.sided:
        remarks.append("With either side.")
    if action.layered:
        remarks.append("Over what the rest of the body does.")
    themes = [theme.replace("_", " ") for theme, content in library.themes.items() if content.actions.get(name)]
    if themes:
        remarks.append(f"Themes: {', '.join(themes)}.")
    return " ".join(remarks)
