"""``posegen pairs``: mine pairs of a table's texts, for training an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from posegen.cli.options import PATH, WHOLE, Output, command, file_option, quoted


@command(
    "posegen pairs recipes.parquet --text title --overlap ingredients --count 5000 -o pairs.parquet",
    "posegen pairs texts.csv --text text -o pairs.parquet",
)
@click.argument("table", type=PATH, metavar="TABLE")
@click.option(
    "--text", "columns", multiple=True, required=True, metavar="COLUMN", help="Column of texts; several are joined to one text."
)
@click.option("--overlap", metavar="COLUMN", help="Compare rows by this column of sets: lists, or texts separated by , ; or |.")
@click.option("--count", type=WHOLE, metavar="N", help="Most pairs.  [default: one for each row]")
@click.option("--encoder", metavar="NAME|PATH", help="Encoder, if TABLE has no vectors.  [default: one that needs no download]")
@file_option("Table to write.", metavar="FILE.parquet")
def pairs(
    table: Path,
    columns: Sequence[str],
    overlap: str | None,
    count: int | None,
    encoder: str | None,
    out: Path,
    output: Output,
) -> None:
    """Mine pairs of the texts of TABLE, a .csv or .parquet file: for each row a similar one, and a hard negative.

    With --overlap, rows are similar if their sets have a Jaccard index of .4 or more; a hard negative shares an item and stays
    below .2. Without it, the vectors of the texts are compared: those of a table that `posegen embed` wrote, or those of
    --encoder. The nearest row with a cosine of .7 or more is similar; a hard negative is the nearest one below nine tenths of
    that cosine. Candidates come from an index, so 100,000 rows take less than a minute where sets or vectors exist.

    The table that is written has the columns anchor, positive and negative, the row of each, and the score of the positive.
    """
    from posegen.embedding.models import DEFAULT
    from posegen.embedding.own_pairs import mine_table
    from posegen.foundations.quantities import human_time

    progress = output.progress()
    try:
        result = mine_table(
            table, out, columns, overlap=overlap, count=count, encoder=encoder or DEFAULT, progress=progress
        )  # fmt: skip
    finally:
        progress.stop()
    lines = [
        f"Mined {result.pairs:,} pairs of {result.rows:,} rows by {result.by} in {human_time(result.seconds)}, in {out}.",
        "Next:",
        f"  posegen train {quoted(out)} --pairs anchor,positive,negative",
    ]
    output.summary(asdict(result), "\n".join(lines))
