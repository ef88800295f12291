"""``posegen search``: samples that show what a text tells of."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.embedding.search import Found

__all__ = ["search"]


@click.command(epilog=example('posegen search data/default-0 "someone kicks a ball"'))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.argument("text")
@click.option("--encoder", metavar="NAME", help="Whose vectors, where there are several.  [default: the only ones]")
@click.option("--top", type=WHOLE, metavar="N", default=10, show_default=True, help="How many samples.")
@json_option
@quiet_option
def search(dataset: Path, text: str, encoder: str | None, top: int, as_json: bool, quiet: bool) -> None:
    """Find the samples of DATASET that show what TEXT tells of, best first.

    The captions must have been embedded. A sample is found by what it shows, in whatever words: of each, the caption nearest
    to the text is printed, and of the segment that fits best the action. Its variants, which show the same, are one.
    """
    from posegen.embedding.search import open_search

    note("opening the dataset and its encoder; the first search of a dataset takes up to a minute more", quiet=quiet)
    opened = open_search(dataset, encoder, lambda told: note(told, quiet=quiet))
    found = opened.find(text, top)
    if as_json:
        document = {"path": str(dataset), "encoder": opened.embeddings.encoder, "text": text}
        print_json(document | {"found": [asdict(one) for one in found]})
    else:
        click.echo(printable("\n".join(_lines(dataset, found))))


def _lines(dataset: Path, found: list[Found]) -> list[str]:
    if not found:
        return [f"{dataset}: has no samples that do anything"]
    width = max(len(one.action) for one in found)
    lines = [f"{'sample':>8}  score  {'action':<{width}}  caption"]
    lines += [f"{one.sample:>8}  {one.score:.3f}  {one.action:<{width}}  {one.caption}{_aside(one)}" for one in found]
    return [*lines, "Next:", f"  posegen show {dataset} --sample {found[0].sample} -o found.gif"]


def _aside(one: Found) -> str:
    """Say where it is seen if the base does not show it."""
    return "" if one.variant == "base" else f" ({one.variant})"
