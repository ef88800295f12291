"""``posegen search``: find samples that match a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.embedding.search import Match


@click.command(epilog=example('posegen search data/default-0 "someone kicks a ball"'))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.argument("text")
@click.option("--encoder", metavar="NAME", help="Encoder whose embeddings are searched.  [default: the only one]")
@click.option("--top", type=WHOLE, metavar="N", default=10, show_default=True, help="Number of samples.")
@json_option
@quiet_option
def search(dataset: Path, text: str, encoder: str | None, top: int, as_json: bool, quiet: bool) -> None:
    """Find the samples of DATASET that match TEXT, best first.

    The captions must have been embedded. The search compares meanings, not words. For each sample the closest caption and the
    action of the best segment are printed. Variants of a sample count as one result.
    """
    from posegen.embedding.search import open_search

    note("opening the dataset and its encoder; the first search of a dataset takes up to a minute longer", quiet=quiet)
    opened = open_search(dataset, encoder, lambda text: note(text, quiet=quiet))
    found = opened.find(text, top)
    if as_json:
        document = {"path": str(dataset), "encoder": opened.embeddings.encoder, "text": text}
        print_json(document | {"found": [asdict(one) for one in found]})
    else:
        click.echo(printable("\n".join(_lines(dataset, found))))


def _lines(dataset: Path, found: list[Match]) -> list[str]:
    if not found:
        return [f"{dataset}: contains no actions to search for"]
    width = max(len(one.action) for one in found)
    lines = [f"{'sample':>8}  score  {'action':<{width}}  caption"]
    lines += [f"{one.sample:>8}  {one.score:.3f}  {one.action:<{width}}  {one.caption}{_variant_note(one)}" for one in found]
    return [*lines, "Next:", f"  posegen show {dataset} --sample {found[0].sample} -o found.gif"]


def _variant_note(one: Match) -> str:
    """Return the variant if it is not the base."""
    return "" if one.variant == "base" else f" ({one.variant})"
