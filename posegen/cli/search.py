"""``posegen search``: find samples that match a text."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import DATASET, WHOLE, Output, command, quoted
from posegen.dataset.storage.address import AnyPath, storage_of


@command('posegen search data/default-0 "someone kicks a ball"', 'posegen search texts.embedded.parquet "a person waves"')
@click.argument("dataset", type=DATASET, metavar="DATASET|TEXTS.parquet")
@click.argument("text")
@click.option("--encoder", metavar="NAME", help="Encoder whose embeddings are searched.  [default: the only one]")
@click.option("--top", type=WHOLE, metavar="N", default=10, help="Number of samples.")
def search(dataset: AnyPath, text: str, encoder: str | None, top: int, output: Output) -> None:
    """Find the samples of DATASET that match TEXT, best first.

    The captions must have been embedded. The search compares meanings, not words. For each sample the closest caption and the
    action of the best segment are printed. Variants of a sample count as one result.

    TEXTS.parquet is a table that `posegen embed` wrote of your own texts: the closest rows are printed.
    """
    from posegen.captions.parser import require_readable

    require_readable(text)
    local = storage_of(dataset).local
    if local and local.suffix.lower() == ".parquet":
        _search_own(local, text, top, output)
        return
    from posegen.embedding.search import open_search

    opened = open_search(dataset, encoder, output.note)
    found = opened.find(text, top)
    document = {"path": dataset, "encoder": opened.embeddings.encoder, "text": text, "found": found}
    if not found:
        output.result(document, f"{dataset}: contains no actions to search for")
        return
    width = max(len(one.action) for one in found)
    lines = [f"{'sample':>8}  score  {'action':<{width}}  caption"]
    for one in found:
        variant = "" if one.variant == "base" else f" ({one.variant})"
        lines.append(f"{one.sample:>8}  {one.score:.3f}  {one.action:<{width}}  {one.caption}{variant}")
    show = f"posegen show {quoted(dataset)} --sample {found[0].sample} -o found.gif"
    output.result(document, "\n".join([*lines, "Next:", f"  {show}"]))


def _search_own(path: Path, text: str, top: int, output: Output) -> None:
    from posegen.embedding.own_texts import search_texts

    found = search_texts(path, text, top, output.note)
    document = {"path": path, "text": text, "found": [one._asdict() for one in found]}
    lines = [f"{one.row:>8}  {one.score:.3f}  {one.text}" for one in found]
    output.result(document, "\n".join([f"{'row':>8}  score  text", *lines]))
