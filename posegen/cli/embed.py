"""``posegen embed``: compute text embeddings of the captions, and optionally pairs of texts and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, WHOLE, Output, choose_part, command, file_option, part_option, quoted
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import UsageError

if TYPE_CHECKING:
    from posegen.embedding.stage import EmbeddingResult


@command(
    "posegen embed data/default-0",
    "posegen embed data/default-0 --encoder BAAI/bge-large-en-v1.5",
    "posegen embed texts.csv -o texts.parquet",
)
@click.argument("source", type=DATASET, metavar="DATASET|TEXTS")
@file_option("Table to write for TEXTS.  [default: TEXTS.embedded.parquet]", metavar="FILE.parquet", required=False)
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Column of TEXTS to embed; may be repeated.")
@click.option("--encoder", metavar="NAME|PATH", help="Text encoder or training run.  [default: one that needs no download]")
@click.option(
    "--workers", type=WHOLE, metavar="N", help="Number of batches encoded in parallel.  [default: from the number of cores]"
)
@click.option("--name", metavar="NAME", help="Name of the embeddings.  [default: name of the encoder]")
@click.option("--precision", metavar="P", help="float32, int8 (CPU) or bf16 (GPU).  [default: chosen for the machine]")
@click.option(
    "--max-tokens", type=WHOLE, metavar="N", help="Maximum number of tokens of a text.  [default: the limit of the model]"
)
@click.option("--tokens", is_flag=True, help="Also store token embeddings and masks.")
@click.option("--float16", is_flag=True, help="Store embeddings in half precision.")
@click.option(
    "--shard", type=WHOLE, metavar="N", help="Texts per shard, the most that is lost if the process is killed.  [default: 2048]"
)
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache of embeddings shared between datasets.")
@part_option("Embed")
@click.option("--pairs", is_flag=True, help="Also mine near-duplicates and hard negatives.")
@click.option("--report", is_flag=True, help="Also write an HTML page with a map of the texts.")
def embed(
    source: AnyPath,
    out: Path | None,
    columns: Sequence[str],
    encoder: str | None,
    no_cache: bool,
    pairs: bool,
    report: bool,
    output: Output,
    **options: Any,
) -> None:
    """Compute text embeddings of the captions of DATASET, or of your own TEXTS, once per distinct text.

    They are stored in embeddings/ENCODER of the dataset, and joined to its sequences when it is read. The same command resumes
    an interrupted run, and embeds new captions after the dataset was extended.

    TEXTS is a .csv or .parquet table, whose column text is embedded, or else all columns of texts; or a .txt file with a text
    in each line. The table that is written has the same columns and the vectors, which `posegen train --label` and
    `posegen search` read.
    """
    from posegen.embedding.models import DEFAULT
    from posegen.embedding.own_texts import ENDINGS

    options |= {"encoder": encoder or DEFAULT, "cached": not no_cache}
    local = storage_of(source).local
    if local and local.suffix.lower() in ENDINGS:
        given = [name for name in ("name", "tokens", "float16", "shard", "part") if options[name]]
        given += [name for name, is_given in (("pairs", pairs), ("report", report)) if is_given]
        if given:
            raise UsageError(f"--{given[0]} is for datasets, not for a table of texts. Remove it")
        kept = {name: options[name] for name in ("encoder", "cached", "workers", "precision", "max_tokens")}
        _embed_own(local, out or local.with_suffix(".embedded.parquet"), kept | {"columns": tuple(columns)}, output)
        return
    if out is not None or columns:
        raise UsageError(f"{source}: -o and --column are for tables of texts ({', '.join(ENDINGS)}). Remove them")
    options["part"] = choose_part(options["part"], output)
    if options["part"] and (pairs or report):
        raise UsageError("--pairs and --report need all parts. Run the command again with --part all once all are embedded")
    _embed_dataset(source, pairs, report, options, output)


def _embed_own(source: Path, path: Path, options: dict[str, Any], output: Output) -> None:
    from posegen.embedding.own_texts import embed_texts

    result = embed_texts(source, path, progress=output.progress(), **options)
    known = result.distinct - result.embedded
    lines = [
        f"Embedded {result.embedded:,} texts{f', {known:,} from the cache' if known else ''}, in {path}: {result.rows:,} rows, "
        f"columns {', '.join(result.columns)}, {result.dimension} dimensions.",
        f"Encoder: {result.encoder}, {result.precision}.",
        "Next:",
        f'  posegen search {quoted(path)} "a person waves"',
        f"  posegen train {quoted(path)} --task text --label COLUMN",
    ]
    output.summary(result, "\n".join(lines))


def _embed_dataset(dataset: AnyPath, pairs: bool, report: bool, options: dict[str, Any], output: Output) -> None:
    from posegen.embedding.search import prepare_search
    from posegen.embedding.stage import embed as embedded

    progress = output.progress()
    lines: list[str] = []
    try:
        with output.resumable(dataset):
            result = embedded(dataset, progress=progress, **options)
            document = asdict(result) | {"nothing_to_do": result.nothing_to_do}
            if not result.part:
                progress.wait("prepare the search")
                prepare_search(dataset, result.path.name, progress.log, cached=options["cached"])
            if pairs:
                from posegen.embedding.pairs import mine_pairs

                found = mine_pairs(dataset, result.path.name, progress=progress)
                document["pairs"] = asdict(found) | {"path": found.path, "nothing_to_do": found.nothing_to_do}
                work = f"{found.made:,} of {found.shards:,} shards in {found.seconds:.1f} s"
                lines += [
                    f"Pairs of texts in {found.path}: {'nothing to do' if found.nothing_to_do else work}.",
                    f"{found.duplicates:,} near-duplicates and {found.negatives:,} hard negatives of {found.texts:,} texts.",
                ]
            if report:
                from posegen.embedding.report import write_report

                progress.log("computing the map of the texts")
                document["report"] = write_report(dataset, result.path.name)
                lines.append(f"Report: {document['report']} (open it in a browser).")
    finally:
        progress.stop()
    output.summary(document, "\n".join([*lines, _summary(dataset, result)]))


def _summary(dataset: AnyPath, result: EmbeddingResult) -> str:
    if result.nothing_to_do:
        part = f"part {result.part} of " if result.part else ""
        first = f"Nothing to do: {part}{result.path} is complete."
    else:
        known = f", {result.known:,} from the cache" if result.known else ""
        # The rate is that of the computation alone, which the setup precedes.
        took = f", computed in {result.embedded / result.texts_per_second:.1f} s" if result.embedded else ""
        first = f"Embedded {result.embedded:,} texts in {result.seconds:.1f} s{took}{known}, in {result.path}."
    precision = result.precision
    if result.agreement is not None:
        precision += f", minimum cosine to float32 {result.agreement:.3f}"
    following = f'posegen search {quoted(dataset)} "a person waves"'
    if result.part:
        following = "posegen embed, with the other options as before and --part all, once all parts are embedded"
    return "\n".join(
        [
            first,
            f"{result.captions:,} captions with {result.distinct:,} distinct texts, {result.dimension} dimensions each.",
            f"Encoder: {result.encoder}, {precision}.",
            "Next:",
            f"  {following}",
        ]
    )
