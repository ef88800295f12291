"""Fill the Jinja templates that lie beside the modules that use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def fill_template(path: Path, *, filters: Mapping[str, Callable[..., Any]] | None = None, **values: Any) -> str:
    """Return a filled template; in HTML, values are escaped.

    Parameters
    ----------
    path : Path
        The template, such as ``report.html.j2``.
    filters : mapping of str to callable, optional
        Filters beside those of Jinja.
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
    environment.filters |= filters or {}
    return environment.get_template(path.name).render(values)
