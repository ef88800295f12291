"""``posegen search``: find samples that match a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from posegen.cli.options import PATH, WHOLE, Output, command


@command('posegen search data/default-0 "someone kicks a ball"')
@click.argument("dataset", type=PATH)
@click.argument("text")
@click.option("--encoder", metavar="NAME", help="Encoder whose embeddings are searched.  [default: the only one]")
@click.option("--top", type=WHOLE, metavar="N", default=10, help="Number of samples.")
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
    if not found:
        output.result(document, f"{dataset}: contains no actions to search for")
        return
    width = max(len(one.action) for one in found)
    lines = [f"{'sample':>8}  score  {'action':<{width}}  caption"]
    for one in found:
        variant = "" if one.variant == "base" else f" ({one.variant})"
        lines.append(f"{one.sample:>8}  {one.score:.3f}  {one.action:<{width}}  {one.caption}{variant}")
    output.result(document, "\n".join([*lines, "Next:", f"  posegen show {dataset} --sample {found[0].sample} -o found.gif"]))
