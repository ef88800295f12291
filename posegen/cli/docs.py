"""``posegen docs``: print a page of the documentation, which a wheel carries."""

from __future__ import annotations

import click

from posegen.cli.options import Output, command
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import did_you_mean, shown


@command("posegen docs", "posegen docs reading")
@click.argument("page", required=False)
def docs(page: str | None, output: Output) -> None:
    """Print a PAGE of the documentation, or list the pages."""
    from posegen.config.load import packaged_files

    pages = packaged_files("docs", "*.md")
    if page is None:
        titles = {name: file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for name, file in pages.items()}
        output.result(titles, "\n".join(f"{name:14} {title}" for name, title in titles.items()))
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise UsageError(f"there is no page {shown(page)}; `posegen docs` lists the pages{did_you_mean(name, pages)}")
    text = pages[name].read_text(encoding="utf-8").rstrip()
    output.result({"page": name, "text": text}, text)
