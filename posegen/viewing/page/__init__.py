"""The page that shows sequences: a template, a style sheet and JavaScript modules, served or put into one file.

``three.module.min.js`` and ``OrbitControls.js`` are unchanged files of three.js 0.170.0, the newest version whose minified
module is one file; ``three.LICENSE`` is its licence.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posegen.dataset.files import write_durably
from posegen.foundations.progress import Progress
from posegen.foundations.templates import fill_template
from posegen.viewing.collection import Collection
from posegen.viewing.palette import style_variables

_OWN = ("main", "source", "stage", "timeline", "captions", "list", "overview", "elements", "curves", "take")
MODULES = {"three": "three.module.min.js", "orbit": "OrbitControls.js", **{name: f"{name}.js" for name in _OWN}}
"""File of each JavaScript module by the name under which others import it."""
STYLE = "page.css"
_START = 'import "main";'
_FOLDER = Path(__file__).parent


def read_asset(name: str) -> bytes:
    """Return a file of the page."""
    return (_FOLDER / name).read_bytes()


def page_style() -> str:
    """Return the style sheet of the page, after the variables of the palette."""
    return style_variables() + read_asset(STYLE).decode()


def served_page(title: str) -> tuple[str, str]:
    """Return the page for a server that also serves its files, and the Content-Security-Policy to be sent with it."""
    modules = {name: f"./{file}" for name, file in MODULES.items()}
    head = _head(modules)
    policy = f"{_policy(head, chr(39) + 'self' + chr(39))} style-src 'self'; connect-src 'self'; frame-ancestors 'none'"
    return _fill(title, head, policy="", style="", data=""), policy


def complete_page(title: str, data: Mapping[str, Any]) -> str:
    """Return the page as one file with its data, which loads nothing."""
    encoded = {name: base64.b64encode(read_asset(file)).decode() for name, file in MODULES.items()}
    modules = {name: f"data:text/javascript;base64,{content}" for name, content in encoded.items()}
    head, style = _head(modules), page_style()
    policy = f"{_policy(head, 'data:')} style-src {_hash(style)}"
    # Within a script element, only "<" can end the data.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return _fill(title, head, policy=policy, style=style, data=text)


def _head(modules: Mapping[str, str]) -> dict[str, str]:
    return {"imports": json.dumps({"imports": modules}), "start": _START}


def _fill(title: str, head: Mapping[str, str], **values: str) -> str:
    filled: dict[str, Any] = {"title": title, "style_file": STYLE, **head, **values}
    return fill_template(_FOLDER / "page.html.j2", **filled)


def _policy(head: Mapping[str, str], scripts: str) -> str:
    hashes = " ".join(_hash(text) for text in head.values())
    return f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src 'self' data:; script-src {scripts} {hashes};"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_report(
    collection: Collection, samples: int, out: Path, evaluation: Mapping[str, Any] | None, progress: Progress
) -> int:
    """Write a self-contained page and return its size in bytes.

    Parameters
    ----------
    collection : Collection
    samples : int
        Number of samples, from the first.
    out : Path
        An existing file is replaced.
    evaluation : mapping, optional
        What the page shows of the evaluation: ``clips``, and rows of ``verdict``, ``measures`` and ``statements``.
    progress : Progress
    """
    samples = min(samples, collection.samples)
    progress.start("report", samples)
    encoded = {}
    try:
        for sample in range(samples):
            encoded[sample] = base64.b64encode(collection.read_sample(sample)).decode()
            progress.update(sample + 1)
    finally:
        progress.stop()
    pages = range(-(-samples // collection.page))
    rows = [row for page in pages for row in collection.read_rows(page)][:samples]
    overview = dict(collection.read_overview()) | ({"evaluation": evaluation} if evaluation else {})
    about = collection.about() | {"samples": samples, "page": max(samples, 1)}
    page = complete_page(collection.title, {"about": about, "rows": rows, "overview": overview, "samples": encoded})
    write_durably(out, page.encode())
    return len(page.encode())
