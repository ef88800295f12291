"""Write the page with a picture of each action: `python docs/actions_page.py`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from posegen.captions.grammar import FINITE, grammar_of, verb_forms
from posegen.foundations.templates import fill_template
from posegen.library.load import Library, load_library
from posegen.viewing.gallery import demonstrate
from posegen.viewing.pictures import sheet_of_clip

PAGE, PICTURES = "actions.md", "actions"
POSES, WIDTH, SCALE = 10, 1100, 74.0
COLOURS = 48
"""Size of the palette, which makes the pictures a third as large."""


def write_gallery(library: Library, folder: Path) -> Iterator[Path]:
    """Write a Markdown page and a contact sheet of each action, and yield the path of each file after it is written.

    Parameters
    ----------
    library : Library
    folder : Path
        Folder for `actions.md` and the pictures in `actions/`; existing files are replaced.
    """
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    for name in library.actions:
        sheet = sheet_of_clip(demonstrate(library, name), poses=POSES, width=WIDTH, scale=SCALE)
        sheet.quantize(COLOURS).save(pictures / f"{name}.png", optimize=True)
        yield pictures / f"{name}.png"
    page, describe = folder / PAGE, partial(_description, library)
    template = Path(__file__).with_name("actions.md.j2")
    page.write_text(fill_template(template, library=library, describe=describe, pictures=PICTURES), encoding="utf-8")
    yield page


def _description(library: Library, name: str) -> str:
    action = library.action(name)
    grammar = grammar_of(library)
    does = [verb_forms(verb, grammar.forms)[FINITE] for verb in library.words["actions"][name]["verbs"]]
    verbs = ", ".join(dict.fromkeys(verb.replace("{their}", "their") for verb in does))
    remarks = [f"A person {verbs}."]
    if action.sided:
        remarks.append("With either side.")
    if action.layered:
        remarks.append("Layered over the motion of the rest of the body.")
    themes = [theme.replace("_", " ") for theme, content in library.themes.items() if content.actions.get(name)]
    if themes:
        remarks.append(f"Themes: {', '.join(themes)}.")
    return " ".join(remarks)


if __name__ == "__main__":
    for written in write_gallery(load_library(), Path(__file__).parent):
        print(written)
