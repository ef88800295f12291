"""``posegen embed``: captions to vectors, each distinct text once."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.embedding.stage import EmbeddingResult, Progress

__all__ = ["embed"]

SECONDS_BETWEEN_NOTES = 5.0


@click.command(epilog=example("posegen embed data/default-0", "posegen embed data/default-0 --encoder BAAI/bge-large-en-v1.5"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--encoder", metavar="NAME|PATH", help="Which model.  [default: one that needs no download]")
@click.option("--workers", type=WHOLE, metavar="N", help="Batches embedded at once.  [default: as the cores suggest]")
@click.option("--name", metavar="NAME", help="Of the vectors, if not that of the encoder.")
@click.option("--max-tokens", type=WHOLE, metavar="N", help="Look at no more tokens of a text.  [default: as the model does]")
@click.option("--tokens", is_flag=True, help="Keep the vectors of tokens, too, with masks.")
@click.option("--float16", is_flag=True, help="Keep vectors in half precision.")
@json_option
@quiet_option
def embed(dataset: Path, encoder: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Turn the captions of DATASET into vectors, each distinct text once.

    They lie beside the dataset, in embeddings/ENCODER, and are joined to its sequences when it is read. The same command run
    again goes on where it was stopped, and embeds what is new when the dataset has grown.
    """
    from posegen.embedding.loading import DEFAULT
    from posegen.embedding.stage import embed as embedded

    try:
        result = embedded(dataset, encoder or DEFAULT, progress=_progress(quiet=quiet), **options)
    except KeyboardInterrupt:
        note("stopped; shards of texts that are complete stay, and the same command goes on from there", quiet=quiet)
        raise
    if as_json:
        print_json(_document(result))
    elif not quiet:
        click.echo(printable(_summary(dataset, result)))


def _progress(*, quiet: bool) -> Callable[[Progress], None]:
    told = time.monotonic()

    def tell(progress: Progress) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_NOTES:
            told = time.monotonic()
            note(f"{progress.what}: {progress.done:,} of {progress.total:,}", quiet=quiet)

    return tell


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
        first = f"Embedded {result.embedded:,} texts in {result.seconds:.1f} s ({result.known:,} were known), in {result.path}."
    return "\n".join(
        [
            first,
            f"{result.captions:,} captions are {result.distinct:,} distinct texts, {result.dimension} dimensions each.",
            "Next:",
            f'  posegen search {shlex.quote(str(dataset))} "a person waves"',
        ]
    )
