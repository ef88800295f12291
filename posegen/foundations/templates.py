"""Fill the Jinja templates that lie beside the modules that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def fill_template(path: Path, **values: Any) -> str:
    """Return a filled template; in HTML, values are escaped.

    Parameters
    ----------
    path : Path
        The template, such as ``report.html.j2``.
    **values
        What the template refers to; an undefined name is an error.
    """
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=".html" in path.suffixes,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(path.name).render(values)
