"""``posegen docs``: print a page of the documentation, which a wheel carries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from posegen.cli.options import Output, command, completed
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import did_you_mean, shown


@command("posegen docs", "posegen docs reading")
@click.argument("page", required=False, **completed(lambda: _pages()))
def docs(page: str | None, output: Output) -> None:
    """Print a PAGE of the documentation, or list the pages."""
    pages = _pages()
    if page is None:
        titles = {name: file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for name, file in pages.items()}
        output.result(titles, "\n".join(f"{name:14} {title}" for name, title in titles.items()))
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise UsageError(f"there is no page {shown(page)}; `posegen docs` lists the pages{did_you_mean(name, pages)}")
    text = pages[name].read_text(encoding="utf-8").rstrip()
    if output.as_json or not sys.stdout.isatty():
        output.result({"page": name, "text": text}, text)
        return
    output.leave()
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=min(Console().width, 110))
    with console.pager(styles=os.environ.get("PAGER", "less -R").endswith("-R")):
        console.print(Markdown(text))


def _pages() -> dict[str, Path]:
    from posegen.config.load import packaged_files

    return packaged_files("docs", "*.md")
