"""``posegen paraphrase``: captions in other words, by a language model behind an OpenAI-compatible server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.paraphrase.paraphrase import Paraphrases

__all__ = ["paraphrase"]

SECONDS_BETWEEN_NOTES = 5.0


@click.command(
    epilog=example("posegen paraphrase data/default-0 --endpoint http://localhost:8000/v1 --model qwen2.5-7b-instruct")
)
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--endpoint", metavar="URL", required=True, help="Where the server is, such as http://localhost:8000/v1.")
@click.option("--model", metavar="NAME", required=True, help="Which of its models, as the server calls it.")
@click.option("--limit", type=WHOLE, metavar="N", help="How many samples, from the first.  [default: all]")
@click.option("--in-flight", type=click.IntRange(1, 100), default=8, show_default=True, help="Captions asked for at once.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True, help="Seconds for one answer.")
@click.option(
    "--attempts", type=click.IntRange(1, 20), default=6, show_default=True, help="How often one caption is asked for at most."
)
@click.option("--temperature", type=click.FloatRange(0, 2), help="How freely the model words.  [default: as the server has it]")
@json_option
@quiet_option
def paraphrase(
    dataset: Path, endpoint: str, model: str, limit: int | None, in_flight: int, as_json: bool, quiet: bool, **settings: Any
) -> None:
    """Have the captions of DATASET reworded by a language model, and keep what still says the same.

    The server is any that speaks OpenAI's chat completions; its key is taken from the variable POSEGEN_API_KEY or
    OPENAI_API_KEY. Each different caption is asked for once. A paraphrase that tells another side, count, speed, direction,
    order, person or action than its caption is refused. What is kept lies beside the dataset, in paraphrases/MODEL. The same
    command run again goes on where it was stopped.
    """
    from posegen.paraphrase.endpoint import key_of_environment, server_at
    from posegen.paraphrase.paraphrase import paraphrase as paraphrased

    server = server_at(endpoint, model, key=key_of_environment(), **settings)
    found = paraphrased(dataset, server, limit=limit, in_flight=in_flight, progress=_progress(quiet=quiet))
    if as_json:
        print_json(_document(found))
    else:
        click.echo(printable("\n".join(_lines(found))))


def _progress(*, quiet: bool) -> Callable[[int, int, int], None]:
    told = time.monotonic()

    def tell(asked: int, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_NOTES:
            told = time.monotonic()
            note(f"{asked:,} captions asked for, {done:,} of {total:,} samples done", quiet=quiet)

    return tell


def _document(found: Paraphrases) -> dict[str, Any]:
    return {
        "path": str(found.place),
        "shards": found.shards,
        "made": found.made,
        "asked": found.asked,
        "captions": found.captions,
        "kept": found.kept,
        "refused": dict(sorted(found.refused.items())),
    }


def _lines(found: Paraphrases) -> list[str]:
    done = f"{found.made:,} of {found.shards:,} shards, {found.asked:,} captions asked for"
    head = f"{found.place}: {done if found.made else f'all {found.shards:,} shards were complete, nothing to do'}"
    total = max(1, found.captions)
    rows = [("kept", found.kept), *((f"refused: {reason}", count) for reason, count in found.refused.most_common())]
    return [head, *(f"  {name:<32}{count:>12,}{100 * count / total:>8.1f} %" for name, count in rows)]
