"""``posegen embed``: captions to vectors, each distinct text once."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.embedding.stage import EmbeddingResult

__all__ = ["embed"]


@click.command(epilog=example("posegen embed data/default-0", "posegen embed data/default-0 --encoder BAAI/bge-large-en-v1.5"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--encoder", metavar="NAME|PATH", help="Which model.  [default: one that needs no download]")
@click.option("--workers", type=WHOLE, metavar="N", help="Batches embedded at once.  [default: as the cores suggest]")
@click.option("--name", metavar="NAME", help="Of the vectors, if not that of the encoder.")
@click.option("--precision", metavar="P", help="float32, int8 (CPU) or bf16 (GPU).  [default: what suits the machine]")
@click.option("--max-tokens", type=WHOLE, metavar="N", help="Look at no more tokens of a text.  [default: as the model does]")
@click.option("--tokens", is_flag=True, help="Keep the vectors of tokens, too, with masks.")
@click.option("--float16", is_flag=True, help="Keep vectors in half precision.")
@click.option("--shard", type=WHOLE, metavar="N", help="Texts in a shard, which is what a kill loses at most.  [default: 2048]")
@click.option("--no-cache", is_flag=True, help="Neither take vectors made for other datasets, nor keep these for others.")
@json_option
@quiet_option
def embed(dataset: Path, encoder: str | None, no_cache: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Turn the captions of DATASET into vectors, each distinct text once.

    They lie beside the dataset, in embeddings/ENCODER, and are joined to its sequences when it is read. The same command run
    again goes on where it was stopped, and embeds what is new when the dataset has grown.
    """
    from posegen.embedding.finding import DEFAULT
    from posegen.embedding.progress import reporter
    from posegen.embedding.stage import embed as embedded

    try:
        with reporter(quiet=quiet) as (progress, notify):
            result = embedded(dataset, encoder or DEFAULT, cached=not no_cache, progress=progress, notify=notify, **options)
    except KeyboardInterrupt:
        note("stopped; shards of texts that are complete stay, and the same command goes on from there", quiet=quiet)
        raise
    if as_json:
        print_json(_document(result))
    elif not quiet:
        click.echo(printable(_summary(dataset, result)))


def _document(result: EmbeddingResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__} | {
        "path": str(result.path),
        "notes": list(result.notes),
        "nothing_to_do": result.nothing_to_do,
    }


def _summary(dataset: Path, result: EmbeddingResult) -> str:
    if result.nothing_to_do:
        first = f"Nothing to do: {result.path} is complete."
    else:
        known = f", {result.known:,} were known" if result.known else ""
        rate = f" ({result.texts_per_second:,.0f} a second)" if result.embedded else ""
        first = f"Embedded {result.embedded:,} texts in {result.seconds:.1f} s{rate}{known}, in {result.path}."
    precision = result.precision
    if result.agreement is not None:
        precision += f", which agrees with float32 to a cosine of at least {result.agreement:.3f}"
    return "\n".join(
        [
            first,
            f"{result.captions:,} captions are {result.distinct:,} distinct texts, {result.dimension} dimensions each.",
            f"By {result.encoder} in {precision}.",
            "Next:",
            f'  posegen search {shlex.quote(str(dataset))} "a person waves"',
        ]
    )
