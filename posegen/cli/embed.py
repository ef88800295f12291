"""``posegen embed``: compute text embeddings of the captions, and optionally pairs of texts and a report."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import PATH, WHOLE, Output, command

if TYPE_CHECKING:
    from posegen.embedding.stage import EmbeddingResult


@command("posegen embed data/default-0", "posegen embed data/default-0 --encoder BAAI/bge-large-en-v1.5")
@click.argument("dataset", type=PATH)
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
@click.option("--pairs", is_flag=True, help="Also mine near-duplicates and hard negatives.")
@click.option("--report", is_flag=True, help="Also write an HTML page with a map of the texts.")
def embed(
    dataset: Path, encoder: str | None, no_cache: bool, pairs: bool, report: bool, output: Output, **options: Any
) -> None:
    """Compute text embeddings of the captions of DATASET, once per distinct text.

    They are stored in embeddings/ENCODER of the dataset, and joined to its sequences when it is read. The same command resumes
    an interrupted run, and embeds new captions after the dataset was extended.
    """
    from posegen.embedding.models import DEFAULT
    from posegen.embedding.stage import embed as embedded

    progress = output.progress()
    lines: list[str] = []
    try:
        with output.resumable(dataset):
            result = embedded(dataset, encoder or DEFAULT, cached=not no_cache, progress=progress, **options)
            document = asdict(result) | {"nothing_to_do": result.nothing_to_do}
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


def _summary(dataset: Path, result: EmbeddingResult) -> str:
    if result.nothing_to_do:
        first = f"Nothing to do: {result.path} is complete."
    else:
        known = f", {result.known:,} from the cache" if result.known else ""
        rate = f" ({result.texts_per_second:,.0f} a second)" if result.embedded else ""
        first = f"Embedded {result.embedded:,} texts in {result.seconds:.1f} s{rate}{known}, in {result.path}."
    precision = result.precision
    if result.agreement is not None:
        precision += f", minimum cosine to float32 {result.agreement:.3f}"
    return "\n".join(
        [
            first,
            f"{result.captions:,} captions with {result.distinct:,} distinct texts, {result.dimension} dimensions each.",
            f"Encoder: {result.encoder}, {precision}.",
            "Next:",
            f'  posegen search {shlex.quote(str(dataset))} "a person waves"',
        ]
    )
