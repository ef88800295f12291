"""``posegen search``: find samples that match a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import PATH, WHOLE, Output, example, output_options

if TYPE_CHECKING:
    from posegen.embedding.search import Match


@click.command(epilog=example('posegen search data/default-0 "someone kicks a ball"'))
@click.argument("dataset", type=PATH)
@click.argument("text")
@click.option("--encoder", metavar="NAME", help="Encoder whose embeddings are searched.  [default: the only one]")
@click.option("--top", type=WHOLE, metavar="N", default=10, help="Number of samples.")
@output_options
def search(dataset: Path, text: str, encoder: str | None, top: int, output: Output) -> None:
    """Find the samples of DATASET that match TEXT, best first.

    The captions must have been embedded. The search compares meanings, not words. For each sample the closest caption and the
    action of the best segment are printed. Variants of a sample count as one result.
    """
    from posegen.embedding.search import open_search

    output.note("opening the dataset and its encoder; the first search of a dataset takes up to a minute longer")
    opened = open_search(dataset, encoder, output.note)
    found = opened.find(text, top)
    document = {"path": dataset, "encoder": opened.embeddings.encoder, "text": text, "found": [asdict(one) for one in found]}
    output.result(document, "\n".join(_lines(dataset, found)))


def _lines(dataset: Path, found: list[Match]) -> list[str]:
    if not found:
        return [f"{dataset}: contains no actions to search for"]
    width = max(len(one.action) for one in found)
    lines = [f"{'sample':>8}  score  {'action':<{width}}  caption"]
    for one in found:
        variant = "" if one.variant == "base" else f" ({one.variant})"
        lines.append(f"{one.sample:>8}  {one.score:.3f}  {one.action:<{width}}  {one.caption}{variant}")
    return [*lines, "Next:", f"  posegen show {dataset} --sample {found[0].sample} -o found.gif"]
